"""The examination: a fresh tree at head, the revision applied, each oracle alone, then what the revision damaged."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import PurePosixPath

from pytest_crab import diffs
from pytest_crab import plain
from pytest_crab import verdict
from pytest_crab.errors import AgentError
from pytest_crab.errors import DiffRejected
from pytest_crab.errors import InstallFailed
from pytest_crab.instances.recorded import NOT_ON_RECORD
from pytest_crab.trial import keys
from pytest_crab.trial.prove import Proven
from pytest_crab.trial.running import PASS_TO_PASS
from pytest_crab.trial.running import Question
from pytest_crab.trial.running import ask
from pytest_crab.trial.stage import Stage
from pytest_crab.types import Comment
from pytest_crab.types import Ending
from pytest_crab.types import Judgement
from pytest_crab.types import OracleResult
from pytest_crab.types import Proof
from pytest_crab.types import Reason
from pytest_crab.types import Revision
from pytest_crab.types import Run
from pytest_crab.types import TestOutcome
from pytest_crab.types import Verdict

#: A revision that touches one of these is installed again, in a sandbox of its own.
PACKAGING = frozenset({"setup.py", "setup.cfg", "pyproject.toml", "MANIFEST.in"})


#: How many runs of a tree may lose their sandbox and be made again: what kills one from outside may do so twice.
_LOSSES = 2
#: How runs end that were seen to end themselves.
_SEEN = (Ending.EXITED, Ending.TAMPERED)
#: How runs end whose sandbox did: under way, or before their turn.
_GONE = (Ending.LOST, Ending.UNSTARTED)


def examine(stage: Stage, proven: Sequence[Proven], revision: Revision) -> tuple[dict[str, OracleResult], bool | None]:
    """Judge a revision: the results by comment, and whether it damaged pass_to_pass (None: not measured).

    What the revision did to the tree is its own, so a bad diff, a broken install, a hang and a crash are missed. Raises
    what the world did: EngineError, StoreError, Cancelled; and AgentError where a revision that was recorded elsewhere
    does not apply, since then the recording is not what was made.
    """
    proved = [one for one in proven if one.proof is not None]
    try:
        tree = stage.snapshot.apply(diffs.normalise(revision.diff))
    except DiffRejected as error:
        if revision.recorded:
            raise _not_on_record(stage, revision.diff, error) from error
        return _all(proved, Reason.DOES_NOT_APPLY, str(error)), None
    if tree == stage.snapshot.head_tree:
        notes = f" ({revision.notes})" if revision.notes else ""
        return _all(proved, Reason.EMPTY_REVISION, f"the agent changed nothing{notes}"), None
    with stage.doing("verdict") as step, contextlib.ExitStack() as locks:
        named = {one.comment.id: keys.verdict(tree, one.key) for one in proved}
        damage_key = keys.damage(tree, [one.key for one in proven])
        for key in sorted({*named.values(), damage_key}):
            locks.enter_context(stage.world.store.lock("verdict", key, stage.world.cancelled))
        results = _stored(stage, proved, named)
        damage = _stored_damage(stage, damage_key) if stage.instance.pass_to_pass else None
        todo = [one for one in proved if one.comment.id not in results]
        installed = all(result.reason is not Reason.INSTALL for result in results.values())
        measured = damage is not None or not stage.instance.pass_to_pass or not installed
        step.reused = measured and not todo
        if not step.reused:
            found, broke = _judge(stage, todo, tree, step.again)
            if stage.instance.pass_to_pass:
                damage = {"damage": broke}
                stage.world.store.put("verdict", damage_key, damage)
            for name, result in found.items():
                if result.reason is not Reason.BROKEN:
                    stage.world.store.put("verdict", named[name], plain.dump(result))
            results.update(found)
    return results, None if damage is None else damage["damage"]


def _not_on_record(stage: Stage, diff: str, error: DiffRejected) -> AgentError:
    """The error of a recording that is not the revision that was made; lost line ends are looked for."""
    try:
        paths = diffs.touched_paths(diff) if "\r" not in diff else set()
    except ValueError:
        paths = set()
    snapshot = stage.snapshot
    lost = any(b"\r\n" in (snapshot.read(snapshot.head_tree, path) or b"") for path in paths)
    ends = "; its files have CRLF line ends and the recording has none" if lost else ""
    told = f"the recorded revision of {stage.instance.id} does not apply, so what was made is not on record"
    return AgentError(f"{told} ({error}{ends}); record it again", NOT_ON_RECORD)


def result_of(
    comment: Comment, judgement: Judgement, *, tests: tuple[TestOutcome, ...] = (), proof: Proof | None = None
) -> OracleResult:
    """The record of one oracle; ``comment`` has one."""
    assert comment.kind is not None
    return OracleResult(
        comment=comment.id,
        path=comment.path,
        lines=comment.lines,
        side=comment.side,
        category=comment.category,
        kind=comment.kind,
        verdict=judgement.verdict,
        reason=judgement.reason,
        detail=judgement.detail,
        tests=tests,
        flake_bound=proof.flake_bound if proof is not None else None,
    )


def _all(proved: Sequence[Proven], reason: Reason, detail: str) -> dict[str, OracleResult]:
    judgement = Judgement(reason=reason, detail=detail)
    return {one.comment.id: result_of(one.comment, judgement, proof=one.proof) for one in proved}


def _stored(stage: Stage, proved: Sequence[Proven], named: Mapping[str, str]) -> dict[str, OracleResult]:
    results = {}
    for one in proved:
        value = stage.world.store.get("verdict", named[one.comment.id])
        result = None if value is None else plain.read(OracleResult, value, [])
        if result is None or result.verdict is Verdict.UNKNOWN or result.verdict is not result.reason.verdict:
            continue  # there is none, or what is there is nothing that is kept: it is judged again
        # Verdicts are kept under what was run; what the comment is called and where it stands is the instance's to say.
        judgement = Judgement(reason=result.reason, detail=result.detail)
        results[one.comment.id] = result_of(one.comment, judgement, tests=result.tests, proof=one.proof)
    return results


def _stored_damage(stage: Stage, key: str) -> Mapping[str, bool | None] | None:
    value = stage.world.store.get("verdict", key)
    known = isinstance(value, dict) and "damage" in value and isinstance(value["damage"], bool | None)
    return value if known else None


def _judge(
    stage: Stage, todo: Sequence[Proven], tree: str, again: list[str]
) -> tuple[dict[str, OracleResult], bool | None]:
    overlay: Mapping[str, str] = {}
    environment = stage.instance.environment
    if environment.install and environment.node is None and _touches_packaging(stage, tree):
        try:
            overlay = stage.world.runtime.reinstall(stage.image, stage.instance, stage.snapshot, tree)
        except InstallFailed as error:
            return _all(todo, Reason.INSTALL, str(error)), None
    questions = {one.comment.id: Question(comment=one.comment, tree=tree) for one in todo}
    answers = ask(stage, list(questions.values()), pass_to_pass=tree, overlay=overlay)
    runs = {name: answers.runs[question.id] for name, question in questions.items()}
    suspects = [one for one in todo if runs[one.comment.id].ending is not Ending.COMPLETED]
    broken, unsure = _blame(stage, suspects, runs)
    endings = (runs[one.comment.id].ending for one in unsure)
    again.extend(dict.fromkeys(str(Ending.LOST if ending in _GONE else ending) for ending in endings))
    runs |= _run_again(stage, unsure, tree, overlay)
    results = {}
    for one in todo:
        assert one.proof is not None
        run = runs[one.comment.id]
        judgement = broken.get(one.comment.id) or verdict.judge(one.proof, run)
        tests = verdict.recorded(one.proof, run)
        results[one.comment.id] = result_of(one.comment, judgement, tests=tests, proof=one.proof)
    return results, _damaged(stage, answers.runs.get(PASS_TO_PASS))


def _damaged(stage: Stage, run: Run | None) -> bool | None:
    """Whether pass_to_pass fails now; None if it was not run, or came to no end and comes to none at head either."""
    if run is None:
        return None
    if run.ending is not Ending.COMPLETED:
        control = ask(stage, [], pass_to_pass=stage.snapshot.head_tree).runs[PASS_TO_PASS]
        if control.ending is not Ending.COMPLETED:
            return None
    return run.exit_code != 0


def _blame(
    stage: Stage, suspects: Sequence[Proven], runs: Mapping[str, Run]
) -> tuple[dict[str, Judgement], list[Proven]]:
    """Find out whose doing it was that runs came to no end: the proved reference is run once more.

    Where that comes to no end either, it was the world: the judgement says so, by comment. Where it is green, a process
    that left early or wrote into the report was seen doing so, and that stands. Whatever else ended a run may have come
    from outside too; these are returned, to be run again.
    """
    if not suspects:
        return {}, []
    reference = {one.comment.id: Question(comment=one.comment, tree=stage.snapshot.reference_tree) for one in suspects}
    controls = ask(stage, list(reference.values())).runs
    broken: dict[str, Judgement] = {}
    for one in suspects:
        assert one.proof is not None
        name = one.comment.id
        control = controls[reference[name].id]
        if verdict.judge(one.proof, control).reason is Reason.GREEN:
            continue
        detail = (
            f"oracle {name} of {stage.instance.id} ended with {runs[name].ending}, and so did the proved reference "
            f"({control.detail or control.ending}): the machine or the engine is at fault, run again"
        )
        broken[name] = Judgement(reason=Reason.BROKEN, detail=detail)
    unsure = [one for one in suspects if one.comment.id not in broken and runs[one.comment.id].ending not in _SEEN]
    return broken, unsure


def _run_again(stage: Stage, unsure: Sequence[Proven], tree: str, overlay: Mapping[str, str]) -> dict[str, Run]:
    """Return for each oracle the run that counts, after a first one that may have been ended from outside.

    One green run more is wanted than runs were ended, so that a tree which ends those that would be red gains little by
    it; the first that is neither green nor lost counts.
    """
    runs: dict[str, Run] = {}
    todo = {one.comment.id: one for one in unsure}
    ended, green = Counter(todo.keys()), Counter[str]()
    for number in itertools.count(1):
        if not todo:
            break
        questions = {name: Question(comment=one.comment, tree=tree, number=number) for name, one in todo.items()}
        answers = ask(stage, list(questions.values()), overlay=overlay).runs
        for name, question in questions.items():
            proof, run = todo[name].proof, answers[question.id]
            assert proof is not None
            lost = run.ending in _GONE
            # The reference did start, so it is this tree's doing if it does not.
            runs[name] = dataclasses.replace(run, ending=Ending.LOST) if lost else run
            fine = verdict.judge(proof, run).reason is Reason.GREEN
            ended[name] += lost
            green[name] += fine
            undecided = ended[name] <= _LOSSES if lost else fine and green[name] <= ended[name]
            if not undecided:
                del todo[name]
    return runs


def _touches_packaging(stage: Stage, tree: str) -> bool:
    return any(PurePosixPath(change.path).name in PACKAGING for change in stage.snapshot.changes(tree))
