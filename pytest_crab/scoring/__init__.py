"""The scorers: each judges a trial by one rule."""

from __future__ import annotations

from pytest_crab.scoring.oracles import OracleScorer
from pytest_crab.scoring.protocols import Scorer
from pytest_crab.types import Instance

#: Every scorer, by name; the first that applies to an instance decides the outcome of its items.
SCORERS: dict[str, Scorer] = {OracleScorer.name: OracleScorer()}


def scorers_for(instance: Instance) -> tuple[Scorer, ...]:
    """The scorers that can score something of this instance; none where its reviews are only collected."""
    return tuple(scorer for scorer in SCORERS.values() if scorer.comments(instance))
