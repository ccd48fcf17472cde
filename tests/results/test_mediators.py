"""Several agents on the same reviews: rates, ranks, shares, and every output that has them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.results.summary import Summary, summarise
from pytest_crab.show.markdown import markdown_lines
from pytest_crab.show.terminal import summary_lines
from pytest_crab.statistics.shares import Share
from pytest_crab.types import CONTROL, Reason, Revision, Trial, Usage

MakeTrial = Callable[..., Trial]
REASONS = {"c": Reason.GREEN, "m": Reason.FAILED, "b": Reason.BROKEN}


def by_agents(make_trial: MakeTrial, verdicts: dict[str, str], **fields: Any) -> list[Trial]:
    """Trials of reviewers with agents, named as mine+codex, with a letter for each instance."""
    found = []
    for name, letters in verdicts.items():
        reviewer, agent = name.split("+")
        for at, letter in enumerate(letters):
            trial = make_trial(name, f"i{at}", REASONS[letter], repo=f"r{at}", agent=agent, **fields)
            found.append(dataclasses.replace(trial, review_by=reviewer))
    return found


def rated(make_trial: MakeTrial, verdicts: dict[str, str]) -> Summary:
    return summarise(by_agents(make_trial, verdicts))


def test_one_agent_has_no_table(make_trial: MakeTrial) -> None:
    assert rated(make_trial, {"a+codex": "cm", "b+codex": "cc"}).mediators is None
    assert summarise([make_trial("a", "i", Reason.GREEN)]).mediators is None


def test_rates_are_over_the_oracles_known_of_all(make_trial: MakeTrial) -> None:
    found = rated(make_trial, {"a+x": "cccb", "a+y": "cmmc", "b+x": "mcmc", "b+y": "mmmc"}).mediators
    assert found is not None
    assert (found.reviewers, found.oracles) == (("a", "b"), 3)
    first, second = found.agents
    assert (first.agent, first.rates, first.mean) == ("x", {"a": 1.0, "b": pytest.approx(1 / 3)}, pytest.approx(2 / 3))
    assert (second.agent, second.rates) == ("y", {"a": pytest.approx(1 / 3), "b": 0.0})
    (pair,) = found.pairs
    assert (pair.one, pair.other, pair.ranks.tau) == ("x", "y", None), "two are ranked alike or not, which is no rank"


def test_shares_are_the_reviewers_where_it_alone_decides(make_trial: MakeTrial) -> None:
    found = rated(make_trial, {"a+x": "cccc", "a+y": "cccc", "b+x": "mmmm", "b+y": "mmmm"}).mediators
    assert found is not None
    assert found.shares == {"reviewer": 1.0, "agent": 0.0, "instance": 0.0, "combination or repeat": 0.0}


def test_what_an_agent_resolves_is_what_it_catches_from_the_human_who_is_no_reviewer(make_trial: MakeTrial) -> None:
    trials = by_agents(make_trial, {"a+x": "cm", "a+y": "cc"})
    for agent, letters in {"x": "cm", "y": "cc"}.items():
        trials += by_agents(make_trial, {f"human+{agent}": letters}, privileged=(f"human+{agent}",))
    found = summarise(trials).mediators
    assert found is not None
    assert found.reviewers == ("a",)
    assert [own.human for own in found.agents] == [
        Share(part=1.0, known=2),
        Share(part=2.0, known=2),
    ]


def test_each_agent_is_held_against_its_own_control(make_trial: MakeTrial) -> None:
    trials = by_agents(make_trial, {"a+x": "cccc", "a+y": "cccc"})
    trials += by_agents(make_trial, {"none+x": "cccc", "none+y": "mmmm"}, variant=CONTROL)
    lifts = {own.reviewer: own.lift for own in summarise(trials).reviewers if own.lift is not None}
    assert {name: (lift.control, lift.net) for name, lift in lifts.items()} == {
        "a+x": ("none+x", 0),
        "a+y": ("none+y", 4),
    }


def test_terminal_and_markdown_have_the_table_and_the_shares(make_trial: MakeTrial) -> None:
    verdicts = {"a+x": "cccc", "a+y": "ccmm", "b+x": "cmmm", "b+y": "mmmm", "c+x": "ccmm", "c+y": "cmmm"}
    summary = rated(make_trial, verdicts)
    lines = [line.text.split() for line in summary_lines(summary, 200)]
    assert ["Rate", "by", "agent", "x", "y"] in lines
    assert ["a", "100.0%", "50.0%"] in lines
    said = "2 agents on the same reviews, over 4 oracles known of all: variance of a verdict: reviewer "
    assert any(said in line.text for line in summary_lines(summary, 200))
    assert any(
        "rank agreement of x and y on 3 reviewers: tau-b 1.00" in line.text for line in summary_lines(summary, 200)
    )
    assert any(said in line for line in markdown_lines(summary))


def test_revisions_of_one_review_tell_the_agents_noise_and_pay_for_the_review_once(make_trial: MakeTrial) -> None:
    trials = []
    for at, letters in enumerate(("cm", "cc", "mm", "mc")):
        for repeat, letter in enumerate(letters, start=1):
            trial = make_trial("mine", f"i{at}", REASONS[letter], repo=f"r{at}", repeat=repeat, findings=1)
            assert trial.review is not None
            review = dataclasses.replace(trial.review, usage=Usage(cost_usd=1.0))
            revision = Revision(usage=Usage(cost_usd=0.25))
            trials.append(dataclasses.replace(trial, review=review, revision=revision, review_number=1))
    (mine,) = summarise(trials).reviewers
    assert mine.cost_usd == 4 * 1.0 + 8 * 0.25
    assert mine.cost_per_run == 4 * 1.25
    assert mine.stability is not None
    assert (mine.stability.reviews, mine.stability.flips) == (1, 0.5)
    assert mine.stability.variance["agent"] == pytest.approx(1.0)
    assert "reviewer" not in mine.stability.variance
    text = "\n".join(" ".join(line.text.split()) for line in summary_lines(summarise(trials), 400))
    assert "Reviews of a pull request 1\nRevisions of a review 2\n" in text
    assert "Differ between 2 revisions (%) 50.0" in text
    assert "% if spent on revisions of the same reviews" in text
