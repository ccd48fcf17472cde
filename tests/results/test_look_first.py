from __future__ import annotations

from collections.abc import Callable

from pytest_crab.results.look_first import MOST, Look
from pytest_crab.results.summary import summarise
from pytest_crab.show.terminal import summary_lines
from pytest_crab.types import Category, CommentResult, ExplainedOutcome, Explanation, Kind, Reason, Trial

GREEN, RED, LOST = Reason.GREEN, Reason.FAILED, Reason.BROKEN


def looks(*trials: Trial) -> list[Look]:
    return list(summarise(trials).looks.comments)


def test_all_missed_and_disagreements_are_told_apart(make_trial: Callable[..., Trial]) -> None:
    trials = [make_trial("a", "one", GREEN, RED, GREEN, LOST), make_trial("b", "one", GREEN, RED, RED, LOST)]
    missed, apart = looks(*trials)
    assert (missed.comment, missed.kind, missed.why) == ("c1", "missed by all", "missed by a, b")
    assert (apart.comment, apart.kind, apart.why) == ("c2", "reviewers disagree", "caught by a, missed by b")
    assert apart.trial == "one::b", "the one that missed it is opened"


def test_who_is_shown_the_answer_does_not_take_part(make_trial: Callable[..., Trial]) -> None:
    (one,) = looks(make_trial("a", "one", RED), make_trial("human", "one", GREEN, privileged=("human",)))
    assert (one.kind, one.why) == ("missed", "missed by a")
    (alone,) = looks(make_trial("human", "one", RED, privileged=("human",)))
    assert alone.why == "missed by human", "an oracle that the human's own comment does not turn green"


def test_the_first_of_each_kind_come_first(make_trial: Callable[..., Trial]) -> None:
    told = Explanation(outcome=ExplainedOutcome.SPOILED, near=(1,), findings=(2,))
    trial = make_trial("a", "one", RED, RED, RED, explanations={"c1": told})
    found = looks(trial, make_trial("b", "one", RED, RED, GREEN))
    assert [(one.comment, one.kind) for one in found] == [
        ("c0", "missed by all"),
        ("c1", "spoiled"),
        ("c2", "reviewers disagree"),
    ]
    assert found[1].why == "a finding of a lies near it: spoiled by the fix of finding 2"


def test_what_matters_more_comes_first_on_the_page_and_in_the_terminal(
    make_trial: Callable[..., Trial], make_result: Callable[..., CommentResult]
) -> None:
    words = ("low", "critical", "major")
    results = [make_result(f"c{at}", RED, labels={"severity": word}) for at, word in enumerate(words)]
    assert [one.comment for one in looks(make_trial("a", "one", *results))] == ["c1", "c2", "c0"]
    results = [
        make_result("c0", RED, category=Category.DOCUMENTATION),
        make_result("c1", RED, category=Category.SECURITY, kind=Kind.STRUCTURAL),
        make_result("c2", RED, category=Category.SECURITY),
        make_result("c3", RED, category=Category.ROBUSTNESS),
    ]
    trial = make_trial("a", "one", *results)
    assert [one.comment for one in looks(trial)] == ["c2", "c1", "c3", "c0"]
    (line,) = [line.text for line in summary_lines(summarise([trial]), 100, details=False) if "Look next" in line.text]
    assert line == "Look next: c2, missed by a: pytest-crab show one::a"


def test_the_page_says_that_not_all_missed_comments_are_there(make_trial: Callable[..., Trial]) -> None:
    few, many = (summarise([make_trial("a", f"i{at}", RED) for at in range(count)]).looks for count in (MOST, MOST + 3))
    assert few.limit == ""
    assert len(many.comments) == MOST
    assert f"{MOST} of the {MOST + 3} comments" in many.limit
