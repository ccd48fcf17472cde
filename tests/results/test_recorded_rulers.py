"""Rulers on record: their versions and votes over trials, and how far a judge is said to be known."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.results.recorded_rulers import recorded_rulers
from pytest_crab.results.ruler_cells import cells_of, hit_rulers_of
from pytest_crab.scoring.judges.calibration import Calibration, find_calibration, keep_calibration
from pytest_crab.store import FileStore
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import Finding, Judgement, Provenance, Reason, Review, Trial, Usage, verdict_score
from pytest_crab.types.reviews import ScorerUsage

KNOWN = Calibration(compared=10, agreed=8, unknown=1, kappa=0.6)


def judged(instance: str, votes: int, cost: float | None, calibration: Calibration | None = None) -> Trial:
    """A trial that tests miss and the judge ``strict`` calls a hit by its second finding."""
    about: dict[str, Any] = {"repo": "o/r", "provenance": Provenance.AUTHORED, "agent": "a", "runtime": "local"}
    review = Review(findings=(Finding(body="one"), Finding(body="two")))
    trial = trial_of([comment_result("c0", Reason.FAILED)], instance=instance, reviewer="r", review=review, **about)
    scoring = {"strict": ScorerUsage(answers=votes, usage=Usage(cost_usd=cost), judge=True)}
    hit = verdict_score("strict", "c0", Judgement(reason=Reason.HIT), {"finding": 1})
    versions = {
        "rulers": {"oracles": "harness 1", "strict": "cr-evaluator of m"},
        "calibrations": {"strict": serialization.dump(calibration)},
    }
    return dataclasses.replace(trial, scores=(*trial.scores, hit), scoring=scoring, versions=versions)


def test_votes_and_costs_add_up_and_one_unknown_cost_makes_the_sum_unknown() -> None:
    found = recorded_rulers([judged("a", 2, 0.5), judged("b", 3, 0.25)])
    assert list(found) == ["oracles", "strict"]
    assert (found["strict"].versions, found["strict"].votes, found["strict"].cost_usd) == (
        ("cr-evaluator of m",),
        5,
        0.75,
    )
    assert recorded_rulers([judged("a", 2, 0.5), judged("b", 3, None)])["strict"].cost_usd is None
    assert not found["oracles"].judge


def test_a_judge_is_warned_of_until_it_was_held_against_people() -> None:
    assert recorded_rulers([judged("a", 1, 0.0)])["strict"].caution.startswith("not compared with labels by people")
    known = recorded_rulers([judged("a", 1, 0.0), judged("b", 1, 0.0, KNOWN)])["strict"]
    assert known.caution == "agrees with people on 8 of 10 findings, kappa 0.60, 1 more unknown"
    assert recorded_rulers([judged("a", 1, 0.0)])["oracles"].caution == ""


def test_a_calibration_belongs_to_one_judge(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    keep_calibration(store, {"model": "m"}, KNOWN)
    assert find_calibration(store, {"model": "m"}) == KNOWN
    assert find_calibration(store, {"model": "n"}) is None


def test_a_judge_on_record_is_a_ruler_beside_tests_and_location() -> None:
    trial = judged("a", 1, 0.0)
    assert hit_rulers_of(trial) == ("tests", "location", "strict")
    (cell,) = cells_of(trial, {"c0": "the percent"})
    assert cell.values == {"tests": 0.0, "location": None, "strict": 1.0}
    assert (cell.found, cell.matched, cell.text) == ({"strict": 1}, "two", "the percent")
