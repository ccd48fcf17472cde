"""Whether trials that replayed recorded revisions came to the recorded verdicts, and why not."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_crab.benchmarks.recorded import Recording
from pytest_crab.report.account import why
from pytest_crab.report.text import one_line
from pytest_crab.types import OracleResult
from pytest_crab.types import Reason
from pytest_crab.types import Trial
from pytest_crab.types import Verdict
from pytest_crab.types import Word

#: Exceptions of a test that wanted what the sandbox does not have.
_NETWORK = frozenset(
    {"ConnectionError", "ConnectionRefusedError", "ConnectTimeout", "HTTPError", "NameResolutionError", "SSLError"}
    | {"URLError", "gaierror"}
)
_ENVIRONMENT = frozenset({"ImportError", "ModuleNotFoundError", "DistributionNotFound", "PackageNotFoundError"})
#: What this harness does not take for green, and a bare exit code of 0 does.
_STRICTER = frozenset({Reason.SKIPPED, Reason.NOT_COLLECTED, Reason.TAMPERED, Reason.EXITED})
_LIMITS = frozenset({Reason.TIMEOUT, Reason.MEMORY, Reason.PROCESSES, Reason.OUTPUT, Reason.CRASHED})


class Cause(Word):
    """Why a verdict is not the recorded one, as far as the record tells."""

    STRICTER = "harness stricter"
    ENVIRONMENT = "environment"
    NETWORK = "oracle needs the network"
    LIMIT = "limit of the sandbox"
    REVISION = "revision is not the recorded one"
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
    """One reviewer's oracles that have both a recorded and a known verdict.

    ``unknown`` are those that were not measured here; ``unrecorded`` counts those that the recording says nothing of.
    """

    reviewer: str
    compared: int
    agreed: int
    unknown: tuple[str, ...]
    unrecorded: int
    differences: tuple[Difference, ...]


def agreements(trials: Iterable[Trial], recording: Recording) -> tuple[Agreement, ...]:
    """Compare trials with a recording, reviewer by reviewer; of several records of one trial the last one counts."""
    last = {(trial.reviewer, trial.instance, trial.repeat): trial for trial in trials}
    reviewers = dict.fromkeys(reviewer for reviewer, _, _ in last if reviewer in recording.results)
    return tuple(
        _agreement(name, [trial for trial in last.values() if trial.reviewer == name], recording) for name in reviewers
    )


def _agreement(reviewer: str, trials: Iterable[Trial], recording: Recording) -> Agreement:
    agreed = unrecorded = 0
    unknown: list[str] = []
    differences: list[Difference] = []
    for trial in trials:
        result = recording.results[reviewer].get(trial.instance)
        for found in trial.results:
            said = None if result is None else result.verdicts.get(found.comment)
            if said is None:
                unrecorded += 1
            elif found.verdict is Verdict.UNKNOWN:
                unknown.append(f"{trial.instance}: {found.comment}: {why(found)}")
            elif said is (found.verdict is Verdict.CAUGHT):
                agreed += 1
            else:
                differences.append(_difference(trial, found, said=said))
    return Agreement(
        reviewer=reviewer,
        compared=agreed + len(differences),
        agreed=agreed,
        unknown=tuple(unknown),
        unrecorded=unrecorded,
        differences=tuple(differences),
    )


def _difference(trial: Trial, found: OracleResult, *, said: bool) -> Difference:
    return Difference(
        instance=trial.instance,
        comment=found.comment,
        recorded=Verdict.CAUGHT if said else Verdict.MISSED,
        found=found.verdict,
        cause=cause_of(found),
        why=why(found),
    )


def cause_of(found: OracleResult) -> Cause:
    """The class of a difference, from the reason and the exceptions of the run here."""
    raised = {test.exception for test in found.tests}
    rules = (
        (Cause.STRICTER, found.reason in _STRICTER),
        (Cause.LIMIT, found.reason in _LIMITS),
        (Cause.REVISION, found.reason in (Reason.DOES_NOT_APPLY, Reason.EMPTY_REVISION, Reason.INSTALL)),
        (Cause.NETWORK, bool(raised & _NETWORK)),
        (Cause.ENVIRONMENT, bool(raised & _ENVIRONMENT)),
    )
    return next((cause for cause, holds in rules if holds), Cause.OPEN)


def agreement_lines(found: Iterable[Agreement]) -> Iterator[str]:
    """Yield a line per reviewer, then one per difference and per oracle that was not measured."""
    for one in found:
        yield f"{one_line(one.reviewer)}: {one.agreed} of {one.compared} verdicts are the recorded ones" + _rest(one)
        for difference in one.differences:
            where = f"{one_line(difference.instance)}: {one_line(difference.comment)}"
            change = f"recorded {difference.recorded}, here {difference.found}"
            yield f"  {where}: {change}: {difference.cause} ({one_line(difference.why)})"
        yield from (f"  unknown: {one_line(sentence)}" for sentence in one.unknown)


def _rest(one: Agreement) -> str:
    parts = [f"{len(one.unknown)} unknown here"] if one.unknown else []
    parts += [f"{one.unrecorded} not on record"] if one.unrecorded else []
    return f"; {', '.join(parts)}" if parts else ""
