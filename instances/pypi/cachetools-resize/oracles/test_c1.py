"""Making a timed cache smaller costs no live item where there are expired ones to remove."""

import pytest

from cachetools import LRUCache
from cachetools import TLRUCache
from cachetools import TTLCache


class Clock:
    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


def make(kind, maxsize, clock, **options):
    if kind == "ttl":
        return TTLCache(maxsize, ttl=10, timer=clock, **options)
    return TLRUCache(maxsize, ttu=lambda key, value, now: now + 10, timer=clock, **options)


def resized(cache, maxsize):
    try:
        cache.resize(maxsize)
    except KeyError as error:
        pytest.fail(f"resize() ends in KeyError: {error}")
    return cache


@pytest.mark.parametrize("kind", ["ttl", "tlru"])
def test_live_items_that_fit_are_kept(kind):
    clock = Clock()
    cache = make(kind, 4, clock)
    cache["old"] = cache["older"] = 1
    clock.now = 6
    cache["new"] = cache["newer"] = 1
    clock.now = 12
    assert set(resized(cache, 2)) == {"new", "newer"}
    assert cache.maxsize == 2


@pytest.mark.parametrize("kind", ["ttl", "tlru"])
def test_only_expired_items(kind):
    clock = Clock()
    cache = make(kind, 4, clock)
    cache["old"] = cache["older"] = 1
    clock.now = 12
    assert len(resized(cache, 1)) == 0
    cache["new"] = 1
    assert list(cache) == ["new"]


@pytest.mark.parametrize("kind", ["ttl", "tlru"])
def test_items_that_do_not_fit_still_go(kind):
    clock = Clock()
    cache = make(kind, 4, clock)
    cache["a"] = cache["b"] = cache["c"] = 1
    assert set(resized(cache, 2)) == {"b", "c"}
    sized = make(kind, 10, clock, getsizeof=lambda value: value)
    sized["a"], sized["b"], sized["c"] = 2, 3, 4
    assert set(resized(sized, 5)) == {"c"}
    assert sized.currsize == 4


def test_other_caches_are_resized_as_before():
    cache = LRUCache(10, getsizeof=lambda value: value)
    cache["a"], cache["b"], cache["c"] = 2, 3, 4
    assert set(resized(cache, 7)) == {"b", "c"}
    assert (cache.currsize, cache.maxsize) == (7, 7)


@pytest.mark.parametrize("kind", ["ttl", "tlru"])
@pytest.mark.parametrize(("size", "left"), [(3, {"b", "c", "d"}), (2, {"c", "d"}), (5, {"b", "c", "d"}), (0, set())])
def test_expired_items_go_before_any_other(kind, size, left):
    clock = Clock()
    cache = make(kind, 5, clock)
    cache["old"] = cache["older"] = 1
    clock.now = 6
    for key in "bcd":
        cache[key] = 1
    clock.now = 12
    assert set(resized(cache, size)) == left
    assert (cache.currsize, len(cache), cache.maxsize) == (len(left), len(left), size)


@pytest.mark.parametrize("kind", ["ttl", "tlru"])
def test_sizes_of_expired_items_do_not_count(kind):
    clock = Clock()
    cache = make(kind, 12, clock, getsizeof=lambda value: value)
    cache["old"], cache["older"] = 4, 1
    clock.now = 6
    cache["new"], cache["newer"] = 3, 4
    clock.now = 12
    assert set(resized(cache, 7)) == {"new", "newer"}
    assert cache.currsize == 7
    clock.now = 20
    assert len(resized(cache, 2)) == 0
    cache["next"] = 2
    assert list(cache) == ["next"]


@pytest.mark.parametrize("kind", ["ttl", "tlru"])
def test_nothing_but_expired_items_and_no_room(kind):
    clock = Clock()
    cache = make(kind, 4, clock)
    cache["a"] = cache["b"] = cache["c"] = 1
    clock.now = 10
    assert len(resized(cache, 0)) == 0
    assert (cache.currsize, cache.maxsize) == (0, 0)
