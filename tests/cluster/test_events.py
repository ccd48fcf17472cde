"""Sentences on workers: each once, few names, and a count in the end."""

from __future__ import annotations

from pytest_crab.campaign.cluster.events import WorkerEvents, name_workers


def test_a_sentence_is_said_once_and_taken_once() -> None:
    events = WorkerEvents()
    for sentence in ("one", "two", "one"):
        events.add(sentence)
    assert events.take() == ["one", "two"]
    assert events.take() == []


def test_many_workers_are_counted() -> None:
    assert name_workers(["a"]) == "worker a"
    assert name_workers(["a", "b", "c"]) == "workers a, b, c"
    assert name_workers(list("abcdef")) == "workers a, b, c and 3 more"


def test_losses_are_counted() -> None:
    events = WorkerEvents()
    assert events.summary() is None
    events.add_lost(["a", "b"], 4)
    assert events.take() == ["lost workers a, b (4 trials under way)"]
    assert events.summary() == "2 workers were lost, 4 trials were given again"
