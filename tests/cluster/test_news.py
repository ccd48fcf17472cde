"""What is said of workers: each sentence once, few names, and a count in the end."""

from __future__ import annotations

from pytest_crab.campaign.cluster.news import News
from pytest_crab.campaign.cluster.news import workers


def test_a_sentence_is_said_once_and_taken_once() -> None:
    news = News()
    for sentence in ("one", "two", "one"):
        news.say(sentence)
    assert news.take() == ["one", "two"]
    assert news.take() == []


def test_many_workers_are_counted() -> None:
    assert workers(["a"]) == "worker a"
    assert workers(["a", "b", "c"]) == "workers a, b, c"
    assert workers(list("abcdef")) == "workers a, b, c and 3 more"


def test_losses_are_counted() -> None:
    news = News()
    assert news.total() is None
    news.lost(["a", "b"], 5)
    for _ in range(4):
        news.again()
    assert news.take() == ["lost workers a, b (5 trials under way)"]
    assert news.total() == "2 workers were lost, 4 trials were given again"
