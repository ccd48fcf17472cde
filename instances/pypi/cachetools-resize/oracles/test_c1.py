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
