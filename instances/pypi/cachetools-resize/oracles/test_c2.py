"""A negative size is refused, and the cache stays as it was."""

import pytest

from cachetools import Cache
from cachetools import FIFOCache
from cachetools import LFUCache
from cachetools import LRUCache
from cachetools import RRCache
from cachetools import TLRUCache
from cachetools import TTLCache

MAKERS = [lambda: FIFOCache(3), lambda: LRUCache(3), lambda: LFUCache(3), lambda: TTLCache(3, ttl=60)]
MAKERS += [lambda: Cache(3), lambda: RRCache(3), lambda: TLRUCache(3, ttu=lambda key, value, now: now + 60), lambda: LRUCache(3, getsizeof=lambda value: 1)]
NAMES = ["fifo", "lru", "lfu", "ttl", "plain", "random", "tlru", "sized"]


@pytest.mark.parametrize("make", MAKERS, ids=NAMES)
@pytest.mark.parametrize("size", [-1, -2, -100, -0.5])
def test_negative_sizes_are_refused_and_change_nothing(make, size):
    cache = make()
    cache.update({"a": 1, "b": 2})
    try:
        cache.resize(size)
    except ValueError:
        pass
    except KeyError as error:
        pytest.fail(f"KeyError instead of ValueError: {error}")
    else:
        pytest.fail("a negative size is taken")
    assert cache.maxsize == 3
    assert dict(cache.items()) == {"a": 1, "b": 2}
    cache["c"] = 3
    assert len(cache) == 3


@pytest.mark.parametrize("make", MAKERS, ids=NAMES)
def test_empty_caches_refuse_too(make):
    cache = make()
    with pytest.raises(ValueError):
        cache.resize(-1)
    assert cache.maxsize == 3


@pytest.mark.parametrize("make", MAKERS, ids=NAMES)
def test_zero_and_more_are_taken(make):
    cache = make()
    cache.update({"a": 1, "b": 2})
    cache.resize(1)
    assert (cache.maxsize, len(cache)) == (1, 1)
    cache.resize(0)
    assert (cache.maxsize, len(cache)) == (0, 0)
