"""Looking for items to discard is no use of the items that stay."""

import pytest

from cachetools import LFUCache
from cachetools import LRUCache
from cachetools import TTLCache


def eviction_order(cache):
    return [cache.popitem()[0] for _ in range(len(cache))]


def filled(make):
    cache = make()
    cache.update({key: key for key in "abcd"})
    cache["b"], cache["a"], cache["a"], cache["b"], cache["b"]
    return cache


MAKERS = {
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
