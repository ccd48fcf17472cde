from __future__ import annotations

from collections.abc import Callable

from pytest_crab.results.summary import summarise
from pytest_crab.show.look_first import Look, find_looks
from pytest_crab.types import ExplainedOutcome, Explanation, Reason, Trial

GREEN, RED, LOST = Reason.GREEN, Reason.FAILED, Reason.BROKEN


def looks(*trials: Trial) -> list[Look]:
    return find_looks(summarise(trials), lambda key: f"text of {key[1]}")


def test_all_missed_and_disagreements_are_told_apart(make_trial: Callable[..., Trial]) -> None:
    trials = [make_trial("a", "one", GREEN, RED, GREEN, LOST), make_trial("b", "one", GREEN, RED, RED, LOST)]
    missed, apart = looks(*trials)
    assert (missed.comment, missed.kind, missed.why) == ("c1", "missed by all", "missed by a, b")
    assert (apart.comment, apart.kind, apart.why) == ("c2", "reviewers disagree", "caught by a, missed by b")
    assert (apart.trial, apart.text) == ("one::b", "text of c2"), "the one that missed it is opened"


def test_who_is_shown_the_answer_does_not_take_part(make_trial: Callable[..., Trial]) -> None:
    (one,) = looks(make_trial("a", "one", RED), make_trial("human", "one", GREEN, privileged=("human",)))
    assert (one.kind, one.why) == ("missed", "missed by a")
    assert looks(make_trial("human", "one", RED, privileged=("human",))) == []


def test_the_first_of_each_kind_come_first(make_trial: Callable[..., Trial]) -> None:
    told = Explanation(outcome=ExplainedOutcome.SPOILED, near=(1,), findings=(2,))
    trial = make_trial("a", "one", RED, RED, RED, explanations={"c1": told})
    found = looks(trial, make_trial("b", "one", RED, RED, GREEN))
    assert [(one.comment, one.kind) for one in found] == [
        ("c1", "spoiled"),
        ("c0", "missed by all"),
        ("c2", "reviewers disagree"),
    ]
    assert found[0].why == "a finding of a lies near it: spoiled by the fix of finding 2"


def test_what_matters_more_comes_first(make_trial: Callable[..., Trial], make_result: Callable[..., object]) -> None:
    words = ("low", "critical", "major")
    results = [make_result(f"c{at}", RED, labels={"severity": word}) for at, word in enumerate(words)]
    assert [one.comment for one in looks(make_trial("a", "one", *results))] == ["c1", "c2", "c0"]
