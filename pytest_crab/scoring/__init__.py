"""The scorers: each judges a trial by one rule."""

from __future__ import annotations

from pytest_crab.scoring.choices.scorer import ChoiceScorer
from pytest_crab.scoring.oracles import OracleScorer
from pytest_crab.scoring.protocols import Scorer
from pytest_crab.scoring.refinement import RefinementScorer
from pytest_crab.types import Instance

#: The scorers of a trial with a reviewer; the first that applies to an instance decides the outcome of its items.
SCORERS: tuple[Scorer, ...] = (OracleScorer(), RefinementScorer())

#: Those of a trial with an answerer, which is asked for no review.
ANSWER_SCORERS: tuple[Scorer, ...] = (ChoiceScorer(),)


def scorers_for(instance: Instance, *, answers: bool = False) -> tuple[Scorer, ...]:
    """Return the scorers that can score something of this instance; none where its reviews are only collected.

    ``answers``: the trial has an answerer and no reviewer.
    """
    return tuple(scorer for scorer in (ANSWER_SCORERS if answers else SCORERS) if scorer.comments(instance))
