"""The scorer ``oracles``: executable tests, red on the pull request and green once a comment is resolved."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from pytest_crab import diffs, harness
from pytest_crab.errors import AgentError, DiffRejected
from pytest_crab.instances.recorded import NOT_ON_RECORD
from pytest_crab.scoring.oracles.evaluation import ORACLES, EvaluationStep, all_scores, score_of
from pytest_crab.scoring.oracles.proof import ProofStep, ProvedComment, prove
from pytest_crab.scoring.protocols import Scorer, ScorerEvidence, ScoringContext
from pytest_crab.scoring.steps import Step
from pytest_crab.types import Artefact, Comment, Instance, Judgement, Reason, Review, Revision, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs(ScorerEvidence):
    """The oracles of one trial, proved or not: the evidence of this scorer. One that is not proved is broken."""

    comments: tuple[ProvedComment, ...]

    @property
    def proved(self) -> tuple[ProvedComment, ...]:
        """Those that are proved."""
        return tuple(one for one in self.comments if one.proof is not None)


class OracleScorer(Scorer):
    """Runs each comment's oracle on the revised tree (arXiv 2603.23448, section 4.2)."""

    name = ORACLES
    needs = frozenset({Artefact.ENVIRONMENT, Artefact.REVISION})
    knows_hits = True

    @property
    @override
    def version(self) -> str:
        return f"harness {harness.VERSION[:12]}"

    @override
    def comments(self, instance: Instance) -> tuple[Comment, ...]:
        return instance.with_oracles

    @override
    def plan_steps(
        self, context: ScoringContext, review: Review | None, revision: Revision | None
    ) -> Iterator[Step[Any]]:
        proofs = ProofStep(context)
        if revision is None:
            if review is None:
                yield proofs
            return
        tree, named = _tree(context, revision), proofs.keys()
        comments = [ProvedComment(comment=c, key=named[c.id], proof=None) for c in self.comments(context.instance)]
        if isinstance(tree, str) and tree != context.snapshot.head_tree:
            yield EvaluationStep(context, comments, tree, proof_keys=list(named.values()))

    @override
    def prepare(self, context: ScoringContext) -> Proofs:
        comments = prove(context)
        broken = (
            score_of(one.comment, Judgement(reason=Reason.BROKEN, detail=one.problem))
            for one in comments
            if one.proof is None
        )
        return Proofs(comments=comments, decided=tuple(broken))

    @override
    def score(self, context: ScoringContext, evidence: Proofs, review: Review, revision: Revision) -> Sequence[Score]:
        """Raises AgentError for a recorded revision that does not apply."""
        tree = _tree(context, revision)
        if isinstance(tree, DiffRejected):
            if revision.recorded:
                raise _not_on_record(context, revision.diff, tree) from tree
            return tuple(all_scores(evidence.proved, Reason.DOES_NOT_APPLY, str(tree)).values())
        if tree == context.snapshot.head_tree:
            notes = f" ({revision.notes})" if revision.notes else ""
            return tuple(
                all_scores(evidence.proved, Reason.EMPTY_REVISION, f"the agent changed nothing{notes}").values()
            )
        step = EvaluationStep(context, evidence.proved, tree, proof_keys=[one.key for one in evidence.comments])
        # A stored score has the name that the comment had then.
        return tuple(
            dataclasses.replace(score, subject=subject.removeprefix("/"))
            for subject, score in context.perform(step).items()
        )


def _tree(context: ScoringContext, revision: Revision) -> str | DiffRejected:
    try:
        return context.snapshot.apply(diffs.normalise(revision.diff))
    except DiffRejected as error:
        return error


def _not_on_record(context: ScoringContext, diff: str, error: DiffRejected) -> AgentError:
    """Return the error of a recording that is not the revision that was made; lost line ends are looked for."""
    try:
        paths = diffs.touched_paths(diff) if "\r" not in diff else set()
    except ValueError:
        paths = set()
    snapshot = context.snapshot
    lost = any(b"\r\n" in (snapshot.read(snapshot.head_tree, path) or b"") for path in paths)
    ends = "; its files have CRLF line ends and the recording has none" if lost else ""
    sentence = f"the recorded revision of {context.instance.id} does not apply, so what was made is not on record"
    return AgentError(f"{sentence} ({error}{ends}); record it again", NOT_ON_RECORD)
