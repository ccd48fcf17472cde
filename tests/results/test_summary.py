from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.results.provenance import INJECTED_NOTE
from pytest_crab.results.rates import Rate
from pytest_crab.results.reviewer_summary import Regressions, ReviewerSummary
from pytest_crab.results.summary import CAUSES, OUTCOMES, SIMULATED, Summary, summarise
from pytest_crab.types import Category, CommentResult, Kind, Provenance, Reason, Review, Revision, Trial, Usage

MakeTrial = Callable[..., Trial]
MakeResult = Callable[..., CommentResult]

GREEN, FAILED, BROKEN, NOT_RUN = Reason.GREEN, Reason.FAILED, Reason.BROKEN, Reason.NOT_RUN
REVIEWER_ERROR, AGENT_ERROR = Reason.REVIEWER_ERROR, Reason.AGENT_ERROR


def bare(score: Rate) -> Rate:
    """The score without its intervals, which have tests of their own."""
    return dataclasses.replace(score, interval=None, macro_interval=None)


def only(trials: list[Trial], *, errors_as_misses: bool = False) -> ReviewerSummary:
    (reviewer,) = summarise(trials, errors_as_misses=errors_as_misses).reviewers
    return reviewer


def test_no_trials_are_no_reviewers() -> None:
    assert summarise([]) == Summary()


def test_micro_pools_oracles_and_macro_averages_instances(make_trial: MakeTrial) -> None:
    trials = [make_trial("codex", "a", GREEN, GREEN, GREEN, FAILED), make_trial("codex", "b", FAILED)]
    assert bare(only(trials).overall) == Rate(oracles=5, known=5, caught=3, micro=0.6, macro=0.375, low=0.6, high=0.6)


@pytest.mark.parametrize(
    "reason", [reason for reason in Reason if reason not in {GREEN, Reason.HIT, Reason.CORRECT, BROKEN, NOT_RUN}]
)
def test_every_reason_lands_in_one_outcome(make_trial: MakeTrial, reason: Reason) -> None:
    outcomes = only([make_trial("codex", "a", reason)]).outcomes
    landed = [outcome for outcome, share in outcomes.items() if share == 1]
    unknown = {REVIEWER_ERROR, AGENT_ERROR, Reason.NOT_JUDGED}
    assert landed == [reason.value if reason in unknown else "missed"]
    assert sum(outcomes.values()) == 1


def test_unknown_stays_out_of_the_rate_and_widens_the_bounds(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("codex", "a", GREEN, FAILED, BROKEN),
        make_trial("codex", "b", REVIEWER_ERROR, findings=None),
        make_trial("codex", "c", AGENT_ERROR),
        make_trial("codex", "d", NOT_RUN, NOT_RUN, findings=None),
        make_trial("codex", "e", GREEN),
    ]
    reviewer = only(trials)
    # Known: a has 1 of 2, e has 1 of 1. Of 8 oracles 2 are caught, 1 is missed, 5 are unknown.
    assert bare(reviewer.overall) == Rate(oracles=8, known=3, caught=2, micro=2 / 3, macro=0.75, low=0.25, high=0.875)
    assert reviewer.outcomes == {
        "caught": 2,
        "missed": 1,
        "reviewer error": 1,
        "agent error": 1,
        "broken": 1,
        "not run": 2,
        "not judged": 0,
    }
    assert reviewer.overall.unknown == 5


def test_errors_as_misses_is_the_papers_rule(make_trial: MakeTrial) -> None:
    trials = [make_trial("codex", "a", GREEN, FAILED, BROKEN), make_trial("codex", "b", REVIEWER_ERROR)]
    reviewer = only(trials, errors_as_misses=True)
    assert bare(reviewer.overall) == Rate(oracles=4, known=4, caught=1, micro=0.25, macro=1 / 6, low=0.25, high=0.75)
    assert (reviewer.overall.unknown, sum(reviewer.outcomes[cause] for cause in CAUSES)) == (0, 2)


def test_nothing_known_is_not_zero(make_trial: MakeTrial) -> None:
    reviewer = only([make_trial("codex", "a", NOT_RUN, findings=None, skipped="no network")])
    assert bare(reviewer.overall) == Rate(oracles=1, known=0, caught=0, low=0, high=1)
    assert reviewer.skipped == {"no network": 1}
    assert (reviewer.comments, reviewer.comments_per_pull_request, reviewer.cost_usd) == (None, None, None)
    assert reviewer.regressions == Regressions(broken=0, measured=0)


def test_a_trial_without_results_is_still_a_trial(make_trial: MakeTrial) -> None:
    reviewer = only([make_trial("codex", "a", skipped="no network")])
    assert (reviewer.trials, reviewer.instances, reviewer.by_kind, reviewer.by_category) == (1, 1, {}, {})
    assert bare(reviewer.overall) == Rate(oracles=0, known=0, caught=0)


def test_an_oracle_is_the_mean_of_its_repeats_before_any_rate(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("codex", "a", GREEN, GREEN, repeat=1, findings=1),
        make_trial("codex", "a", FAILED, GREEN, repeat=2, findings=4),
        make_trial("codex", "a", FAILED, BROKEN, repeat=3, findings=4),
        make_trial("codex", "b", FAILED, findings=1),
    ]
    reviewer = only(trials)
    # c0 of a is 1/3; c1 is 1 of its 2 known repeats; c0 of b is 0. Low: (1/3 + 2/3 + 0) / 3. High: (1/3 + 1 + 0) / 3.
    assert bare(reviewer.overall) == Rate(
        oracles=3, known=3, caught=4 / 3, micro=4 / 9, macro=1 / 3, low=1 / 3, high=4 / 9
    )
    assert reviewer.outcomes["broken"] == 1 / 3
    assert (reviewer.repeats, reviewer.instances, reviewer.trials) == (3, 2, 4)
    assert (reviewer.comments, reviewer.comments_per_pull_request) == (4.0, 2.0)


def test_seven_of_ten_is_what_a_person_types(make_trial: MakeTrial) -> None:
    trials = [make_trial("codex", "a", *[FAILED] * 3, *[GREEN] * 7)]
    assert only(trials).overall.micro == 0.7


def test_scores_by_kind_and_category(make_trial: MakeTrial, make_result: MakeResult) -> None:
    security = {"category": Category.SECURITY, "kind": Kind.STRUCTURAL}
    trials = [
        make_trial("codex", "a", make_result("c0", GREEN, **security), make_result("c1", FAILED, **security)),
        make_trial("codex", "b", make_result("c0", BROKEN, **security), make_result("c1", GREEN)),
    ]
    reviewer = only(trials)
    structural = Rate(oracles=3, known=2, caught=1, micro=0.5, macro=0.5, low=1 / 3, high=2 / 3)
    behavioral = Rate(oracles=1, known=1, caught=1, micro=1, macro=1, low=1, high=1)
    assert {name: bare(score) for name, score in reviewer.by_kind.items()} == {
        "behavioral": behavioral,
        "structural": structural,
    }
    assert {name: bare(score) for name, score in reviewer.by_category.items()} == {
        "functional": behavioral,
        "security": structural,
    }
    assert list(reviewer.by_category) == ["functional", "security"]


def test_reviewers_stand_in_order_of_first_appearance(make_trial: MakeTrial) -> None:
    trials = [make_trial(name, instance, GREEN) for instance in "ab" for name in ("zeta", "alpha")]
    assert [reviewer.reviewer for reviewer in summarise(trials).reviewers] == ["zeta", "alpha"]


def test_the_last_record_of_a_trial_counts_and_the_others_are_counted(make_trial: MakeTrial) -> None:
    summary = summarise([make_trial("codex", "a", BROKEN), make_trial("codex", "a", GREEN)])
    assert summary.superseded == 1
    assert summary.reviewers[0].overall.micro == 1


def test_cost_is_what_is_known_and_says_what_is_not(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("codex", "a", GREEN, review=Review(usage=Usage(cost_usd=0.5)), revision=Revision(usage=Usage())),
        make_trial("codex", "b", GREEN, review=Review(), revision=Revision(usage=Usage(cost_usd=0.25))),
    ]
    assert (only(trials).cost_usd, only(trials).unpriced) == (0.75, 2)


def test_a_cost_of_zero_is_a_measurement(make_trial: MakeTrial) -> None:
    reviewer = only([make_trial("codex", "a", GREEN, review=Review(usage=Usage(cost_usd=0)))])
    assert (reviewer.cost_usd, reviewer.unpriced) == (0, 0)


def test_regressions_are_counted_where_it_was_measured(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("codex", name, GREEN, regressions=regressions)
        for name, regressions in zip("abc", (True, False, None), strict=True)
    ]
    assert only(trials).regressions == Regressions(broken=1, measured=2)


def test_provenance_is_counted_by_instance_not_by_trial(make_trial: MakeTrial) -> None:
    trials = [make_trial("codex", "a", GREEN, repeat=repeat, provenance=Provenance.GITHUB) for repeat in (1, 2)]
    reviewer = only([*trials, make_trial("codex", "b", GREEN), make_trial("codex", "c", GREEN)])
    assert (reviewer.github, reviewer.authored, reviewer.instances) == (1, 2, 3)


def test_privileged_and_simulated_are_labelled(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("human", "a", GREEN, privileged=("human",)),
        make_trial("human", "b", GREEN, privileged=("human", "simulated"), agent="simulated", simulated=True),
    ]
    reviewer = only(trials)
    assert reviewer.notes == ("shown the answer (*), so read the rate as an upper bound", SIMULATED)
    assert reviewer.simulated
    assert reviewer.agents == ("claude-code", "simulated")
    assert only([make_trial("codex", "a", GREEN)]).notes == ()


def test_prompts_that_were_cut_are_counted(make_trial: MakeTrial) -> None:
    cut = Review(cut=("the diff was cut to 99,912 of 174,719 characters",))
    trials = [make_trial("codex", name, GREEN, review=cut if name in "ab" else Review()) for name in "abc"]
    trials.append(make_trial("codex", "d", GREEN, revision=Revision(cut=cut.cut)))
    assert only(trials).notes == (
        "the reviewer was not shown all of the pull request in 2 of 4 trials",
        "the agent was not shown all of the pull request in 1 of 4 trials",
    )


REASONS = st.lists(st.lists(st.sampled_from(Reason), min_size=1, max_size=4), min_size=1, max_size=5)


@given(REASONS)
def test_outcomes_add_up_and_the_rate_lies_between_its_bounds(
    make_trial: MakeTrial, repeats: list[list[Reason]]
) -> None:
    reviewer = only([make_trial("codex", "a", *reasons, repeat=at) for at, reasons in enumerate(repeats, start=1)])
    score = reviewer.overall
    assert tuple(reviewer.outcomes) == OUTCOMES
    assert sum(reviewer.outcomes.values()) == pytest.approx(score.oracles)
    assert score.low is not None
    assert score.high is not None
    assert 0 <= score.low <= score.high <= 1
    if score.micro is not None:
        assert score.low <= score.micro <= score.high
    assert (score.micro is None) == (score.known == 0)


@given(REASONS)
def test_the_papers_rule_is_the_lower_bound(make_trial: MakeTrial, repeats: list[list[Reason]]) -> None:
    trials = [make_trial("codex", "a", *reasons, repeat=at) for at, reasons in enumerate(repeats, start=1)]
    assert only(trials, errors_as_misses=True).overall.micro == only(trials).overall.low


@given(REASONS)
def test_a_summary_is_plain_json_and_back(make_trial: MakeTrial, instances: list[list[Reason]]) -> None:
    summary = summarise(make_trial("codex", f"i{at}", *reasons) for at, reasons in enumerate(instances))
    problems: list[str] = []
    assert serialization.read(Summary, serialization.dump(summary), problems) == summary
    assert problems == []


def test_injected_faults_are_counted_and_named_beside_the_rate(make_trial: MakeTrial) -> None:
    reviewer = only([make_trial("codex", name, GREEN, provenance=Provenance.INJECTED) for name in "ab"])
    assert (reviewer.injected, reviewer.instances) == (2, 2)
    assert INJECTED_NOTE in reviewer.notes


def test_injected_faults_and_comments_of_people_have_no_rate_in_common(make_trial: MakeTrial) -> None:
    trials = [make_trial("codex", "a", GREEN, provenance=Provenance.INJECTED), make_trial("codex", "b", GREEN)]
    with pytest.raises(BadInput, match="1 instance with injected faults and 1 without"):
        summarise(trials)
