"""A wrong n is an error of the call, not of the first item."""

import pytest

import more_itertools as mi


@pytest.mark.parametrize("n", [0, -1, -7])
def test_the_call_fails(n):
    with pytest.raises(ValueError):
        mi.windowed_minmax([1, 2, 3], n)


@pytest.mark.parametrize("n", [0, -1])
def test_it_fails_with_a_key_and_without_items_too(n):
    with pytest.raises(ValueError):
        mi.windowed_minmax(iter([]), n, key=abs)


def test_nothing_is_read_by_a_call_that_fails():
    source = iter([1, 2, 3])
    with pytest.raises(ValueError):
        mi.windowed_minmax(source, 0)
    assert list(source) == [1, 2, 3]


def test_the_result_is_still_an_iterator():
    result = mi.windowed_minmax([3, 1, 4, 1, 5], 3)
    assert iter(result) is iter(result)
    assert next(result) == (1, 4)
    assert list(result) == [(1, 4), (1, 5)]
    assert list(mi.windowed_minmax([-3, 2, 1], 2, key=abs)) == [(2, -3), (1, 2)]
    assert list(mi.windowed_minmax([], 1)) == []


def test_the_call_does_not_do_all_the_work():
    source = iter(range(100))
    mi.windowed_minmax(source, 2)
    assert len(list(source)) > 90


@pytest.mark.parametrize("n", [0, -1, -10**9])
def test_whatever_is_given_and_however(n):
    for items in ([], "abc", range(5), iter("ab")):
        with pytest.raises(ValueError):
            mi.windowed_minmax(iterable=items, n=n)
        with pytest.raises(ValueError):
            mi.windowed_minmax(items, n, key=len)


@pytest.mark.parametrize("n", [1, 2, 3, 50])
def test_other_sizes_are_taken(n):
    assert len(list(mi.windowed_minmax(range(5), n))) == max(0, 6 - n)
