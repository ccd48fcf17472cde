"""What a choice of pull requests and repeats would show."""

from __future__ import annotations

import pytest

from pytest_crab.gate.planning import Measure, choices, decided_margin, in_halves, measure_of
from pytest_crab.results.summary import summarise
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import Category, Kind, Provenance, Reason, Trial

SMALL = Measure(sizes=(2, 2, 3), rate=0.4, noise=0.1, usd=0.5)


def test_more_pull_requests_and_more_repeats_decide_smaller_margins() -> None:
    found = {(one.pull_requests, one.repeats): one for one in choices(SMALL, (5.0, 10.0), (20, 80), (1, 3))}
    assert list(found) == [(20, 1), (20, 3), (80, 1), (80, 3)]
    margins = {key: one.margin or 100 for key, one in found.items()}
    assert margins[80, 3] < margins[80, 1] < margins[20, 1]
    assert margins[20, 3] < margins[20, 1]
    assert found[20, 1].passes[5.0] <= found[20, 1].passes[10.0] < found[80, 3].passes[10.0]
    assert found[80, 3].usd == pytest.approx(120)


def test_the_margin_of_a_set_is_met_in_four_of_five_runs() -> None:
    measure = Measure(sizes=(2, 3) * 10, noise=0.1)
    margin = decided_margin(measure)
    assert margin is not None
    (one,) = choices(measure, (margin, margin - 1), (20,), (1,))
    assert one.passes[margin] >= 0.8 > one.passes[margin - 1]


def test_one_pull_request_decides_nothing() -> None:
    assert decided_margin(Measure(sizes=(5,))) is None
    assert [in_halves(share) for share in (0.101, 0.1, 1.0, None)] == [10.5, 10.0, None, None]


def trial(instance: str, *reasons: Reason) -> Trial:
    return trial_of(
        instance=instance,
        repo="owner/name",
        provenance=Provenance.AUTHORED,
        reviewer="mine",
        agent="agent",
        runtime="docker",
        results=tuple(
            comment_result(f"c{at}", category=Category.DESIGN, kind=Kind.BEHAVIORAL, reason=reason)
            for at, reason in enumerate(reasons)
        ),
    )


def test_a_run_tells_its_set_and_its_rate() -> None:
    (own,) = summarise([trial("a", Reason.GREEN, Reason.FAILED), trial("b", Reason.FAILED)]).reviewers
    measure = measure_of(own)
    assert measure is not None
    assert (measure.sizes, measure.rate, measure.noise, measure.grounds) == ((2, 1), pytest.approx(1 / 3), 0.1, "")
    (nothing,) = summarise([trial("a", Reason.AGENT_ERROR)]).reviewers
    assert measure_of(nothing) is None
