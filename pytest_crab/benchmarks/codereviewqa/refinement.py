"""The scorer ``refinement``: a revised piece of code against the reference, by exact match (arXiv 2503.16167)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from pytest_crab.benchmarks.codereviewqa.exact_match import RELEASE, exact_matches
from pytest_crab.errors import DiffRejected
from pytest_crab.scoring.protocols import Scorer, ScoringContext
from pytest_crab.types import (
    Artefact,
    Comment,
    Instance,
    Judgement,
    Reason,
    Review,
    Revision,
    Score,
    verdict_score,
)


class RefinementScorer(Scorer):
    """Compares the file that the agent left with the reference; caught is the release's ``em``.

    The evidence has all four variants, and under ``release`` those of the release: see ``exact_match``.
    """

    name = "refinement"
    needs = frozenset({Artefact.REVISION})
    knows_hits = True
    version = "arXiv 2503.16167, exact match"

    @override
    def comments(self, instance: Instance) -> tuple[Comment, ...]:
        return () if instance.source.snippet is None else instance.comments

    @override
    def score(self, context: ScoringContext, evidence: Any, review: Review, revision: Revision) -> Sequence[Score]:
        (comment,) = self.comments(context.instance)
        snapshot = context.snapshot
        try:
            tree = snapshot.apply(revision.diff)
        except DiffRejected as error:
            return [verdict_score(self.name, comment.id, Judgement(reason=Reason.DOES_NOT_APPLY, detail=str(error)))]
        texts = [snapshot.read(each, comment.path) for each in (tree, snapshot.reference_tree)]
        revised, reference = ((text or b"").decode("utf-8", "replace") for text in texts)
        found = exact_matches(revised, reference)
        if found["em"]:
            judgement = Judgement(reason=Reason.CORRECT)
        else:
            alike = ", ".join(name for name, equal in found.items() if equal)
            detail = "the file differs from the reference's" + (f" (equal by {alike} alone)" if alike else "")
            judgement = Judgement(reason=Reason.INCORRECT, detail=detail)
        evidence = {**found, RELEASE: exact_matches(revised, reference, RELEASE)}
        return [verdict_score(self.name, comment.id, judgement, evidence)]
