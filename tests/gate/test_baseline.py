"""The exit status of made-up runs against a made-up baseline: n, margin and discordance are in the table."""

from __future__ import annotations

import re

import pytest

from pytest_crab.gate.baseline import Against
from pytest_crab.gate.baseline import Load
from pytest_crab.gate.baseline import foresight
from pytest_crab.gate.exit import Decision
from pytest_crab.gate.exit import RunOutcome
from pytest_crab.gate.exit import Tally
from pytest_crab.gate.exit import decide
from pytest_crab.statistics.comparison import Key
from pytest_crab.statistics.comparison import Measured
from pytest_crab.statistics.comparison import compare
from pytest_crab.statistics.power import Design


def run(verdicts: str) -> dict[Key, Measured]:
    """An oracle a letter, each of its own repository: c caught, m missed, u unknown, b broken."""
    return {
        (f"pr-{at}", "c0"): Measured(
            repo=f"owner/repo-{at}", caught=int(one == "c"), missed=int(one == "m"), unknown=int(one in "ub")
        )
        for at, one in enumerate(verdicts)
    }


def gated(before: str, after: str, *, margin: float = 5.0, status: int = 1, alone: bool = True) -> Decision:
    tally = Tally(
        reviewer="mine",
        caught=after.count("c"),
        missed=after.count("m"),
        unknown=after.count("u"),
        broken=after.count("b"),
    )
    design = Design(sizes=[1] * len(before), discordance=0.1, rate=before.count("c") / len(before))
    against = Against(
        reviewer="mine",
        baseline="main",
        margin=margin,
        comparison=compare(run(before), run(after)),
        design=design,
        before=Load(cost_usd=0.5, comments=2.0),
        after=Load(cost_usd=0.75, comments=3.5),
    )
    return decide(RunOutcome(status=status, only_trials_failed=alone, tallies=(tally,), against=(against,)))


TABLE = {
    # name: before, after, margin, exit status
    "no change, n 60, margin 5": ("c" * 30 + "m" * 30, "c" * 30 + "m" * 30, 5, 0),
    "no change, n 240, 8 flips, margin 5": ("c" * 84 + "m" * 156, "c" * 80 + "m" * 4 + "c" * 4 + "m" * 152, 5, 0),
    "improvement, n 60, 12 gained, margin 5": ("c" * 20 + "m" * 40, "c" * 32 + "m" * 28, 5, 0),
    "drop, n 60, 12 lost, margin 5": ("c" * 30 + "m" * 30, "c" * 18 + "m" * 42, 5, 1),
    "a real drop within a wide margin, n 60, 12 lost, margin 35": ("c" * 30 + "m" * 30, "c" * 18 + "m" * 42, 35, 0),
    "n 24, 2 lost, margin 5": ("c" * 12 + "m" * 12, "c" * 10 + "m" * 14, 5, 8),
    "no change, n 12: too few to rule a drop out": ("c" * 6 + "m" * 6, "c" * 6 + "m" * 6, 5, 8),
    "n 60, 10% broken": ("c" * 30 + "m" * 30, "b" * 6 + "c" * 24 + "m" * 30, 5, 9),
    "n 60, 5% broken is not too much, and widens the bounds": ("c" * 60, "b" * 3 + "c" * 57, 5, 8),
    "n 60, 15 unknown could be lost": ("c" * 30 + "m" * 30, "u" * 15 + "c" * 15 + "m" * 30, 5, 8),
    "n 60, 24 lost whatever 6 unknown are": ("c" * 40 + "m" * 20, "u" * 6 + "c" * 10 + "m" * 44, 5, 1),
}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("status", [0, 1])
def test_the_table(name: str, status: int) -> None:
    before, after, margin, code = TABLE[name]
    decision = gated(before, after, margin=margin, status=status)
    assert decision.exit_code == code, decision.paragraph
    assert decision.paragraph.startswith(f"Gate {decision.verdict}, exit status {code}. mine: ")


def test_the_lost_are_named() -> None:
    paragraph = gated("c" * 30 + "m" * 30, "m" * 12 + "c" * 18 + "m" * 30).paragraph
    lost = re.findall(r"pr-(\d+)::c0", paragraph)
    assert lost == [str(at) for at in range(12)]
    assert "down 20.0 points against main, from 50.0% to 30.0% of 60 oracles" in paragraph
    assert "95% interval -30.4 to -8.3 points over 60 repositories" in paragraph
    assert "Lost 12: " in paragraph
    assert "gained none (exact McNemar p = 0.000488)" in paragraph
    assert "Comments per pull request 2.0 before, 3.5 now; 0.500 USD per pull request before, 0.750 now." in paragraph


def test_what_is_inconclusive_says_what_would_settle_it() -> None:
    few = gated("c" * 12 + "m" * 12, "c" * 10 + "m" * 14).paragraph
    assert "Neither a drop of more than 5 points is ruled out, nor is a drop shown." in few
    assert re.search(r"To settle it: about 3\d\d oracles at this noise, repeats \(--crab-repeat\)", few)
    unknown = gated("c" * 120 + "m" * 120, "u" * 20 + "c" * 100 + "m" * 120).paragraph
    assert "Verdicts for the 20 unknown oracles would settle it: run again" in unknown


@pytest.mark.parametrize("status", [2, 3, 4, 5])
def test_an_interrupt_and_the_like_stay(status: int) -> None:
    assert gated("c" * 60, "m" * 60, status=status).exit_code == status


def test_an_ordinary_failure_stays_under_a_gate_that_is_met() -> None:
    decision = gated("c" * 60, "c" * 60, alone=False)
    assert decision.exit_code == 1
    assert "something besides the trials failed" in decision.paragraph


def test_what_cannot_be_compared_is_inconclusive_and_says_why() -> None:
    comparison = compare(run("c" * 60), run("c" * 60))
    tally = Tally(reviewer="mine", caught=60, missed=0)
    for fields, sentence in (
        ({"comparison": comparison, "refusal": "the agent was a and is b"}, "not comparable with main: the agent was"),
        ({"comparison": None}, "main has no reviewer to compare it with"),
        ({"comparison": compare(run("u"), run("u"))}, "no oracle has a verdict here and in main"),
    ):
        against = Against(reviewer="mine", baseline="main", **fields)  # type: ignore[arg-type]
        decision = decide(RunOutcome(status=0, only_trials_failed=True, tallies=(tally,), against=(against,)))
        assert decision.exit_code == 8
        assert sentence in decision.paragraph


def test_a_floor_and_a_baseline_must_both_hold() -> None:
    against = Against(
        reviewer="mine", baseline="main", comparison=compare(run("c" * 30 + "m" * 30), run("c" * 30 + "m" * 30))
    )
    outcome = RunOutcome(
        status=1,
        only_trials_failed=True,
        fail_under=0.6,
        tallies=(Tally(reviewer="mine", caught=30, missed=30),),
        against=(against,),
    )
    decision = decide(outcome)
    assert decision.exit_code == 1
    assert "below the floor of 60%" in decision.paragraph
    assert "unchanged against main" in decision.paragraph


def test_a_run_says_before_what_it_cannot_see() -> None:
    small = foresight(Design(sizes=[1] * 20, discordance=0.1, rate=0.5), margin=5, assumed=True)
    assert small.startswith("20 oracles show a drop of 38.7 points in four of five runs, assuming that 10.0%")
    assert "a drop as small as the margin of 5 points is seen in 7% of runs; 328 oracles would" in small
    hopeless = foresight(Design(sizes=[1] * 8, discordance=0.1, rate=0.2), margin=5, assumed=False)
    assert "cannot show even a fall to nothing, since in the baseline's own repeats 10.0%" in hopeless
    large = foresight(Design(sizes=[1] * 900, discordance=0.1, rate=0.5), margin=5, assumed=True)
    assert "margin" not in large
