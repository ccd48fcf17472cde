import datetime
import weakref

import pytest

from logparse import AppRecord, between

UTC = datetime.timezone.utc
START = datetime.datetime(2024, 3, 1, tzinfo=UTC)


class Record(AppRecord):
    """One that can be watched, whatever its class has instead of a dictionary."""


def record(second):
    return Record(START + datetime.timedelta(seconds=second), "INFO", "shop", str(second))


def seconds(records):
    return [int(record.message) for record in records]


def bound(second):
    return START + datetime.timedelta(seconds=second)


@pytest.mark.parametrize(("since", "until"), [(None, None), (50, None), (50, 100_000)])
def test_no_more_is_read_than_is_needed(since, until):
    read = 0

    def endless():
        nonlocal read
        while read < 5000:
            yield record(read)
            read += 1

    found = iter(between(endless(), since and bound(since), until and bound(until)))
    first = next(found)
    assert int(first.message) == (since or 0)
    assert read <= (since or 0) + 200
    next(found)
    assert read <= (since or 0) + 400


@pytest.mark.parametrize("kind", [list, iter])
def test_stragglers_are_kept(kind):
    mixed = [3, 9, 5, 12, 8, 1, 10, 7, 99, 4]
    found = seconds(between(kind([record(second) for second in mixed]), bound(4), bound(10)))
    assert sorted(found) == [4, 5, 7, 8, 9]


def test_no_bounds():
    assert sorted(seconds(between(map(record, [2, 1, 3])))) == [1, 2, 3]
    assert seconds(between([])) == []


@pytest.mark.parametrize(("since", "until"), [(None, None), (50, 4000)])
def test_what_was_handed_on_is_let_go(since, until):
    gone, made, most = [], [], 0

    def source():
        for second in range(5000):
            made.append(weakref.ref(one := record(second), gone.append))
            yield one
            del one

    for _ in between(source(), since and bound(since), until and bound(until)):
        most = max(most, len(made) - len(gone))
    assert most <= 400


@pytest.mark.parametrize("late", [1, 50, 3000])
def test_none_is_lost_behind_many_that_are_too_late(late):
    many = [record(4), *[record(99)] * late, record(5), *[record(1)] * late, record(6)]
    assert sorted(seconds(between(iter(many), bound(4), bound(10)))) == [4, 5, 6]
    assert sorted(seconds(between(iter(many), None, bound(10)))) == [*[1] * late, 4, 5, 6]


def test_each_bound_alone():
    some = [record(second) for second in (3, 4, 9, 10)]
    assert sorted(seconds(between(some, bound(4)))) == [4, 9, 10]
    assert sorted(seconds(between(some, until=bound(10)))) == [3, 4, 9]
