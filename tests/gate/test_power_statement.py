"""What a gate says before a run of its power and of its chance to pass, held against rulings on drawn verdicts."""

from __future__ import annotations

import math
import random
import re

import pytest

from pytest_crab.gate.power_statement import power_statement
from pytest_crab.gate.terms import GateTerms
from pytest_crab.statistics.comparison import Key, Measured, compare
from pytest_crab.statistics.power import Design
from pytest_crab.statistics.power_simulation import simulate_power


def said(oracles: int, *, margin: float = 5.0, noise: float = 0.1) -> str:
    """The statement for so many oracles, each of its own repository, of which half are caught."""
    return "; ".join(power_statement(Design(sizes=[1] * oracles, noise=noise, rate=0.5), margin=margin))


def run(verdicts: str) -> dict[Key, Measured]:
    """An oracle a letter: c caught, m missed."""
    return {
        (f"pr-{at}", "c0"): Measured(repo=f"owner/repo-{at}", caught=int(one == "c"), missed=int(one == "m"), unknown=0)
        for at, one in enumerate(verdicts)
    }


def share_that_passes(oracles: int, margin: float, noise: float, draws: int = 60) -> float:
    """Draw pairs of runs of an unchanged reviewer, and count those that rule out a drop of the margin."""
    source, passed = random.Random(7), 0
    for _ in range(draws):
        before = "".join(source.choice("cm") for _ in range(oracles))
        after = "".join({"c": "m", "m": "c"}[one] if source.random() < noise else one for one in before)
        low = compare(run(before), run(after)).low
        assert low is not None
        passed += 100 * low > -margin
    return passed / draws


def test_one_pull_request_says_nothing_and_two_say_something() -> None:
    assert "nothing follows from 1 oracle of one pull request for any other" in said(1)
    assert "2 oracles are too few: even a drop to 0% is shown in 0% of runs" in said(2)


def test_each_fact_names_what_is_counted() -> None:
    design = Design(sizes=[9] * 20, noise=0.1, rate=0.5, by="row")
    facts = power_statement(design, margin=5, counted="probe")
    assert "180 probes have 80% power" in facts[0]
    assert "oracle" not in "; ".join(facts)


def test_the_chance_to_pass_is_that_of_drawn_runs() -> None:
    (chance, assumed) = re.findall(
        r"an unchanged reviewer passes in (\d+%) of runs, (.*?); 80% takes about 317", said(300)
    )[0]
    assert (chance, assumed) == ("76%", "assuming that 10.0% of verdicts change from run to run")
    assert share_that_passes(300, 5, 0.1) == pytest.approx(0.76, abs=0.15)


def test_where_no_verdict_changes_the_least_number_that_passes_is_named() -> None:
    assert "cannot pass at a margin of 5 points" in said(50, noise=0.0)
    assert "or about 57 oracles in about 57 pull requests like these to pass in 80% of runs" in said(50, noise=0.0)
    assert "an unchanged reviewer passes in 100% of runs" in said(58, noise=0.0)
    assert (share_that_passes(50, 5, 0.0, 3), share_that_passes(58, 5, 0.0, 3)) == (0, 1)


def test_how_often_a_drop_to_nothing_is_shown_is_that_of_six_pull_requests_that_lost() -> None:
    """A reviewer that finds nothing gains nothing, whatever its noise was before."""
    six_or_more = sum(math.comb(12, caught) for caught in range(6, 13)) / 2**12
    ahead = simulate_power(Design(sizes=[1] * 12, noise=0.2, rate=0.5))
    assert ahead.power(0.5) == pytest.approx(six_or_more, abs=0.06)
    assert f"is shown in {ahead.power(0.5):.0%} of runs" in said(12, noise=0.2)


def test_the_power_at_the_margin_is_named_where_it_is_small_and_there_is_a_margin() -> None:
    assert re.search(
        r"detect a drop of the margin, 5 points, is [56]\d%; 80% takes about (4[5-9]|5[0-2])\d oracles", said(300)
    )
    assert "a drop of the margin, 0.5 points" in said(300, margin=0.5)
    assert "a drop of the margin" not in said(300, margin=0)
    assert "a drop of the margin" not in said(300, margin=40)


def test_a_margin_of_nothing_is_never_met_and_no_number_helps() -> None:
    assert "it needs a margin of at least 0.9 points; this set decides a margin of" in said(300, margin=0)


def test_a_gate_asks_for_five_points_unless_told_otherwise() -> None:
    """The number that the options' table and the docs name."""
    assert GateTerms().margin == 5.0
