"""The evaluation of a revision: a fresh tree at head, the revision applied, each oracle alone, then pass_to_pass."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from pytest_crab import serialization, verdict
from pytest_crab.scoring.oracles import keys
from pytest_crab.scoring.oracles.oracle_runs import OracleRequest, run_oracles, tests_pass
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.scoring.protocols import ScoringContext
from pytest_crab.scoring.steps import Step
from pytest_crab.types import (
    PASS_TO_PASS,
    Comment,
    Ending,
    Judgement,
    Proof,
    Reason,
    Run,
    Score,
    Unit,
    verdict_score,
)

#: The scorer's name on its scores.
ORACLES = "oracles"

#: How many runs of a tree may lose their sandbox and be made again: what kills one from outside may do so twice.
_LOSSES = 2
#: How runs end that need no look at the machine.
_DECIDED = (Ending.COMPLETED, Ending.UNINSTALLED)
#: How runs end that were seen to end themselves.
_SEEN = (Ending.EXITED, Ending.TAMPERED)
#: How runs end whose sandbox did: under way, or before their turn.
_GONE = (Ending.LOST, Ending.UNSTARTED)

#: The subject of the pass_to_pass run among a step's results; no comment's id has a slash.
REGRESSIONS = f"/{PASS_TO_PASS}"


class EvaluationStep(Step[Score]):
    """The step that evaluates one revised tree: a Score for each proved oracle, and one for pass_to_pass if it is set.

    A revision's effect on the tree is its own: a broken install, a hang and a crash are missed. ``run`` raises what the
    machine did: EngineError, StoreError, Cancelled. ``proof_keys`` are those of all the instance's oracles; None:
    pass_to_pass is not asked for.
    """

    name = "verdict"
    record = Score
    reruns: Sequence[str] = ()

    def __init__(
        self, context: ScoringContext, comments: Sequence[ProvedComment], tree: str, *, proof_keys: Sequence[str] | None
    ) -> None:
        self._context = context
        self.comments = comments
        self._tree = tree
        self._proof_keys = proof_keys
        self.reruns = self._reruns = list[str]()

    @override
    def keys(self) -> Mapping[str, str]:
        named = {one.comment.id: keys.verdict(self._tree, one.key) for one in self.comments}
        if self._context.instance.pass_to_pass and self._proof_keys is not None:
            named[REGRESSIONS] = keys.regressions(self._tree, self._proof_keys)
        return named

    @override
    def run(self, subjects: Sequence[str]) -> Mapping[str, Score]:
        todo = [one for one in self.comments if one.comment.id in subjects]
        wanted = REGRESSIONS in subjects
        scores, regressions = _judge(self._context, todo, self._tree, self._reruns, regressions=wanted)
        return {**scores, REGRESSIONS: _regressions_score(regressions)} if wanted else scores

    @override
    def lasts(self, result: Score) -> bool:
        return result.unit is Unit.TRIAL or (result.label is not None and result.label == result.reason.verdict)


def score_of(comment: Comment, judgement: Judgement, *, run: Run | None = None, proof: Proof | None = None) -> Score:
    """Return the score of one comment; without a proof it is one whose oracle cannot be proved."""
    evidence: dict[str, Any] = {} if proof is not None else {"proved": False}
    if run is not None and proof is not None:
        found = {"tests": verdict.outcomes_for_record(proof, run), "parts": verdict.part_results(proof, run)}
        evidence |= {name: serialization.dump(own) for name, own in found.items() if own}
    if proof is not None:
        evidence["flake_bound"] = proof.flake_bound
        evidence["guards"] = list(proof.guards)
    return verdict_score(ORACLES, comment.id, judgement, evidence)


def _regressions_score(regressions: bool | None) -> Score:  # noqa: FBT001 - the one thing that it is made of
    """Return the score of pass_to_pass: 1 where the revision broke it."""
    return Score(
        scorer=ORACLES,
        unit=Unit.TRIAL,
        subject=PASS_TO_PASS,
        label=None if regressions is None else "broken" if regressions else "intact",
        value=None if regressions is None else float(regressions),
        reason=Reason.NOT_RUN if regressions is None else Reason.FAILED if regressions else Reason.GREEN,
    )


def all_scores(proved: Sequence[ProvedComment], reason: Reason, detail: str) -> dict[str, Score]:
    """Return the same score for every proved comment, by comment."""
    judgement = Judgement(reason=reason, detail=detail)
    return {one.comment.id: score_of(one.comment, judgement, proof=one.proof) for one in proved}


def _judge(
    context: ScoringContext, todo: Sequence[ProvedComment], tree: str, reruns: list[str], *, regressions: bool
) -> tuple[dict[str, Score], bool | None]:
    """Run these oracles and, for ``regressions``, pass_to_pass on the tree; the scores, and what pass_to_pass gave."""
    requests = {one.comment.id: OracleRequest(comment=one.comment, tree=tree) for one in todo}
    answers = run_oracles(context, list(requests.values()), pass_to_pass=tree if regressions else None)
    runs = {name: answers.runs[request.id] for name, request in requests.items()}
    suspects = [one for one in todo if runs[one.comment.id].ending not in _DECIDED]
    broken, unsure = _blame(context, suspects, runs)
    endings = (runs[one.comment.id].ending for one in unsure)
    reruns.extend(dict.fromkeys(str(Ending.LOST if ending in _GONE else ending) for ending in endings))
    runs |= _run_again(context, unsure, tree)
    scores = {}
    for one in todo:
        assert one.proof is not None
        run = runs[one.comment.id]
        judgement = broken.get(one.comment.id) or verdict.judge(one.proof, run)
        scores[one.comment.id] = score_of(one.comment, judgement, run=run, proof=one.proof)
    return scores, _breaks_tests(context, answers.runs.get(PASS_TO_PASS))


def _breaks_tests(context: ScoringContext, run: Run | None) -> bool | None:
    """Return whether pass_to_pass fails; None if it was not started, or if it does not pass at head either."""
    if run is None or run.ending is Ending.UNINSTALLED:
        return None
    broken = verdict.pass_to_pass_fault(run) is not None
    unsure = run.ending is not Ending.COMPLETED or (broken and context.certified_runs)  # no proof has run it at head
    return None if unsure and not tests_pass(context, context.snapshot.head_tree) else broken


def _blame(
    context: ScoringContext, suspects: Sequence[ProvedComment], runs: Mapping[str, Run]
) -> tuple[dict[str, Judgement], list[ProvedComment]]:
    """Decide whether the revision or the infrastructure kept runs from finishing: run the proved reference once more.

    If that does not finish either, the infrastructure failed, and the judgement says so for each comment. If it
    is green, an early exit or a write into the report was observed, and that judgement stands. Anything else that ended
    a run may have come from outside; these comments are returned, to be run again.
    """
    if not suspects:
        return {}, []
    reference = {
        one.comment.id: OracleRequest(comment=one.comment, tree=context.snapshot.reference_tree) for one in suspects
    }
    controls = run_oracles(context, list(reference.values())).runs
    broken: dict[str, Judgement] = {}
    for one in suspects:
        assert one.proof is not None
        name = one.comment.id
        control = controls[reference[name].id]
        if verdict.judge(one.proof, control).reason is Reason.GREEN:
            continue
        detail = (
            f"oracle {name} of {context.instance.id} ended with {runs[name].ending}, and so did the proved reference "
            f"({control.detail or control.ending}): the machine or the engine is at fault, run again"
        )
        broken[name] = Judgement(reason=Reason.BROKEN, detail=detail)
    unsure = [one for one in suspects if one.comment.id not in broken and runs[one.comment.id].ending not in _SEEN]
    return broken, unsure


def _run_again(context: ScoringContext, unsure: Sequence[ProvedComment], tree: str) -> dict[str, Run]:
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
        requests = {name: OracleRequest(comment=one.comment, tree=tree, number=number) for name, one in todo.items()}
        answers = run_oracles(context, list(requests.values())).runs
        for name, request in requests.items():
            proof, run = todo[name].proof, answers[request.id]
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
