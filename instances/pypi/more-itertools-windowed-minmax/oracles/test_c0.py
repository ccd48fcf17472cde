"""Windows come out as their items are read, and items that are passed are not kept."""

import weakref
from itertools import islice

import pytest

import more_itertools as mi


class Source:
    """Numbers without end, up to a limit at which the reader has gone too far."""

    def __init__(self, limit):
        self.read, self.limit = 0, limit

    def __iter__(self):
        return self

    def __next__(self):
        if self.read >= self.limit:
            pytest.fail(f"{self.limit} items were read")
        self.read += 1
        return self.read


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_the_first_window_takes_no_more_items_than_it_has(n):
    source = Source(1000)
    windows = iter(mi.windowed_minmax(source, n))
    assert next(windows) == (1, n)
    assert source.read == n
    assert next(windows) == (2, n + 1)
    assert source.read == n + 1


def test_an_endless_iterable():
    found = list(islice(mi.windowed_minmax(Source(1000), 3), 4))
    assert found == [(1, 3), (2, 4), (3, 5), (4, 6)]


class Item:
    def __init__(self, value):
        self.value = value


def test_items_are_let_go_of():
    alive = weakref.WeakSet()
    most = 0

    def items():
        for value in range(1000):
            item = Item(value)
            alive.add(item)
            yield item

    for _ in mi.windowed_minmax(items(), 4, key=lambda item: item.value):
        most = max(most, len(alive))
    assert 0 < most <= 200


def test_results_are_as_before():
    assert list(mi.windowed_minmax([3, 1, 4, 1, 5], 3)) == [(1, 4), (1, 4), (1, 5)]
    assert list(mi.windowed_minmax([-3, 2, 1], 2, key=abs)) == [(2, -3), (1, 2)]
    assert list(mi.windowed_minmax([1, 2], 3)) == []
    assert list(mi.windowed_minmax([1, 2], 2)) == [(1, 2)]
    assert list(mi.windowed_minmax([], 1)) == []
