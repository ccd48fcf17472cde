"""Rules from runs to proofs, audits and verdicts (arXiv 2603.23448, section 4.2)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_crab.types import Ending, Judgement, OraclePart, PartResult, Proof, Reason, Run, TestOutcome

#: How pytest ends when a test failed; with a tripwire in every session there is no other right way to end.
_FAILED = 1

_ENDINGS = {
    Ending.TIMEOUT: Reason.TIMEOUT,
    Ending.MEMORY: Reason.MEMORY,
    Ending.PROCESSES: Reason.PROCESSES,
    Ending.OUTPUT: Reason.OUTPUT,
    Ending.CRASHED: Reason.CRASHED,
    Ending.EXITED: Reason.EXITED,
    Ending.LOST: Reason.EXITED,
    Ending.TAMPERED: Reason.TAMPERED,
    Ending.UNSTARTED: Reason.BROKEN,
    Ending.UNINSTALLED: Reason.INSTALL,
}
_SKIPPED = ("skipped", "xfailed", "xpassed")
_FAULTY = ("failed", "error")
#: What a name may be made of where code under test can choose it: signs of names, places and node ids, and no prose.
_FOREIGN = re.compile(r"[^A-Za-z0-9_.,:/@<>()\[\]+=-]")
_NAME, _PLACE = 60, 200
_MOST_TESTS = 5000
_MOST_EXTRA = 20
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofEvidence:
    """Every run that is to prove one oracle, by the state of the tree that it ran on."""

    instance: str
    comment: str
    head: Sequence[Run]
    reference: Sequence[Run]
    #: Head with the comment's own reference.
    own: Sequence[Run] = ()
    #: The oracle's.
    parts: Sequence[OraclePart] = ()
    #: Runs that were made where the set was certified, and agreed.
    recorded: int = 0

    def green(self) -> Iterator[tuple[str, Sequence[Run]]]:
        """The states that must be green."""
        yield "the reference", self.reference
        if self.own:
            yield "its own reference", self.own

    def red(self) -> Iterator[tuple[str, Sequence[Run]]]:
        """The states that must be red."""
        yield "head", self.head


def flake_bound(runs: int) -> float:
    """Return the 95% upper bound on the chance that a run disagrees, given that ``runs`` agreed (the rule of three)."""
    if runs < 1:
        raise ValueError("no run bounds nothing")
    return float(1 - 0.05 ** (1 / runs))


def prove(evidence: ProofEvidence) -> Proof | tuple[str, ...]:
    """Return the proof of one oracle, or every reason why there is none, each a sentence.

    Red is a test that ran and failed: an error in a fixture or while collecting does not count, since it says as much
    about the oracle as about the code. Green is every collected test passed, at least one. Both need a session that
    came to its own end with its tripwire. The states agree if every run of one saw the same outcomes.
    Each part of the oracle is red and green by its own tests, and each test of the concern is in one part.
    """
    reasons = []
    states = [*evidence.green(), *evidence.red()]
    for state, runs in states:
        if not runs:
            reasons.append(f"never ran on {state}")
        elif any(_outcomes(run) != _outcomes(runs[0]) for run in runs):
            reasons.append(f"{len(runs)} runs on {state} do not agree, so it is flaky")
    expected = tuple(sorted(test.id for test in evidence.reference[0].tests)) if evidence.reference else ()
    altered = {name for _, runs in evidence.green() for run in runs for name in run.altered}
    count = evidence.recorded + sum(len(runs) for _, runs in states)
    guards = guards_of(expected, evidence.head)
    own = [name for name in expected if name not in guards]
    draft = Proof(
        comment=evidence.comment,
        expected=expected,
        guards=guards,
        parts=tuple(OraclePart(asks=part.asks, tests=tuple(filter(part.has, own))) for part in evidence.parts),
        altered=tuple(sorted(altered)),
        runs=count,
        flake_bound=flake_bound(max(1, count)),
    )
    reasons += _wrong_colours(draft, evidence.green(), evidence.red())
    if evidence.parts and not reasons:
        reasons += _wrong_parts(draft, evidence.head[0], evidence.parts)
    if reasons:
        return tuple(f"{evidence.instance}: the oracle of {evidence.comment} {reason}" for reason in reasons)
    return draft


def _wrong_parts(proof: Proof, head: Run, written: Sequence[OraclePart]) -> Iterator[str]:
    """Yield a reason for each part that is not red at head, and for each test of the concern that is not in one."""
    failed = {test.id for test in head.tests if test.outcome == "failed"}
    for number, (part, asked) in enumerate(zip(proof.parts, written, strict=True), 1):
        if not failed.isdisjoint(part.tests):
            continue
        alone = {name: OraclePart(asks=part.asks, tests=(name,)) for name in asked.tests}
        unknown = [name for name, one in alone.items() if not any(map(one.has, proof.expected))]
        if unknown:
            known = ", ".join(proof.expected[:_MOST_NAMED])
            yield f"has no test {unknown[0]!r}, which {_part_name(proof, number)} ({part.asks}) names; it has {known}"
        else:
            yield f"is not red on head for {_part_name(proof, number)} ({part.asks}): none of its tests failed"
    for name in proof.expected:
        count = sum(name in part.tests for part in proof.parts)
        if name not in proof.guards and count != 1:
            yield f"has {name}, which is red at head, in {count or 'none'} of its parts; it should be in one"


def _part_name(proof: Proof, number: int) -> str:
    return f"part {number} of {len(proof.parts)}"


def part_results(proof: Proof, run: Run) -> tuple[PartResult, ...]:
    """Return what a run tells of each part of the oracle; nothing where it has none, or its tests did not decide."""
    if judge(proof, run).reason not in (Reason.GREEN, Reason.FAILED, Reason.GUARD):
        return ()
    return _results(proof, run)


def _results(proof: Proof, run: Run) -> tuple[PartResult, ...]:
    passed = {test.id for test in run.tests if test.outcome == "passed"}
    return tuple(PartResult(asks=part.asks, resolved=passed.issuperset(part.tests)) for part in proof.parts)


def guards_of(expected: Sequence[str], head: Sequence[Run]) -> tuple[str, ...]:
    """Return those of the expected tests that every run at head passed."""
    passed = [{test.id for test in run.tests if test.outcome == "passed"} for run in head]
    return tuple(name for name in expected if passed and all(name in names for names in passed))


def audit(
    instance: str, proof: Proof, *, green: Mapping[str, Sequence[Run]], red: Mapping[str, Sequence[Run]]
) -> tuple[str, ...]:
    """Return why a proved oracle should not ship, each reason a sentence: it refuses a right fix or passes a near miss.

    ``green`` are the runs on right fixes, alone and in company, and ``red`` those on near misses and on changes that
    resolve nothing, by the state's name.
    """
    reasons = [f"never ran on {name}" for name, runs in sorted({**green, **red}.items()) if not runs]
    reasons += _wrong_colours(proof, sorted(green.items()), sorted(red.items()))
    return tuple(f"{instance}: the oracle of {proof.comment} {reason}" for reason in reasons)


def _wrong_colours(
    proof: Proof, green: Iterable[tuple[str, Sequence[Run]]], red: Iterable[tuple[str, Sequence[Run]]]
) -> list[str]:
    """Return a reason for each state whose runs are not as they must be."""
    reasons: list[str] = []
    for state, runs in green:
        faults = _distinct(not_green(proof, run) for run in runs)
        reasons.extend(f"is not green on {state}: {fault}{_advice(runs)}" for fault in faults)
    for state, runs in red:
        faults = _distinct(not_red(proof, run) for run in runs)
        reasons.extend(f"is not red on {state}: {fault}{_advice(runs)}" for fault in faults)
    return reasons


def _advice(runs: Sequence[Run]) -> str:
    """Return what to do where a run was cut off."""
    late = any(run.ending is Ending.TIMEOUT for run in runs)
    return "; run again on a machine that does less, or raise timeout in instance.yaml" if late else ""


def _distinct(faults: Iterator[str | None]) -> list[str]:
    return list(dict.fromkeys(fault for fault in faults if fault))


def _outcomes(run: Run) -> tuple[Any, ...]:
    return run.ending, frozenset((test.id, test.outcome) for test in run.tests)


def not_green(proof: Proof, run: Run) -> str | None:
    """Return why a run is not green, None if it is."""
    judgement = judge(proof, run)
    if judgement.reason is Reason.GREEN:
        return None
    return f"{judgement.reason}{': ' + judgement.detail if judgement.detail else ''}"


def not_red(proof: Proof, run: Run) -> str | None:
    """Return why a run is not properly red, None if it is: an expected test must have run and failed."""
    if run.ending is not Ending.COMPLETED:
        return f"the run ended as {run.ending}{': ' + run.detail if run.detail else ''}"
    if run.exit_code != _FAILED or run.tripwire is not True:
        return "the session did not come to its own end"
    if any(test.outcome == "failed" and test.id in proof.expected for test in run.tests):
        return None
    if not run.tests:
        return "no test was collected"
    if others := [test.id for test in run.tests if test.outcome == "failed"]:
        return f"{others[0]} failed, and no test of this name ran on the reference"
    told = ", ".join(sorted({f"{test.id} {_outcome(test)}" for test in run.tests if test.outcome != "passed"})[:3])
    return f"no expected test failed ({told or 'all passed'})"


def pass_to_pass_fault(run: Run) -> str | None:
    """Return why a run of pass_to_pass does not pass, in a few words; None if it does.

    A command passes where it ends with 0, files of tests do where one of their tests passed and none failed.
    """
    faulty = [f"{safe_name(test.id)} {test.outcome}" for test in run.tests if test.outcome in _FAULTY]
    passed = any(test.outcome == "passed" for test in run.tests) if run.tests else run.exit_code == 0
    if run.ending is Ending.COMPLETED and passed and not faulty:
        return None
    return ", ".join(faulty[:_MOST_NAMED]) or run.detail or f"exit code {run.exit_code}, {run.ending}"


def safe_name(text: str, limit: int = _PLACE) -> str:
    """Return a name that code under test may have chosen, so that it holds no sentence and not more than a name."""
    return _FOREIGN.sub("_", text)[:limit]


def outcomes_for_record(proof: Proof, run: Run) -> tuple[TestOutcome, ...]:
    """Return the outcomes for the record: the expected tests', and a few others', in names that hold no sentence."""
    extra = [test for test in run.tests if test.id not in proof.expected][:_MOST_EXTRA]
    known = [test for test in run.tests if test.id in proof.expected][:_MOST_TESTS]
    return tuple(
        dataclasses.replace(
            test,
            id=_label(proof, test.id),
            exception=None if test.exception is None else safe_name(test.exception, _NAME),
            where=None if test.where is None else safe_name(test.where),
        )
        for test in (*known, *extra)
    )


def judge(proof: Proof, run: Run) -> Judgement:
    """Return the verdict of a run on a revised tree.

    Caught is: exactly the expected tests ran, each passed, report and exit code agree, the tripwire failed last and
    nothing was replaced that the proof did not see replaced. A run that was never started is broken, not missed.
    """
    if run.ending is not Ending.COMPLETED:
        return Judgement(reason=_ENDINGS[run.ending], detail=run.detail)
    if not proof.expected:
        return Judgement(reason=Reason.NOT_COLLECTED, detail="no test was collected")
    return _faults(proof, run) or _absences(proof, run) or _integrity(proof, run) or Judgement(reason=Reason.GREEN)


def _faults(proof: Proof, run: Run) -> Judgement | None:
    """Judge by failed tests: by the concern's own where one failed, else by guards. None: none failed."""
    faulty = [test for test in run.tests if test.outcome in _FAULTY and test.id in proof.expected]
    if not faulty:
        return None
    own = [test for test in faulty if test.id not in proof.guards]
    first, *others = own or faulty
    more = f" and {len(others)} more" if others else ""
    where = f" in {safe_name(first.where)}" if first.where else ""
    told = f"{first.id} {_outcome(first)}{where}{more}"
    parts = [
        f"{_part_name(proof, number)} is not resolved: {part.asks}"
        for number, part in enumerate(_results(proof, run), 1)
        if not part.resolved
    ]
    detail = f"{'; '.join(parts)} ({told})" if parts else told
    return Judgement(reason=Reason.FAILED if own else Reason.GUARD, detail=detail)


def _absences(proof: Proof, run: Run) -> Judgement | None:
    skipped = [test for test in run.tests if test.outcome in _SKIPPED]
    if skipped:
        return Judgement(reason=Reason.SKIPPED, detail=f"{_label(proof, skipped[0].id)} {_outcome(skipped[0])}")
    faulty = [test for test in run.tests if test.outcome in _FAULTY]
    if faulty:
        return Judgement(reason=Reason.NOT_COLLECTED, detail=f"{_label(proof, faulty[0].id)} {_outcome(faulty[0])}")
    ids = [test.id for test in run.tests]
    missing = sorted(set(proof.expected) - set(ids))
    if run.tripwire is None:
        return Judgement(reason=Reason.EXITED, detail=f"the session ended early with exit code {run.exit_code}")
    if sorted(ids) == sorted(proof.expected):
        return None
    extra = sorted(set(ids) - set(proof.expected))
    wrong = f"{missing[0]} did not run" if missing else f"{safe_name((extra or ids)[0])} was not in the proof"
    # A runner may believe no outcome, or tell others, once a method that it goes by was replaced.
    return _replaced(proof, run) or Judgement(reason=Reason.NOT_COLLECTED, detail=wrong)


def _integrity(proof: Proof, run: Run) -> Judgement | None:
    if replaced := _replaced(proof, run):
        return replaced
    if run.tripwire is not True:
        return Judgement(reason=Reason.TAMPERED, detail="tests that must fail did not")
    if run.exit_code != _FAILED:
        return Judgement(reason=Reason.TAMPERED, detail=f"the report and exit code {run.exit_code} do not agree")
    if any(test.outcome != "passed" for test in run.tests):
        return Judgement(reason=Reason.FAILED, detail="an outcome is not known here")
    return None


def _replaced(proof: Proof, run: Run) -> Judgement | None:
    """Judge by what the run saw replaced and the proof did not; the first by name is told. None: there is nothing."""
    new = sorted(set(run.altered) - set(proof.altered))
    return Judgement(reason=Reason.TAMPERED, detail=f"{safe_name(new[0])} was replaced") if new else None


def _label(proof: Proof, name: str) -> str:
    return name if name in proof.expected else safe_name(name)


def _outcome(test: TestOutcome) -> str:
    return f"{test.outcome}{f' with {safe_name(test.exception, _NAME)}' if test.exception else ''}"


def leaks(facts: Mapping[str, Any], *, refs: Collection[str], version: str | None = None) -> tuple[str, ...]:
    """Return what a workspace tells that it must not, one sentence each, from the facts that the harness found inside.

    ``refs`` are those that a checkout has. ``version`` is the one that the project's own tree installs as; an installed
    copy of another is a leak.
    """
    found: list[str] = []
    git = facts.get("git")
    if isinstance(git, Mapping):
        found.extend(f"the repository has the remote setting {remote!r}" for remote in git.get("remotes", ()))
        found.extend(f"the repository has {extra}" for extra in git.get("extra", ()))
        found.extend(f"the repository has the ref {name}" for name in git.get("refs", ()) if name not in refs)
        if git.get("logged", 0) > _COMMITS:
            found.append(f"the repository's reflogs have {git['logged']} entries; they should have {_COMMITS} at most")
        commits = git.get("commits")
        if isinstance(commits, int) and commits > _COMMITS:
            found.append(f"the repository has {commits} commits; it should have {_COMMITS}")
    found.extend(f"there is a package cache in {folder}" for folder in facts.get("caches", ()))
    copies = list(facts.get("installed", ()))
    found.extend(
        f"the project is installed as {name} {told} in {where}"
        for name, told, where in copies
        if version is not None and told != version
    )
    if len(copies) > 1:
        found.append(f"the project is installed {len(copies)} times")
    found.extend(f"an oracle's file lies in the workspace: {path}" for path in facts.get("files", ()))
    return tuple(found)


#: The commits of a workspace's history: base and head, made by the source.
_COMMITS = 2
