"""Who is leaky, and which oracles an agent can resolve: what summaries and tables say of both."""

from __future__ import annotations

from collections.abc import Callable

from pytest_crab import serialization
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import LEAKY, summarise
from pytest_crab.show.terminal import summary_lines
from pytest_crab.show.trial_view import show_trial
from pytest_crab.types import CommentResult, Reason, Trial

MakeTrial = Callable[..., Trial]
MakeResult = Callable[..., CommentResult]

GREEN, FAILED, BROKEN = Reason.GREEN, Reason.FAILED, Reason.BROKEN


def shown(trials: list[Trial]) -> str:
    return "\n".join(line.text for line in summary_lines(summarise(trials), 200))


def only(trials: list[Trial]) -> ReviewerSummary:
    (reviewer,) = summarise(trials).reviewers
    return reviewer


def test_who_is_leaky_is_labelled_and_stays_out_of_the_comparisons(make_trial: MakeTrial) -> None:
    trials = [make_trial(name, "a", GREEN, FAILED) for name in ("codex", "mini")]
    trials.append(make_trial("devin", "a", GREEN, GREEN, leaky=("devin",)))
    summary = summarise(trials)
    devin = summary.reviewers[-1]
    assert (devin.leaky, devin.privileged, devin.notes) == (("devin",), (), (f"{LEAKY} (~)",))
    assert summary.together.reviewers == ("codex", "mini")
    text = shown(trials)
    assert "devin~" in text
    assert "devin~: worked on the public pull request and could read its discussion (~)" in text
    assert "worked on the public pull request: devin" in [line.text for line in show_trial(trials[-1], None)]
    assert "~" not in shown(trials[:2])


def test_the_second_rate_is_over_what_the_agent_resolves(make_trial: MakeTrial, make_result: MakeResult) -> None:
    results = [
        make_result("caught", GREEN, resolvable=True),
        make_result("missed", FAILED, resolvable=True),
        make_result("broken", BROKEN, resolvable=True),
        make_result("too hard", FAILED, resolvable=False),
        make_result("nobody looked", GREEN),
    ]
    trials = [make_trial("codex", "a", *results)]
    reviewer = only(trials)
    assert reviewer.resolvable is not None
    assert (reviewer.resolvable.oracles, reviewer.resolvable.known, reviewer.resolvable.micro) == (3, 2, 0.5)
    assert (reviewer.overall.oracles, reviewer.overall.micro) == (5, 0.5)
    assert [one.resolvable for one in reviewer.oracles] == [True, True, True, False, None]
    line = "Caught of resolvable 1/2 50.0%"
    assert line in shown(trials).splitlines()
    assert serialization.read(ReviewerSummary, serialization.dump(reviewer), []) == reviewer


def test_without_a_mark_there_is_no_second_rate(make_trial: MakeTrial, make_result: MakeResult) -> None:
    trials = [make_trial("codex", "a", GREEN, make_result("hard", FAILED, resolvable=False))]
    assert only(trials).resolvable is None
    assert "human comment" not in shown(trials)


def test_a_mark_of_any_repeat_counts(make_trial: MakeTrial, make_result: MakeResult) -> None:
    trials = [
        make_trial("codex", "a", make_result("c0", GREEN, resolvable=True)),
        make_trial("codex", "a", make_result("c0", FAILED), repeat=2),
    ]
    score = only(trials).resolvable
    assert score is not None
    assert (score.oracles, score.micro) == (1, 0.5)


def test_models_whose_names_begin_alike_have_tables_that_can_be_told_apart(
    make_trial: MakeTrial, make_result: MakeResult
) -> None:
    labels = {"contamination-claude-sonnet-4-0": "before", "contamination-claude-sonnet-4-5": "after"}
    text = shown([make_trial("codex", "a", make_result("c0", GREEN, labels=labels))])
    assert all(f"by {name} " in text for name in labels)


def test_rates_by_language_have_intervals_where_instances_are_in_several(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("codex", "a", GREEN, FAILED, language="go"),
        make_trial("codex", "b", GREEN, GREEN, language="rust", repo="x/y"),
    ]
    found = only(trials).by_label["language"]
    assert {name: (rate.caught, rate.known, rate.interval is not None) for name, rate in found.items()} == {
        "go": (1.0, 2, True),
        "rust": (2.0, 2, True),
    }
    assert "by language" in shown(trials)
    assert "language" not in only(trials[:1]).by_label
    assert "language" not in only([make_trial("codex", "a", GREEN)]).by_label
