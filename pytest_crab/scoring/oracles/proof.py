"""The proof of an oracle: red at head, green at the reference; and the leak proof of the workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from pytest_crab import ecosystems, harness, verdict
from pytest_crab.errors import DiffRejected
from pytest_crab.lazy import lazy
from pytest_crab.parsing.descriptions import review_trace
from pytest_crab.scoring.oracles import keys
from pytest_crab.scoring.oracles.clone_leaks import clone_leak
from pytest_crab.scoring.oracles.oracle_runs import OracleRequest, OracleResults, own_tests_of, run_oracles
from pytest_crab.scoring.oracles.states import CheckedState, Role
from pytest_crab.scoring.protocols import ScoringContext
from pytest_crab.scoring.steps import Step
from pytest_crab.text import one_line
from pytest_crab.types import PASS_TO_PASS, Comment, Ending, Proof, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofResult:
    """The proof of one oracle, if there is one."""

    proof: Proof | None = None
    #: The sentence that says why there is none.
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedComment:
    """A comment with an oracle, and the proof or the problem."""

    comment: Comment
    #: The key of the proof.
    key: str
    proof: Proof | None
    problem: str | None = None
    #: The number of right fixes beside another right change that it was audited on.
    company: int = 0
    #: The time of the audit's longest run.
    seconds: float = 0.0
    #: The state of that run.
    slowest: str | None = None


def prove(context: ScoringContext) -> tuple[ProvedComment, ...]:
    """Prove every oracle of the instance, or take the proofs from the store; one sandbox for all that are new.

    None is proved where the description, which reviewers read, tells of the review. Raises what keeps this machine from
    answering: SourceError, ImageError, EngineError, StoreError, Cancelled.
    """
    step = ProofStep(context)
    named = step.keys()
    pull = context.instance.pull_request
    trace = review_trace(f"{pull.title}\n{pull.body}", pull.number)
    if trace is not None:
        problem = (
            f"{context.instance.id} is not proved: its description tells of the review ({one_line(trace, 80)!r}); take "
            "it out of pull_request.body"
        )
        oracles = context.instance.with_oracles
        return tuple(ProvedComment(comment=one, key=named[one.id], proof=None, problem=problem) for one in oracles)
    results = context.perform(step)
    return tuple(
        ProvedComment(
            comment=comment,
            key=named[comment.id],
            proof=results[comment.id].proof,
            problem=results[comment.id].problem,
        )
        for comment in context.instance.with_oracles
    )


class ProofStep(Step[ProofResult]):
    """The step that proves the oracles of an instance: one ProofResult for each comment."""

    name = "proof"
    record = ProofResult

    def __init__(self, context: ScoringContext) -> None:
        self._context = context

    @override
    def keys(self) -> Mapping[str, str]:
        return self._proof_keys

    @lazy
    def _proof_keys(self) -> Mapping[str, str]:
        """The keys of the proofs, computed once, since each reads its oracle's files."""
        instance = self._context.instance
        runners = {comment.required_oracle.runner for comment in instance.with_oracles}
        runners.update(filter(ecosystems.runs_own_tests, instance.pass_to_pass[:1]))
        return keys.proofs(self._context, harness.version_for(runners))

    @override
    def run(self, subjects: Sequence[str]) -> Mapping[str, ProofResult]:
        todo = [comment for comment in self._context.instance.with_oracles if comment.id in subjects]
        proofs, problems = _prove(self._context, todo)
        return {name: ProofResult(proof=proofs.get(name), problem=problems.get(name)) for name in subjects}

    @override
    def lasts(self, result: ProofResult) -> bool:
        return result.proof is not None


def _prove(context: ScoringContext, comments: Sequence[Comment]) -> tuple[dict[str, Proof], dict[str, str]]:
    """Prove these oracles now; the proofs by comment, and a sentence for each that has none."""
    name = context.instance.id
    problems: dict[str, str] = {}
    wanted: dict[str, _Trees] = {}
    for comment in comments:
        own_tests_of(context.instance, comment.required_oracle)  # what cannot be read needs no environment
    for comment in comments:
        why = ecosystems.unsupported_reason(context.image.facts, comment.required_oracle)
        if why is not None:
            problems[comment.id] = f"{name}: the oracle of {comment.id} is not proved: {why}"
            continue
        try:
            wanted[comment.id] = _trees(context, comment)
        except DiffRejected as error:
            problems[comment.id] = f"{name}: the oracle of {comment.id} cannot be proved: {error}"
    asked = [comment for comment in comments if comment.id in wanted]
    answers = _ask(context, asked, wanted)
    around = _workspace_fault(context, answers)
    proofs: dict[str, Proof] = {}
    for comment in asked:
        evidence = _evidence(context, comment, wanted[comment.id], answers)
        outcome = verdict.prove(evidence)
        unstarted = _why_unstarted(evidence)
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
    """The trees that one oracle is proved on, each by its git id."""

    head: str
    reference: str
    own: str | None


def _trees(context: ScoringContext, comment: Comment) -> _Trees:
    return _Trees(
        head=context.snapshot.head_tree,
        reference=context.snapshot.reference_tree,
        own=CheckedState(role=Role.OWN, diffs=(comment.reference,)).tree(context)
        if comment.reference and not context.certified_runs
        else None,
    )


def _ask(context: ScoringContext, comments: Sequence[Comment], wanted: Mapping[str, _Trees]) -> OracleResults:
    """Run every oracle on head and on its references, as often as a proof needs, all in one sandbox."""
    requests: dict[str, OracleRequest] = {}
    for comment in comments:
        trees = wanted[comment.id]
        for tree in filter(None, (trees.head, trees.reference, trees.own)):
            for number in range(context.proof_runs):
                request = OracleRequest(comment=comment, tree=tree, number=number)
                requests[request.id] = request
    head = context.snapshot.head_tree
    leaks = harness.LeakQuestion(
        state=head,
        project=context.instance.project,
        files=tuple(Path(comment.required_oracle.file).name for comment in context.instance.with_oracles),
    )
    # where the proof is on record, pass_to_pass is run at head only if it fails on a revision
    pass_to_pass = None if context.certified_runs else head
    return run_oracles(context, list(requests.values()), pass_to_pass=pass_to_pass, leaks=leaks)


def _evidence(
    context: ScoringContext, comment: Comment, trees: _Trees, answers: OracleResults
) -> verdict.ProofEvidence:
    def runs(tree: str) -> tuple[Run, ...]:
        names = (OracleRequest(comment=comment, tree=tree, number=n).id for n in range(context.proof_runs))
        return tuple(answers.runs[name] for name in names if name in answers.runs)

    return verdict.ProofEvidence(
        instance=context.instance.id,
        comment=comment.id,
        head=runs(trees.head),
        reference=runs(trees.reference),
        own=runs(trees.own) if trees.own else (),
        recorded=context.certified_runs,
        parts=comment.required_oracle.parts or (),
    )


def _why_unstarted(evidence: verdict.ProofEvidence) -> str | None:
    """Return why no run of an oracle was started; None if one was, or if the reasons differ."""
    runs = [run for _, of in (*evidence.green(), *evidence.red()) for run in of]
    details = {run.detail for run in runs}
    return details.pop() if len(details) == 1 and all(run.ending is Ending.UNSTARTED for run in runs) else None


#: What to do where an environment of a moment lacks a package.
_NAME_ALL = "; environment.resolved installs no dependencies, so name each of them in environment.packages"


def _workspace_fault(context: ScoringContext, answers: OracleResults) -> str | None:
    """Return the fault of the workspace itself (a leak, or pass_to_pass failing at head); None if it is sound."""
    if answers.leaks is None:
        problem = answers.problems[0] if answers.problems else "the harness did not answer"
        alone = context.instance.required_environment.resolved is not None
        hint = _NAME_ALL if alone and problem.startswith("pytest cannot be imported") else ""
        return f"the leak proof could not be made ({problem}{hint})"
    sdist = context.instance.source.sdist
    facts = dict(answers.leaks)
    if not context.image.contained:
        facts["caches"] = ()  # without a sandbox the home is the user's own, and only authored instances get that far
    found = verdict.leaks(facts, refs=context.snapshot.refs, version=sdist.version if sdist else None)
    if found:
        return f"the workspace leaks: {found[0]}"
    leak = clone_leak(context)
    if leak is not None:
        return leak
    regressions = answers.runs.get(PASS_TO_PASS)
    fault = None if regressions is None else verdict.pass_to_pass_fault(regressions)
    return None if fault is None else f"pass_to_pass does not pass at head ({fault})"
