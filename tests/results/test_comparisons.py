from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.results.summary import SummaryBuilder, summarise
from pytest_crab.show.terminal import summary_lines
from pytest_crab.types import CONTROL, FIRST, Finding, Reason, Review, Revision, StepRecord, Trial, Usage

MakeTrial = Callable[..., Trial]

GREEN, FAILED, EMPTY, BROKEN = Reason.GREEN, Reason.FAILED, Reason.NO_FINDINGS, Reason.BROKEN
DIFF = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n"


def text(trials: list[Trial]) -> str:
    """Return the results with single spaces between cells."""
    return "\n".join(" ".join(line.text.split()) for line in summary_lines(summarise(trials), 400))


def paid(usd: float | None, seconds: float, *, reused: bool = False) -> dict[str, Any]:
    """A trial's review and revision at this price in all, and its steps; a proof took long besides."""
    usage = None if usd is None else Usage(cost_usd=usd / 2)
    own = {"review": seconds / 4, "revision": seconds / 2, "verdict": seconds / 4}
    return {
        "review": Review(findings=(Finding(body="x"),), usage=usage),
        "revision": Revision(usage=usage),
        "steps": (
            StepRecord(step="proof", reused=False, seconds=500.0),
            *(StepRecord(step=name, reused=reused, seconds=took) for name, took in own.items()),
        ),
    }


def test_net_lift_takes_the_controls_verdict_for_an_empty_review(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("none", "a", GREEN, FAILED, variant=CONTROL),
        make_trial("none", "b", GREEN, FAILED, variant=CONTROL),
        make_trial("mine", "a", EMPTY, EMPTY),
        make_trial("mine", "b", GREEN, GREEN, findings=2, seconds=99.0, **paid(3.0, 8.0)),
    ]
    trials[2] = dataclasses.replace(trials[2], **paid(0.0, 0.0))
    control, mine = summarise(trials).reviewers
    assert control.lift is None
    assert mine.lift is not None
    assert mine.overall.micro == 0.5
    assert mine.lift.comparison.lost == ()
    assert mine.lift.comparison.gained == ("b::c1",)
    assert (mine.lift.net, mine.lift.cost_usd, mine.lift.seconds) == (1, 3.0, 8.0)
    assert "mine: net lift +25.0 points (95% interval " in text(trials)
    assert "the net lift of mine is not the difference of the two rates" in text(trials)
    assert "USD per net caught oracle - 3.00\nSeconds per net caught oracle - 8" in text(trials)


def test_a_lift_that_wins_nothing_has_no_price(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("none", "a", GREEN, variant=CONTROL),
        make_trial("mine", "a", FAILED, findings=1, **paid(1.0, 3.0)),
    ]
    lift = summarise(trials).reviewers[1].lift
    assert lift is not None
    assert (lift.net, lift.cost_usd, lift.seconds) == (-1, None, None)


def test_repeats_do_not_multiply_what_a_catch_costs(make_trial: MakeTrial) -> None:
    def run(repeats: int) -> list[Trial]:
        control = [make_trial("none", "a", FAILED, FAILED, variant=CONTROL)]
        return control + [
            make_trial("mine", "a", GREEN, GREEN, repeat=at, **paid(4.0, 6.0)) for at in range(1, repeats + 1)
        ]

    for repeats in (1, 3):
        (_, mine) = summarise(run(repeats)).reviewers
        assert mine.lift is not None
        assert (mine.lift.net, mine.lift.cost_usd, mine.lift.seconds) == (2, 2.0, 3.0)
        assert (mine.cost_usd, mine.cost_per_run, mine.seconds_per_run) == (4.0 * repeats, 4.0, 6.0)


def test_what_is_not_wholly_known_has_no_price(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("none", "a", FAILED, variant=CONTROL),
        make_trial("none", "b", FAILED, variant=CONTROL),
        make_trial("mine", "a", GREEN, **paid(4.0, 6.0)),
        make_trial("mine", "b", GREEN, **paid(None, 6.0, reused=True)),
        make_trial("other", "a", GREEN, **paid(1.0, 6.0)),
        make_trial("other", "b", FAILED, **paid(1.0, 6.0)),
    ]
    summary = summarise(trials)
    mine = summary.reviewers[1]
    assert (mine.cost_usd, mine.unpriced, mine.cost_per_run, mine.seconds_per_run) == (4.0, 2, None, None)
    assert mine.lift is not None
    assert (mine.lift.cost_usd, mine.lift.seconds) == (None, None)
    (pair,) = summary.together.pairs
    assert (pair.cost_of_first, pair.cost_of_second) == (None, 2.0)


def test_arms_are_no_reviewers_to_correct_for(make_trial: MakeTrial) -> None:
    def run(*arms: str) -> list[Trial]:
        names = ["mine", *arms]
        control = [make_trial("none", f"i{at}", FAILED, variant=CONTROL) for at in range(8)]
        return control + [
            make_trial(name, f"i{at}", GREEN, findings=1, variant=FIRST if "@" in name else None)
            for name in names
            for at in range(8)
        ]

    alone, among = summarise(run()).reviewers[1].lift, summarise(run("mine@1", "mine@3")).reviewers[1].lift
    assert alone is not None
    assert among is not None
    assert among.p_holm == alone.p_holm == alone.comparison.p_clusters < 0.05


def test_what_the_control_catches_is_no_findings_effect(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("mine", "a", GREEN, GREEN, findings=2, attribution={"c0": (0,), "c1": (1,)}),
        make_trial("none", "a", GREEN, FAILED, variant=CONTROL),
    ]
    assert summarise(trials[:1]).reviewers[0].burden.without_effect == 0
    assert summarise(trials).reviewers[0].burden.without_effect == 1


def test_repeats_show_stability_and_the_noise_floor(make_trial: MakeTrial) -> None:
    runs = [(GREEN, GREEN, FAILED, GREEN), (GREEN, FAILED, FAILED, BROKEN)]
    trials = [make_trial("mine", "a", *reasons, repeat=at) for at, reasons in enumerate(runs, start=1)]
    (mine,) = summarise(trials).reviewers
    assert [oracle.verdicts for oracle in mine.oracles] == ["cc", "cm", "mm", "cb"]
    steady = mine.stability
    assert steady is not None
    assert (steady.oracles, steady.stable) == (3, 2)
    assert steady.flips == pytest.approx(1 / 3)
    assert steady.rates == pytest.approx((3 / 4, 1 / 3))
    assert steady.pass_at == pytest.approx({"1": 0.5, "2": 2 / 3})
    shown = text(trials).splitlines()
    assert {"Same verdict every time 2/3", "Differ between 2 runs (%) 33.3", "pass@2 (%) 66.7"} <= set(shown)
    assert "Rates of the repeats (%) 33.3-75.0" in shown
    assert set(steady.variance) == {"repository", "pull request", "oracle", "run"}
    assert "with twice the money the rate's interval narrows by 29%" in text(trials)


def test_one_run_shows_no_stability(make_trial: MakeTrial) -> None:
    assert summarise([make_trial("mine", "a", GREEN)]).reviewers[0].stability is None


def test_what_reviewers_catch_together(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("a", "x", GREEN, GREEN, FAILED, FAILED, GREEN),
        make_trial("b", "x", GREEN, FAILED, GREEN, FAILED, BROKEN, **paid(0.25, 1.0)),
        make_trial("human", "x", GREEN, GREEN, GREEN, GREEN, GREEN, privileged=("human",)),
        make_trial("none", "x", FAILED, FAILED, FAILED, FAILED, FAILED, variant=CONTROL),
    ]
    together = summarise(trials).together
    assert (together.reviewers, together.oracles, together.union) == (("a", "b"), 4, 3)
    assert together.unique == {"a": 1, "b": 1}
    assert {overlap.reviewers: overlap.oracles for overlap in together.overlaps} == {
        (): 1,
        ("a",): 1,
        ("b",): 1,
        ("a", "b"): 1,
    }
    (pair,) = together.pairs
    assert (pair.both, pair.only_first, pair.only_second, pair.kappa) == (1, 1, 1, 0.0)
    assert pair.comparison.difference == 0
    heads, cells = text(trials).partition("Caught: 1st, 2nd ")[2].splitlines()[:2]
    assert heads.startswith("both 1st only 2nd only 2nd - 1st ")
    assert "2nd costs USD" in heads
    assert cells.startswith("a, b 1 1 1 +0.0 ")
    assert " 0.25 " in cells


def test_burden_counts_findings_idle_ones_and_lines(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("mine", "a", GREEN, FAILED, findings=3, revision=Revision(diff=DIFF), attribution={"c0": (1,)}),
        make_trial("mine", "b", FAILED, findings=2, revision=Revision()),
        make_trial("mine", "c", BROKEN, findings=9),
    ]
    (mine,) = summarise(trials).reviewers
    burden = mine.burden
    assert (burden.trials, burden.findings, burden.idle, burden.without_effect) == (2, 5, 2, 4)
    assert (burden.revisions, burden.added, burden.removed) == (2, 2, 1)
    shown = text(trials)
    assert "Findings 5\nIn reviews that caught nothing 2\nWithout effect on any oracle 4\n" in shown
    assert "Revisions 2\nLines added, removed +2 -1\n" in shown


def test_effect_is_unknown_where_it_was_not_asked_for(make_trial: MakeTrial) -> None:
    (mine,) = summarise([make_trial("mine", "a", GREEN, findings=3)]).reviewers
    assert mine.burden.without_effect is None


def test_first_findings_make_a_curve(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("mine", "a", GREEN, GREEN),
        make_trial("mine@3", "a", GREEN, FAILED, variant=FIRST),
        make_trial("mine@1", "a", FAILED, FAILED, variant=FIRST),
    ]
    summary = summarise(trials)
    assert summary.reviewers[0].curve == {"3": 0.5, "1": 0.0, "all": 1.0}
    assert summary.together.reviewers == ("mine",)
    assert "Rate, first 1 findings (%) 0.0 - -\nRate, first 3 findings (%) 50.0 - -\n" in text(trials)


def test_versions_and_digests_of_what_took_part(make_trial: MakeTrial) -> None:
    facts = {"instance": "d1", "harness": "h1", "pytest_crab": "0.1"}
    trials = [make_trial("mine", "a", GREEN, versions=facts, revision=Revision(version="2.0"))]
    summary = summarise(trials)
    assert summary.digests == {"a": "d1"}
    assert summary.reviewers[0].versions == {"agent": ("2.0",), "harness": ("h1",), "pytest_crab": ("0.1",)}


def test_a_repeat_keeps_its_number_where_another_is_lacking(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("mine", "a", GREEN, repeat=1),
        make_trial("mine", "a", FAILED, repeat=2),
        make_trial("mine", "b", FAILED, repeat=2),
    ]
    (mine,) = summarise(trials).reviewers
    assert mine.stability is not None
    assert mine.stability.rates == (1.0, 0.0)
    assert [(oracle.verdicts, oracle.repeats) for oracle in mine.oracles] == [("cm", ()), ("m", (2,))]


def test_findings_of_several_repeats_are_said_to_be(make_trial: MakeTrial) -> None:
    trials = [make_trial("mine", "a", GREEN, findings=3, repeat=at) for at in (1, 2)]
    assert "Findings, all repeats 6\nIn reviews that caught nothing 0\n" in text(trials)
    assert "Findings 3\n" in text(trials[:1])


def test_of_many_reviewers_the_first_and_neighbours_by_rate_are_compared(make_trial: MakeTrial) -> None:
    caught = {"main": 2, "worst": 0, "best": 5, "poor": 1, "good": 4, "fair": 3}
    building = SummaryBuilder()
    for name, count in caught.items():
        building.add(make_trial(name, "a", *[GREEN if at < count else FAILED for at in range(5)]))
    some = building.summary().together.pairs
    assert [(pair.first, pair.second) for pair in some] == [
        *(("main", name) for name in ("worst", "best", "poor", "good", "fair")),
        *(("best", "good"), ("good", "fair"), ("fair", "poor"), ("poor", "worst")),
    ]
    every = building.summary(all_pairs=True).together.pairs
    assert len(every) == 15
    assert {(pair.first, pair.second): pair.both for pair in some[:5]}.items() <= {
        (pair.first, pair.second): pair.both for pair in every
    }.items()
