"""The scorers: each judges a trial by one rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pytest_crab.adapters import AdapterSpec
from pytest_crab.registry import Members, default_scorers, load
from pytest_crab.scoring.judges import JUDGES, require_hits
from pytest_crab.scoring.judges.scorer import JudgeScorer
from pytest_crab.scoring.oracles import OracleScorer
from pytest_crab.scoring.protocols import Scorer
from pytest_crab.scoring.review_rulers import SimilarityScorer, review_rulers

#: What makes each scorer, by name.
SCORERS: Mapping[str, Callable[[], Scorer]] = Members(
    {OracleScorer.name: OracleScorer, **review_rulers()},
    lambda benchmark: benchmark.scorers,
    load,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerSpec:
    """The recipe of a scorer, plain JSON."""

    #: That of a built-in one, or of a judge in crab.yaml. A similarity by embeddings is named by its model
    #: (similarity.EMBEDDING).
    name: str
    #: The judge; None: the scorer is built in.
    judge: AdapterSpec | None = None

    def build(self) -> Scorer:
        """Build the scorer. Raises BadInput with every fault of a judge's settings."""
        if self.judge is None:
            return SCORERS[self.name]() if self.name in SCORERS else SimilarityScorer(self.name)
        judge = JUDGES.build(self.judge, JUDGES.where(self.name))
        require_hits(judge, self.name)
        return JudgeScorer(self.name, judge)


def default_specs() -> tuple[ScorerSpec, ...]:
    """Return the scorers of a run that names none. Raises BadInput for a broken benchmark."""
    return tuple(ScorerSpec(name=name) for name in (OracleScorer.name, *default_scorers()))


def build_scorers(specs: Iterable[ScorerSpec]) -> tuple[Scorer, ...]:
    """Build scorers; those that know hits come first, since the first one decides an outcome. Raises BadInput."""
    return tuple(sorted((spec.build() for spec in specs), key=lambda scorer: not scorer.knows_hits))
