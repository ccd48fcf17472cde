from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_crab.report.summary import summarise
from pytest_crab.report.terminal import summary_lines
from pytest_crab.types import CONTROL
from pytest_crab.types import FIRST
from pytest_crab.types import Reason
from pytest_crab.types import Revision
from pytest_crab.types import Trial
from pytest_crab.types import Usage

MakeTrial = Callable[..., Trial]

GREEN, FAILED, EMPTY, BROKEN = Reason.GREEN, Reason.FAILED, Reason.NO_FINDINGS, Reason.BROKEN
DIFF = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n"


def text(trials: list[Trial]) -> str:
    return "\n".join(line.text for line in summary_lines(summarise(trials), 200))


def test_net_lift_takes_the_controls_verdict_for_an_empty_review(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("none", "a", GREEN, FAILED, arm=CONTROL),
        make_trial("none", "b", GREEN, FAILED, arm=CONTROL),
        make_trial("mine", "a", EMPTY, EMPTY),
        make_trial("mine", "b", GREEN, GREEN, findings=2, seconds=8.0, revision=Revision(usage=Usage(cost_usd=3.0))),
    ]
    control, mine = summarise(trials).reviewers
    assert control.lift is None
    assert mine.lift is not None
    assert mine.overall.micro == 0.5
    assert mine.lift.comparison.lost == ()
    assert mine.lift.comparison.gained == ("b::c1",)
    assert (mine.lift.net, mine.lift.cost_usd, mine.lift.seconds) == (1, 3.0, 8.0)
    assert "mine: net lift +25.0 points (95% interval " in text(trials)
    assert "over the control none; 3.00 USD per net caught oracle; 8 s per net caught oracle" in text(trials)


def test_a_lift_that_wins_nothing_has_no_price(make_trial: MakeTrial) -> None:
    trials = [make_trial("none", "a", GREEN, arm=CONTROL), make_trial("mine", "a", FAILED, findings=1, seconds=3.0)]
    lift = summarise(trials).reviewers[1].lift
    assert lift is not None
    assert (lift.net, lift.cost_usd, lift.seconds) == (-1, None, None)


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
    assert "noise floor: 33.3% of verdicts differ between two runs; pass@2 66.7%" in text(trials)


def test_one_run_shows_no_stability(make_trial: MakeTrial) -> None:
    assert summarise([make_trial("mine", "a", GREEN)]).reviewers[0].stability is None


def test_what_reviewers_catch_together(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("a", "x", GREEN, GREEN, FAILED, FAILED, GREEN),
        make_trial("b", "x", GREEN, FAILED, GREEN, FAILED, BROKEN, revision=Revision(usage=Usage(cost_usd=0.25))),
        make_trial("human", "x", GREEN, GREEN, GREEN, GREEN, GREEN, privileged=("human",)),
        make_trial("none", "x", FAILED, FAILED, FAILED, FAILED, FAILED, arm=CONTROL),
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
    assert "adding b to a: 1 more oracles for 0.25 USD" in text(trials)


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
    assert "5 findings, 2 in reviews that led to no catch, 4 without effect on any oracle" in text(trials)


def test_effect_is_unknown_where_it_was_not_asked_for(make_trial: MakeTrial) -> None:
    (mine,) = summarise([make_trial("mine", "a", GREEN, findings=3)]).reviewers
    assert mine.burden.without_effect is None


def test_first_findings_make_a_curve(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("mine", "a", GREEN, GREEN),
        make_trial("mine@3", "a", GREEN, FAILED, arm=FIRST),
        make_trial("mine@1", "a", FAILED, FAILED, arm=FIRST),
    ]
    summary = summarise(trials)
    assert summary.reviewers[0].curve == {"3": 0.5, "1": 0.0, "all": 1.0}
    assert summary.together.reviewers == ("mine",)
    assert "with only its first findings: 1: 0.0%, 3: 50.0%, all: 100.0%" in text(trials)


def test_versions_and_digests_of_what_took_part(make_trial: MakeTrial) -> None:
    facts = {"instance": "d1", "harness": "h1", "pytest_crab": "0.1"}
    trials = [make_trial("mine", "a", GREEN, versions=facts, revision=Revision(version="2.0"))]
    summary = summarise(trials)
    assert summary.digests == {"a": "d1"}
    assert summary.reviewers[0].versions == {"agent": ("2.0",), "harness": ("h1",), "pytest_crab": ("0.1",)}
