from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_crab.gate.baseline import BaselineComparison
from pytest_crab.gate.exit import NO_TEST, OracleCounts, RunOutcome, decide, refuse
from pytest_crab.gate.results import ORDER, GateResult
from pytest_crab.gate.terms import WORSE, GateTerms
from pytest_crab.results.gate_record import Gate
from pytest_crab.results.summary import summarise
from pytest_crab.types import Reason, Trial

TERMS = {each.name for each in dataclasses.fields(GateTerms)}


def counted(caught: float, missed: float, broken: float = 0, unknown: float = 0, **fields: Any) -> OracleCounts:
    return OracleCounts(**{"reviewer": "codex", **fields}, caught=caught, missed=missed, broken=broken, unknown=unknown)


def ruled(*counts: OracleCounts, status: int = 1, floor: float | None = 0.5, **fields: Any) -> Gate:
    own = {name: fields.pop(name) for name in TERMS & fields.keys()}
    known = {"status": status, "only_trials_failed": True, **fields}
    return decide(RunOutcome(**known, terms=GateTerms(fail_under=floor, **own), counts=counts))


@pytest.mark.parametrize("status", range(8))
@pytest.mark.parametrize("only_trials_failed", [True, False])
def test_without_a_gate_pytests_status_stays(status: int, only_trials_failed: bool) -> None:  # noqa: FBT001
    decision = ruled(counted(0, 9), status=status, floor=None, only_trials_failed=only_trials_failed)
    assert decision == Gate(exit_code=status, ruling=GateResult.NO_GATE.value, sentence="")


def test_a_floor_says_that_it_is_no_test() -> None:
    assert ruled(counted(5, 5)).rulings[0].details == (NO_TEST,)


@pytest.mark.parametrize("status", [2, 3, 4, 5, 6, 7, 130])
@pytest.mark.parametrize("counts", [(10, 0), (0, 10), (5, 0, 5)])
def test_a_gate_never_replaces_another_status(status: int, counts: tuple[int, ...]) -> None:
    decision = ruled(counted(*counts), status=status)
    assert (decision.exit_code, decision.ruling) == (status, GateResult.NOT_APPLIED)
    assert decision.sentence == f"Gate not applied, exit status {status}: pytest itself ended with {status}."


def test_a_failure_of_something_else_keeps_the_run_red() -> None:
    decision = ruled(counted(10, 0), only_trials_failed=False)
    assert (decision.exit_code, decision.ruling) == (1, GateResult.NOT_APPLIED)
    assert decision.sentence == "Gate not applied, exit status 1: something besides the trials failed."
    assert "10 of 10 oracles caught" in decision.paragraph


@pytest.mark.parametrize(
    ("counts", "code", "sentence"),
    [
        ((5, 5), 0, "5 of 10 oracles caught, a rate of 50%; not below the floor of 50%."),
        ((4, 6), 1, "4 of 10 oracles caught, a rate of 40%; below the floor of 50%."),
        (
            (4, 5, 0, 1),
            8,
            "4 of 10 oracles caught and 1 unknown, a rate from 40% to 50%; on both sides of the floor of",
        ),
        ((5, 4, 0, 1), 8, "5 of 10 oracles caught and 1 unknown, a rate from 50% to 60%; not below the floor of 50%."),
        (
            (10, 9, 0, 1),
            0,
            "10 of 20 oracles caught and 1 unknown, a rate from 50% to 55%; not below the floor of 50%.",
        ),
        ((3, 6, 0, 1), 1, "3 of 10 oracles caught and 1 unknown, a rate from 30% to 40%; below the floor of 50%."),
        ((19, 0, 1), 0, "19 of 20 oracles caught and 1 unknown, a rate from 95% to 100%; not below the floor of 50%."),
        ((18, 0, 2), 9, "2 of 20 oracles are broken (10%), and at most 5% may be."),
        ((0, 0, 0, 4), 8, "0 of 4 oracles caught and 4 unknown, a rate from 0% to 100%; on both sides of the floor"),
        ((0, 0), 8, "no oracle was selected, so there is no rate."),
    ],
)
@pytest.mark.parametrize("status", [0, 1])
def test_every_row_of_the_rule(counts: tuple[int, ...], code: int, sentence: str, status: int) -> None:
    decision = ruled(counted(*counts), status=status)
    assert decision.exit_code == code
    assert decision.paragraph.startswith(f"codex: {sentence}")
    assert decision.sentence == f"Gate {decision.ruling}, exit status {code}."


@pytest.mark.parametrize(
    ("counts", "code", "rate"),
    [((5, 4, 0, 1), 0, "50%"), ((4, 5, 0, 1), 1, "40%"), ((4, 0, 0, 6), 1, "40%")],
)
def test_errors_as_misses_leaves_no_doubt(counts: tuple[int, ...], code: int, rate: str) -> None:
    decision = ruled(counted(*counts), errors_as_misses=True)
    assert decision.exit_code == code
    assert f"a rate of {rate} with {counts[3]} unknown counted as missed" in decision.paragraph


def test_where_nothing_failed_nothing_else_can_have_failed() -> None:
    assert ruled(counted(5, 0, 0, 5), status=0, floor=0.8, only_trials_failed=False).exit_code == 8


def test_errors_as_misses_does_not_mend_a_broken_run() -> None:
    assert ruled(counted(18, 0, 2), errors_as_misses=True).exit_code == 9


def test_the_floor_of_zero_is_met_by_any_measurement() -> None:
    assert ruled(counted(0, 4), floor=0).exit_code == 0


@pytest.mark.parametrize(("share", "code"), [(0.1, 0), (0.0999, 9), (0, 9), (1, 0)])
def test_as_much_as_may_be_broken_is_not_too_much(share: float, code: int) -> None:
    assert ruled(counted(18, 0, 2), max_broken=share).exit_code == code


@pytest.mark.parametrize(("caught", "floor"), [(7, 0.7), (3, 0.3), (29, 0.29)])
def test_a_rate_that_equals_the_floor_meets_it(caught: int, floor: float) -> None:
    total = 100 if caught > 10 else 10
    assert ruled(counted(caught, total - caught), floor=floor).exit_code == 0
    assert ruled(counted(caught - 1, total - caught + 1), floor=floor).exit_code == 1


def test_repeats_add_up_exactly() -> None:
    assert ruled(counted(0.1 + 0.2, 0.7), floor=0.3).exit_code == 0
    assert ruled(counted(0.6, 2.4), floor=0.2).exit_code == 0
    assert "0.3 of 1 oracles caught" in ruled(counted(0.1 + 0.2, 0.7), floor=0.3).paragraph


def test_a_near_miss_is_told_apart_from_the_floor() -> None:
    assert "a rate of 49.99%; below the floor of 50%" in ruled(counted(4999, 5001)).paragraph


GOOD, DOUBTFUL, BAD, WRECKED = counted(9, 1), counted(4, 4, 0, 2), counted(1, 9), counted(0, 0, 10)


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ((GOOD, GOOD), 0),
        ((GOOD, DOUBTFUL), 8),
        ((DOUBTFUL, BAD), 1),
        ((BAD, WRECKED, GOOD), 9),
        ((dataclasses.replace(WRECKED, is_control=True), GOOD), 0),
        ((dataclasses.replace(BAD, is_control=True), DOUBTFUL), 8),
        ((dataclasses.replace(GOOD, is_control=True),), 8),
        ((), 8),
    ],
)
def test_the_worst_reviewer_that_is_no_control_decides(counts: tuple[OracleCounts, ...], code: int) -> None:
    assert ruled(*counts).exit_code == code
    assert ruled(*reversed(counts)).exit_code == code


def test_a_run_with_controls_alone_says_so() -> None:
    control = dataclasses.replace(GOOD, is_control=True)
    decision = ruled(control)
    assert (decision.exit_code, "No reviewer was measured" in decision.paragraph) == (8, True)


def test_counts_are_made_of_a_summarys_outcomes_and_what_has_none(make_trial: Callable[..., Trial]) -> None:
    (own,) = summarise([make_trial("codex", "a", Reason.GREEN)]).reviewers
    outcomes = {"caught": 1.5, "missed": 2, "reviewer error": 1, "agent error": 0.5, "broken": 3, "not run": 4}
    several = dataclasses.replace(own, outcomes=outcomes, unmeasured=None)
    assert OracleCounts.of(several) == counted(1.5, 2, 3, 5.5)
    assert OracleCounts.of(several, absent=2) == counted(1.5, 2, 3, 7.5)
    silent = dataclasses.replace(own, outcomes={}, counted="probe", unmeasured="silence")
    expected = counted(0, 0, is_control=True, counted="probe", unmeasured="silence")
    assert OracleCounts.of(silent, is_control=True) == expected


def test_counts_below_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="below 0"):
        counted(-1, 2)


COUNT = st.integers(0, 30)
COUNTS = st.builds(counted, COUNT, COUNT, COUNT, COUNT, is_control=st.booleans())
SHARE = st.integers(0, 100).map(lambda percent: percent / 100)
OUTCOMES = st.builds(
    RunOutcome,
    status=st.sampled_from([0, 1]),
    only_trials_failed=st.just(True),
    terms=st.builds(GateTerms, fail_under=SHARE, max_broken=SHARE, max_unknown=SHARE, errors_as_misses=st.booleans()),
    counts=st.lists(COUNTS, min_size=1, max_size=3).map(tuple),
)
SEVERITY = [0, 8, 1, 9]


@given(OUTCOMES)
def test_zero_means_that_every_lower_bound_holds(outcome: RunOutcome) -> None:
    if decide(outcome).exit_code == 0:
        gated = [own for own in outcome.counts if not own.is_control]
        assert gated
        for own in gated:
            assert own.total > 0
            assert own.caught / float(own.total) >= (outcome.terms.fail_under or 0)
            assert own.broken / float(own.total) <= outcome.terms.max_broken
            assert outcome.terms.errors_as_misses or own.unknown / float(own.total) <= outcome.terms.max_unknown


@given(OUTCOMES)
def test_one_means_that_some_upper_bound_fails(outcome: RunOutcome) -> None:
    if decide(outcome).exit_code == 1:
        gated = [own for own in outcome.counts if not own.is_control and own.total]
        highs = [
            (own.caught if outcome.terms.errors_as_misses else float(own.total) - own.missed) / float(own.total)
            for own in gated
        ]
        assert min(highs) < (outcome.terms.fail_under or 0)


@given(OUTCOMES)
def test_catching_more_never_makes_it_worse(outcome: RunOutcome) -> None:
    first, *rest = outcome.counts
    before = SEVERITY.index(decide(outcome).exit_code)
    for word in ("missed", "unknown", "broken"):
        count = getattr(first, word)
        if count:
            better = dataclasses.replace(first, caught=first.caught + 1, **{word: count - 1})
            after = decide(dataclasses.replace(outcome, counts=(better, *rest)))
            assert SEVERITY.index(after.exit_code) <= before


@given(OUTCOMES, SHARE)
def test_a_lower_floor_never_makes_it_worse(outcome: RunOutcome, floor: float) -> None:
    terms = dataclasses.replace(outcome.terms, fail_under=min(floor, outcome.terms.fail_under or 0))
    lower = dataclasses.replace(outcome, terms=terms)
    assert SEVERITY.index(decide(lower).exit_code) <= SEVERITY.index(decide(outcome).exit_code)


@given(OUTCOMES, st.sampled_from([2, 3, 4, 5, 6]))
def test_other_statuses_and_other_failures_are_never_hidden(outcome: RunOutcome, status: int) -> None:
    assert decide(dataclasses.replace(outcome, status=status)).exit_code == status
    assert decide(dataclasses.replace(outcome, status=1, only_trials_failed=False)).exit_code == 1


@given(OUTCOMES)
def test_a_control_changes_nothing(outcome: RunOutcome) -> None:
    without = tuple(own for own in outcome.counts if not own.is_control)
    assert decide(outcome) == decide(dataclasses.replace(outcome, counts=without))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"defaulted": True, "simulated": True}, "the agent mini, which is only the default, only compares locations"),
        ({"defaulted": True}, "the agent mini was only the default; name one with --agent"),
        (
            {"simulated": True, "privileged": True},
            "the agent mini only compares locations and understands nothing; ",
        ),
        ({"privileged": True}, "the agent mini is shown the answer; name another with --agent"),
        ({"runtime_named": False}, "the runtime is not named, so it may differ between runs; add --crab-runtime"),
        ({"contested": False}, "no reviewer but the control is named; add --reviewer"),
        ({"fail_under": 30}, "--crab-fail-under is 30; it should be a rate between 0 and 1, such as 0.3"),
        ({"fail_under": float("nan")}, "--crab-fail-under is nan"),
        ({"max_broken": -0.5}, "--crab-max-broken is -0.5; it should be a share between 0 and 1"),
        ({"max_unknown": 1.5}, "--crab-max-unknown is 1.5; it should be a share between 0 and 1"),
        ({"fail_under": 1.5}, "--crab-fail-under is 1.5"),
        ({"contested": False}, "--crab-fail-under cannot gate this run: "),
        ({"contested": False, "fail_under": None, "baseline": True}, "--crab-baseline cannot gate this run: "),
        ({"sharded": True}, "merge all of them and use pytest-crab compare"),
    ],
)
def test_a_gate_that_cannot_be_trusted_is_refused(fields: dict[str, Any], sentence: str) -> None:
    terms = {"fail_under": 0.3, **{name: fields[name] for name in TERMS & fields.keys()}}
    facts = {name: value for name, value in fields.items() if name not in TERMS}
    refusal = refuse(GateTerms(**terms), **{"agent": "mini", **facts})
    assert refusal is not None
    assert sentence in refusal


@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_a_sound_gate_is_not_refused(share: float) -> None:
    assert refuse(GateTerms(fail_under=share, max_broken=share, max_unknown=share), agent="claude-code") is None


def test_without_a_gate_anything_goes() -> None:
    everything = {"privileged": True, "simulated": True, "defaulted": True, "runtime_named": False, "contested": False}
    assert refuse(GateTerms(), agent="simulated", **everything) is None


def test_the_page_holds_every_ruling_and_its_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| (\d) \| (passed|failed|inconclusive|broken) \|", page, re.MULTILINE))
    examples = (GOOD, BAD, DOUBTFUL, WRECKED)
    assert documented == {str(ruled(own).exit_code): ruled(own).ruling for own in examples}
    order = ", then ".join(str(next(code for code, word in documented.items() if word == ruling)) for ruling in ORDER)
    assert f"the worst ruling decides: {order}." in page


def test_where_only_worse_fails_an_inconclusive_gate_ends_with_zero() -> None:
    unsure = counted(490, 490, unknown=20)
    assert ruled(unsure).exit_code == 8
    decision = ruled(unsure, fail_on=WORSE)
    assert (decision.exit_code, decision.ruling) == (0, GateResult.INCONCLUSIVE)
    assert decision.sentence == "Gate inconclusive, exit status 0, as it fails on worse alone."


@pytest.mark.parametrize(
    ("counts", "fields", "code"),
    [
        ([counted(0, 10)], {}, 1),
        ([counted(5, 0, broken=5)], {}, 9),
        ([counted(5, 3, unknown=2)], {}, 8),
        ([counted(0, 0)], {}, 8),
        ([], {}, 8),
        ([counted(0, 0)], {"max_unknown": 1.0}, 8),
        ([counted(5, 4, unknown=1)], {"max_unknown": 0.1, "floor": 0.55}, 0),
        ([counted(5, 5)], {"given_up": ("codex: gave up",)}, 8),
        ([counted(0, 10, reviewer="other"), counted(490, 490, unknown=20)], {}, 1),
        ([counted(5, 3, unknown=2, reviewer="other"), counted(490, 490, unknown=20)], {}, 8),
        ([counted(490, 490, unknown=20)], {"baselines": (BaselineComparison(reviewer="codex", baseline="old"),)}, 8),
    ],
)
def test_where_only_worse_fails_the_rest_stays(counts: list[OracleCounts], fields: dict[str, Any], code: int) -> None:
    assert ruled(*counts, fail_on=WORSE, **fields).exit_code == code


def test_one_oracle_in_twenty_may_be_broken_and_one_unknown() -> None:
    assert ruled(counted(95, 0, broken=5)).ruling == GateResult.PASSED
    assert ruled(counted(94, 0, broken=6)).ruling == GateResult.BROKEN
    assert ruled(counted(95, 0, unknown=5)).ruling == GateResult.PASSED
    too_many = ruled(counted(94, 0, unknown=6))
    assert too_many.ruling == GateResult.INCONCLUSIVE
    assert "6 of 100 oracles are unknown (6%)" in too_many.paragraph
    assert OracleCounts(reviewer="codex", caught=1, missed=1).total == 2


def test_a_reviewer_is_told_of_its_own_baseline_alone() -> None:
    baselines = tuple(BaselineComparison(reviewer=name, baseline=f"{name} of old") for name in ("mine", "yours"))
    counts = [counted(9, 1, reviewer=one.reviewer) for one in baselines]
    told = {own.reviewer: own.lines[0] for own in ruled(*counts, baselines=baselines).rulings}
    assert ["yours of old" in told["mine"], "mine of old" in told["yours"]] == [False, False]
    assert ["mine of old" in told["mine"], "yours of old" in told["yours"]] == [True, True]
