"""The module has shortcuts for pausing and resuming jobs of the default scheduler."""

import pytest

import schedule


@pytest.fixture(autouse=True)
def jobs():
    schedule.clear()
    yield [schedule.every().hour.do(print).tag("a"), schedule.every().hour.do(print).tag("a", "b")]
    schedule.clear()


def call(name, *args, **kwargs):
    function = getattr(schedule, name, None)
    if function is None:
        pytest.fail(f"schedule.{name} does not exist")
    return function(*args, **kwargs)


def test_by_tag(jobs):
    call("pause", "b")
    assert [job.paused for job in jobs] == [False, True]
    call("pause", tag="a")
    assert [job.paused for job in jobs] == [True, True]
    call("resume", tag="b")
    assert [job.paused for job in jobs] == [True, False]


def test_all(jobs):
    call("pause")
    assert [job.paused for job in jobs] == [True, True]
    call("resume")
    assert [job.paused for job in jobs] == [False, False]


def test_other_schedulers_are_left_alone(jobs):
    other = schedule.Scheduler()
    job = other.every().hour.do(print).tag("a")
    call("pause")
    assert not job.paused
    job.pause()
    call("resume", "a")
    assert job.paused


def test_methods_are_still_there(jobs):
    schedule.default_scheduler.pause("b")
    assert [job.paused for job in jobs] == [False, True]
    schedule.default_scheduler.resume()
    assert [job.paused for job in jobs] == [False, False]
