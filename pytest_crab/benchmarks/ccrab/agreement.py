"""The comparison of trials that replayed recorded revisions with the recorded verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_crab.benchmarks.ccrab.recorded import EMPTY_CATCH, Recording
from pytest_crab.instances.recorded import NOT_ON_RECORD
from pytest_crab.results.explain import why
from pytest_crab.text import one_line
from pytest_crab.types import CommentResult, Reason, StrEnum, Trial, Verdict

#: Exceptions of a test that wanted what the sandbox does not have.
_NETWORK = frozenset(
    {"ConnectionError", "ConnectionRefusedError", "ConnectTimeout", "HTTPError", "NameResolutionError", "SSLError"}
    | {"URLError", "gaierror"}
)
_ENVIRONMENT = frozenset({"ImportError", "ModuleNotFoundError", "DistributionNotFound", "PackageNotFoundError"})
#: What this harness does not take for green, and a bare exit code of 0 does.
_STRICTER = frozenset({Reason.SKIPPED, Reason.NOT_COLLECTED, Reason.TAMPERED, Reason.EXITED, Reason.INSTALL})
#: Misses for which no oracle ran.
_WITHOUT_REVISION = frozenset({Reason.NO_FINDINGS, Reason.EMPTY_REVISION})
_LIMITS = frozenset({Reason.TIMEOUT, Reason.MEMORY, Reason.PROCESSES, Reason.OUTPUT, Reason.CRASHED})
#: A sentence names the place first and the cause last, so it is cut only where no sentence of ours is so long.
_LONGEST = 2_000


class Cause(StrEnum):
    """The causes of a verdict that differs from the recorded one, as far as the record shows them."""

    STRICTER = "harness stricter"
    ENVIRONMENT = "environment"
    NETWORK = "oracle needs the network"
    LIMIT = "limit of the sandbox"
    OPEN = "not explained by the record"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One oracle whose verdict here is known and not the recorded one."""

    instance: str
    comment: str
    recorded: Verdict
    found: Verdict
    cause: Cause
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One reviewer's oracles that have both a recorded and a known verdict."""

    reviewer: str
    compared: int
    agreed: int
    #: Those that agree after a revision that was applied; the others agree without one.
    applied: int
    #: Oracles that were not measured here, each a sentence.
    unknown: tuple[str, ...]
    #: Oracles whose verdict, review or revision is not on record, each a sentence.
    unrecorded: tuple[str, ...]
    #: Recorded catches whose recorded revision is empty, which no replay can show, each a sentence.
    notes: tuple[str, ...]
    differences: tuple[Difference, ...]


def agreements(trials: Iterable[Trial], recording: Recording) -> tuple[Agreement, ...]:
    """Compare trials with a recording, reviewer by reviewer; of several records of one trial the last one counts."""
    last = {trial.id: trial for trial in trials}
    reviewers = dict.fromkeys(one.reviewer for one in last if one.reviewer in recording.results)
    return tuple(
        _agreement(name, [trial for trial in last.values() if trial.reviewer == name], recording) for name in reviewers
    )


def _agreement(reviewer: str, trials: Iterable[Trial], recording: Recording) -> Agreement:
    agreed: list[CommentResult] = []
    unknown: list[str] = []
    unrecorded: list[str] = []
    notes: list[str] = []
    differences: list[Difference] = []
    for trial in trials:
        result = recording.results[reviewer].get(trial.instance)
        for found in trial.results:
            said = None if result is None else result.verdicts.get(found.comment)
            where = f"{trial.instance}: {found.comment}"
            if said is None:
                unrecorded.append(f"{where}: no verdict")
            elif found.verdict is Verdict.UNKNOWN and trial.status == NOT_ON_RECORD:
                unrecorded.append(f"{where}: {why(found, _LONGEST)}")
            elif found.verdict is Verdict.UNKNOWN:
                unknown.append(f"{where}: {why(found, _LONGEST)}")
            elif said and found.reason is Reason.EMPTY_REVISION:
                notes.append(f"{where}: {EMPTY_CATCH}")
            elif said is (found.verdict is Verdict.CAUGHT):
                agreed.append(found)
            else:
                differences.append(_difference(trial, found, said=said))
    return Agreement(
        reviewer=reviewer,
        compared=len(agreed) + len(differences),
        agreed=len(agreed),
        applied=sum(found.reason not in _WITHOUT_REVISION for found in agreed),
        unknown=tuple(unknown),
        unrecorded=tuple(unrecorded),
        notes=tuple(notes),
        differences=tuple(differences),
    )


def _difference(trial: Trial, found: CommentResult, *, said: bool) -> Difference:
    return Difference(
        instance=trial.instance,
        comment=found.comment,
        recorded=Verdict.CAUGHT if said else Verdict.MISSED,
        found=found.verdict,
        cause=cause_of(found),
        why=why(found, _LONGEST),
    )


def cause_of(found: CommentResult) -> Cause:
    """Return the cause of a difference, by the reason and the exceptions of the run here."""
    raised = {test.exception for test in found.tests}
    rules = (
        (Cause.STRICTER, found.reason in _STRICTER),
        (Cause.LIMIT, found.reason in _LIMITS),
        (Cause.NETWORK, bool(raised & _NETWORK)),
        (Cause.ENVIRONMENT, bool(raised & _ENVIRONMENT)),
    )
    return next((cause for cause, holds in rules if holds), Cause.OPEN)


def agreement_lines(found: Iterable[Agreement]) -> Iterator[str]:
    """Yield a line per reviewer, then one per difference and per oracle that could not be compared."""
    for one in found:
        yield f"{one_line(one.reviewer)}: {one.agreed} of {one.compared} verdicts are the recorded ones{_rest(one)}"
        for difference in one.differences:
            where = f"{one_line(difference.instance)}: {one_line(difference.comment)}"
            change = f"recorded {difference.recorded}, here {difference.found}"
            yield f"  {where}: {change}: {difference.cause} ({one_line(difference.why, _LONGEST)})"
        sentences = {"unknown": one.unknown, "not on record": one.unrecorded, "note": one.notes}
        yield from (f"  {kind}: {one_line(said, _LONGEST)}" for kind, those in sentences.items() for said in those)


def _rest(one: Agreement) -> str:
    applied = f", {one.applied or 'none'} of them after a revision that was applied" if one.agreed else ""
    counts = {"unknown here": one.unknown, "not on record": one.unrecorded}
    parts = [f"{len(those)} {what}" for what, those in counts.items() if those]
    return f"{applied}; {', '.join(parts)}" if parts else applied
