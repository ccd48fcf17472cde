from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from pytest_crab.results.summary import summarise
from pytest_crab.show.page.headline import (
    Clock,
    banners,
    highest,
    parse_time,
    role,
    run_facts,
    set_words,
    title_words,
)
from pytest_crab.types import CONTROL, Reason, Trial

GREEN, RED, LOST = Reason.GREEN, Reason.FAILED, Reason.BROKEN


def heads(*trials: Trial) -> list[str]:
    return [banner[0] for banner in banners(summarise(trials))]


def test_a_plain_run_has_no_banner(make_trial: Callable[..., Trial]) -> None:
    assert heads(make_trial("a", "one", GREEN, RED), make_trial("none", "one", RED, RED, variant=CONTROL)) == []


def test_banners_for_what_changes_the_meaning_of_rates(make_trial: Callable[..., Trial]) -> None:
    assert heads(make_trial("a", "one", GREEN, simulated=True)) == ["Simulated agent: location overlap only."]
    assert heads(make_trial("human", "one", GREEN, privileged=("human",))) == [], "its card says it"
    assert heads(make_trial("a", "one", GREEN, privileged=("simulated",))) == [], "the agent is, and is simulated"
    assert heads(make_trial("devin", "one", GREEN, leaky=("devin",))) == ["devin worked on the public pull request."]


def test_unknowns_are_a_banner_above_one_in_twenty(make_trial: Callable[..., Trial]) -> None:
    few, many = [LOST, *[GREEN] * 19], [LOST, *[GREEN] * 18]
    assert heads(make_trial("a", "one", *few)) == []
    (banner,) = banners(summarise([make_trial("a", "one", *many)]))
    assert banner[0] == "a: 1 of 19 oracles have no verdict."
    assert "between 94.7% and 100.0%" in banner[1]


def test_roles(make_trial: Callable[..., Trial]) -> None:
    trials = [
        make_trial("a", "one", GREEN),
        make_trial("human", "one", GREEN, privileged=("human",)),
        make_trial("none", "one", RED, variant=CONTROL),
    ]
    assert [role(one) for one in summarise(trials).reviewers] == [
        "",
        "shown the answer: an upper bound",
        "control: the agent gets no review",
    ]


def test_facts_name_agent_set_and_time(make_trial: Callable[..., Trial]) -> None:
    trials = [make_trial("a", name, GREEN, RED, repo=f"o/{name}", simulated=True) for name in ("one", "two")]
    facts = dict(run_facts(summarise(trials)))
    assert facts["Coding agent"] == "claude-code (simulated)"
    assert set_words(summarise(trials)) == "2 pull requests (2 authored) from 2 repositories, with 4 oracles"
    assert facts["Models"] == "none on record"
    assert "Part of the run" not in facts
    parts = summarise([make_trial("a", "one", GREEN), make_trial("b", "two", GREEN)])
    assert set_words(parts) == "2 pull requests from 1 repository, with 2 oracles"


def test_a_title_names_reviewers_and_set(make_trial: Callable[..., Trial]) -> None:
    def title(names: Sequence[str], *repos: str) -> str:
        return title_words(summarise(make_trial(name, repo, GREEN, repo=repo) for name in names for repo in repos))

    assert title(["a"], "shop/api") == "a on shop/api"
    assert title(["a", "b"], "shop/api", "shop/web") == "a and b on shop"
    assert title(["a", "b"], "shop/api", "x/y") == "a and b on 2 repositories"
    assert title(["a", "b", "c", "d"], "shop/api") == "a, b, c and 1 more on shop/api"
    control = make_trial("none", "one", RED, variant=CONTROL, repo="o/r")
    assert title_words(summarise([make_trial("a", "one", RED, repo="o/r"), control])) == "a on o/r"
    assert title_words(summarise([])) == "Results"


def test_the_highest_of_many_are_shown_in_their_order(make_trial: Callable[..., Trial]) -> None:
    verdicts = {"a": [GREEN], "b": [RED], "c": [LOST], "d": [GREEN]}
    found = summarise(make_trial(name, "one", *own) for name, own in verdicts.items()).reviewers
    assert [one.reviewer for one in highest(found, 3)] == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("starts", "words"),
    [
        ([None], ""),
        (["no time"], ""),
        (["2026-01-02T03:04:05+00:00"], "02 Jan 2026, 03:04 to 03:05 UTC"),
        (["2026-01-02T03:04:05", "2026-01-01T23:00:00+00:00"], "01 Jan 2026, 23:00 to 02 Jan 2026, 03:05 UTC"),
    ],
)
def test_the_time_of_a_run(starts: list[str | None], words: str) -> None:
    clock = Clock()
    for start in filter(None, map(parse_time, starts)):
        clock.add(start, seconds=60.0)
    assert clock.words() == words
