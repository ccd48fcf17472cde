"""The proof: each oracle is red at head, green at the reference and right about its checks, and nothing leaks."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_crab import harness
from pytest_crab import plain
from pytest_crab import verdict
from pytest_crab.errors import DiffRejected
from pytest_crab.sources import diff_text
from pytest_crab.trial import keys
from pytest_crab.trial.running import PASS_TO_PASS
from pytest_crab.trial.running import Answers
from pytest_crab.trial.running import Question
from pytest_crab.trial.running import ask
from pytest_crab.trial.stage import Stage
from pytest_crab.types import Comment
from pytest_crab.types import Ending
from pytest_crab.types import Proof
from pytest_crab.types import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """One oracle after the proof: the proof and its key, or the sentence that says why there is none."""

    comment: Comment
    key: str
    proof: Proof | None
    problem: str | None = None


def prove(stage: Stage) -> tuple[Proven, ...]:
    """Prove every oracle of the instance, or take the proofs from the store; one sandbox for all that are new.

    Raises what keeps the world from answering: SourceError, ImageError, EngineError, StoreError, Cancelled.
    """
    instance, store = stage.instance, stage.world.store
    with stage.doing("proof") as step:
        named = keys.proofs(stage, harness.VERSION)
        known = {comment.id: _stored(stage, named[comment.id]) for comment in instance.measured}
        unknown = sorted({named[name] for name, proof in known.items() if proof is None})
        step.reused = not unknown
        problems: dict[str, str] = {}
        with contextlib.ExitStack() as locks:
            for key in unknown:
                locks.enter_context(store.lock("proof", key, stage.world.cancelled))
            known = {name: proof or _stored(stage, named[name]) for name, proof in known.items()}
            todo = [comment for comment in instance.measured if known[comment.id] is None]
            if todo:
                found, problems = _prove(stage, todo)
                for name, proof in found.items():
                    store.put("proof", named[name], plain.dump(proof))
                known.update(found)
    return tuple(
        Proven(comment=c, key=named[c.id], proof=known[c.id], problem=problems.get(c.id)) for c in instance.measured
    )


def _stored(stage: Stage, key: str) -> Proof | None:
    """A proof from the store; None if there is none, or something else in its place, so that it is made again."""
    value = stage.world.store.get("proof", key)
    return None if value is None else plain.read(Proof, value, [])


def _prove(stage: Stage, comments: Sequence[Comment]) -> tuple[dict[str, Proof], dict[str, str]]:
    """Prove these oracles now; the proofs by comment, and a sentence for each that has none."""
    name = stage.instance.id
    problems: dict[str, str] = {}
    wanted: dict[str, _Trees] = {}
    for comment in comments:
        why = harness.unable(stage.image, comment.examined)
        if why is not None:
            problems[comment.id] = f"{name}: the oracle of {comment.id} is not proved: {why}"
            continue
        try:
            wanted[comment.id] = _trees(stage, comment)
        except DiffRejected as error:
            problems[comment.id] = f"{name}: the oracle of {comment.id} cannot be proved: {error}"
    asked = [comment for comment in comments if comment.id in wanted]
    answers = _ask(stage, asked, wanted)
    around = _around(stage, answers)
    proofs: dict[str, Proof] = {}
    for comment in asked:
        evidence = _evidence(stage, comment, wanted[comment.id], answers)
        outcome = verdict.prove(evidence)
        unstarted = _unstarted(evidence)
        if around is not None:
            problems[comment.id] = f"{name} is not proved: {around}"
        elif unstarted is not None:
            problems[comment.id] = f"{name}: the oracle of {comment.id} is not proved: {unstarted}"
        elif isinstance(outcome, Proof):
            proofs[comment.id] = outcome
        else:
            problems[comment.id] = "; ".join(outcome)
    return proofs, problems


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trees:
    """The trees that one oracle is proved on, each by its git id; checks by the diff's file name."""

    head: str
    reference: str
    own: str | None
    accepts: Mapping[str, str]
    rejects: Mapping[str, str]


def _trees(stage: Stage, comment: Comment) -> _Trees:
    def tree(file: str) -> str:
        try:
            return stage.snapshot.apply(diff_text(stage.instance, file))
        except DiffRejected as error:
            raise DiffRejected(f"{file} does not apply to head: {error}") from error

    return _Trees(
        head=stage.snapshot.head_tree,
        reference=stage.snapshot.reference_tree,
        own=tree(comment.reference) if comment.reference else None,
        accepts={file: tree(file) for file in comment.accepts},
        rejects={file: tree(file) for file in comment.rejects},
    )


def _ask(stage: Stage, comments: Sequence[Comment], wanted: Mapping[str, _Trees]) -> Answers:
    """Every state once, head and references as often as the proof says, all in one sandbox."""
    questions: dict[str, Question] = {}
    for comment in comments:
        trees = wanted[comment.id]
        often = [trees.head, trees.reference, *([trees.own] if trees.own else [])]
        for tree in (*often, *trees.accepts.values(), *trees.rejects.values()):
            for number in range(stage.world.proof_runs if tree in often else 1):
                question = Question(comment=comment, tree=tree, number=number)
                questions[question.id] = question
    head = stage.snapshot.head_tree
    leaks = harness.LeakQuestion(
        state=head,
        project=_project(stage),
        files=tuple(Path(comment.examined.file).name for comment in stage.instance.measured),
    )
    return ask(stage, list(questions.values()), pass_to_pass=head, leaks=leaks)


def _evidence(stage: Stage, comment: Comment, trees: _Trees, answers: Answers) -> verdict.Evidence:
    def runs(tree: str) -> tuple[Run, ...]:
        names = (Question(comment=comment, tree=tree, number=n).id for n in range(stage.world.proof_runs))
        return tuple(answers.runs[name] for name in names if name in answers.runs)

    return verdict.Evidence(
        instance=stage.instance.id,
        comment=comment.id,
        head=runs(trees.head),
        reference=runs(trees.reference),
        own=runs(trees.own) if trees.own else (),
        accepts={file: runs(tree) for file, tree in trees.accepts.items()},
        rejects={file: runs(tree) for file, tree in trees.rejects.items()},
    )


def _unstarted(evidence: verdict.Evidence) -> str | None:
    """Why no run of an oracle was even started, if that was the same for all."""
    runs = [run for _, of in (*evidence.green(), *evidence.red()) for run in of]
    details = {run.detail for run in runs}
    return details.pop() if len(details) == 1 and all(run.ending is Ending.UNSTARTED for run in runs) else None


def _around(stage: Stage, answers: Answers) -> str | None:
    """What is wrong with the workspace itself, whatever the oracles say."""
    if answers.leaks is None:
        problem = answers.problems[0] if answers.problems else "the harness did not answer"
        return f"the leak proof could not be made ({problem})"
    sdist = stage.instance.source.sdist
    facts = dict(answers.leaks)
    if not stage.image.contained:
        facts["caches"] = ()  # without a sandbox the home is the user's own, and only authored instances get that far
    found = verdict.leaks(facts, version=sdist.version if sdist else None)
    if found:
        return f"the workspace leaks: {found[0]}"
    damage = answers.runs.get(PASS_TO_PASS)
    if damage is not None and (damage.ending is not Ending.COMPLETED or damage.exit_code != 0):
        return f"pass_to_pass does not pass at head (exit code {damage.exit_code}, {damage.ending})"
    return None


def _project(stage: Stage) -> str:
    sdist = stage.instance.source.sdist
    return sdist.name if sdist else stage.instance.repo.rsplit("/", 1)[-1]
