"""Looking for items to discard is no use of the items that stay."""

import pytest

from cachetools import FIFOCache
from cachetools import LFUCache
from cachetools import LRUCache
from cachetools import TLRUCache
from cachetools import TTLCache


def eviction_order(cache):
    return [cache.popitem()[0] for _ in range(len(cache))]


def filled(make):
    cache = make()
    cache.update({key: key for key in "abcd"})
    cache["b"], cache["a"], cache["a"], cache["b"], cache["b"]
    return cache


MAKERS = {
    "fifo": lambda: FIFOCache(8),
    "tlru": lambda: TLRUCache(8, ttu=lambda key, value, now: now + 60, timer=lambda: 0),
    "lru": lambda: LRUCache(8),
    "lfu": lambda: LFUCache(8),
    "ttl": lambda: TTLCache(8, ttl=60, timer=lambda: 0),
}


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_discarding_nothing_leaves_the_order_of_eviction(name):
    cache = filled(MAKERS[name])
    assert cache.discard(lambda key, value: False) == 0
    assert eviction_order(cache) == eviction_order(filled(MAKERS[name]))


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_discarding_one_leaves_the_order_of_the_others(name):
    cache = filled(MAKERS[name])
    assert cache.discard(lambda key, value: value == "c") == 1
    assert eviction_order(cache) == [key for key in eviction_order(filled(MAKERS[name])) if key != "c"]


def test_keys_and_values_are_shown():
    cache = LRUCache(4)
    cache.update({"a": 1, "b": 2})
    seen = []
    cache.discard(lambda key, value: seen.append((key, value)))
    assert sorted(seen) == [("a", 1), ("b", 2)]
    assert cache.discard(lambda key, value: key == "a" or value == 2) == 2
    assert cache.currsize == len(cache) == 0


@pytest.mark.parametrize("kind", ["ttl", "tlru"])
def test_looking_makes_no_item_younger(kind):
    now = [0]
    if kind == "ttl":
        cache = TTLCache(8, ttl=10, timer=lambda: now[0])
    else:
        cache = TLRUCache(8, ttu=lambda key, value, at: at + 10, timer=lambda: now[0])
    cache.update({"a": 1, "b": 2})
    now[0] = 6
    cache["c"] = 3
    assert cache.discard(lambda key, value: value == 2) == 1
    assert sorted(cache) == ["a", "c"]
    now[0] = 11
    assert sorted(cache) == ["c"]
    cache.discard(lambda key, value: True)
    assert len(cache) == 0


@pytest.mark.parametrize("name", sorted(MAKERS))
@pytest.mark.parametrize("gone", ["a", "ab", "bd", "abcd"])
def test_whatever_goes_the_others_keep_their_order(name, gone):
    cache = filled(MAKERS[name])
    assert cache.discard(lambda key, value: value in gone) == len(gone)
    assert cache.currsize == 4 - len(gone)
    assert eviction_order(cache) == [key for key in eviction_order(filled(MAKERS[name])) if key not in gone]


@pytest.mark.parametrize("make", [LRUCache, LFUCache])
def test_an_item_that_was_never_used_goes_first_afterwards(make):
    cache = make(3)
    cache.update({"a": 1, "b": 2, "c": 3})
    for key in "bcbc":
        cache[key]
    for _ in range(5):
        cache.discard(lambda key, value: key == "x")
    cache["d"] = 4
    assert "a" not in cache and {"b", "c", "d"} == set(cache)
