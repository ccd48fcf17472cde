"""Attributes that are made on first access: once for each object, and no object waits for another."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_crab.lazy import lazy


class Thing:
    """Makes its value where it meets what ``place`` stands for."""

    def __init__(self, place: threading.Barrier | threading.Event) -> None:
        self.place = place
        self.made = 0

    @lazy
    def value(self) -> int:
        """A number."""
        self.made += 1
        self.place.wait(60)
        return self.made


def test_two_objects_are_made_at_a_time() -> None:
    meeting = threading.Barrier(2)
    things = [Thing(meeting), Thing(meeting)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda thing: thing.value, things)) == [1, 1]


def test_several_threads_have_one_value() -> None:
    thing = Thing(threading.Event())
    threading.Timer(0.2, thing.place.set).start()  # type: ignore[union-attr]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: thing.value, range(8))) == [1] * 8


def test_what_fails_is_made_again_and_what_is_deleted_as_well() -> None:
    thing = Thing(threading.Barrier(1))
    thing.place.abort()  # type: ignore[union-attr]
    with pytest.raises(threading.BrokenBarrierError):
        assert thing.value
    assert "value" not in vars(thing)
    thing.place = threading.Barrier(1)
    assert (thing.value, thing.value) == (2, 2)
    del thing.value
    assert thing.value == 3


def test_the_class_has_the_attribute_and_its_docstring() -> None:
    assert Thing.value.__doc__ == "A number."


class Plain:
    @lazy
    def value(self) -> list[int]:
        return [1]


def test_what_has_been_made_can_be_copied_and_pickled() -> None:
    thing = Plain()
    assert thing.value == [1]
    for other in (copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
        assert vars(other) == {"value": [1]}
