"""Paused jobs have no part in next_run and idle_seconds."""

import datetime

import pytest

import schedule


@pytest.fixture
def scheduler():
    return schedule.Scheduler()


def in_minutes(minutes):
    return datetime.datetime.now() + datetime.timedelta(minutes=minutes)


def test_an_overdue_paused_job_is_not_next(scheduler):
    paused = scheduler.every().hour.do(print).tag("t")
    other = scheduler.every().hour.do(print).tag("t")
    paused.pause()
    paused.next_run, other.next_run = in_minutes(-30), in_minutes(20)
    assert scheduler.next_run == other.next_run
    assert scheduler.get_next_run("t") == other.next_run
    assert scheduler.idle_seconds > 1000


def test_neither_is_one_that_will_be_due(scheduler):
    paused = scheduler.every().hour.do(print)
    other = scheduler.every().hour.do(print)
    paused.pause()
    paused.next_run, other.next_run = in_minutes(5), in_minutes(20)
    assert scheduler.next_run == other.next_run
    assert scheduler.idle_seconds > 1000


def test_nothing_but_paused_jobs_is_nothing(scheduler):
    job = scheduler.every().hour.do(print).tag("t")
    scheduler.every().hour.do(print)
    scheduler.pause()
    job.next_run = in_minutes(-30)
    assert scheduler.next_run is None
    assert scheduler.get_next_run("t") is None
    assert scheduler.idle_seconds is None


def test_a_tag_of_paused_jobs_only(scheduler):
    scheduler.every().hour.do(print).tag("t").pause()
    free = scheduler.every().hour.do(print)
    assert scheduler.get_next_run("t") is None
    assert scheduler.next_run == free.next_run


def test_other_jobs_count_as_before(scheduler):
    first, second = scheduler.every().hour.do(print), scheduler.every().day.do(print).tag("t")
    assert scheduler.next_run == first.next_run
    assert scheduler.get_next_run("t") == second.next_run
    assert 3000 < scheduler.idle_seconds <= 3600
    assert scheduler.get_next_run("other") is None
    assert len(scheduler.get_jobs()) == 2
    first.pause()
    assert len(scheduler.get_jobs()) == 2


def test_they_count_again_once_they_are_resumed(scheduler):
    job = scheduler.every().hour.do(print).tag("t")
    other = scheduler.every().day.do(print)
    job.pause()
    assert scheduler.next_run == other.next_run
    job.resume()
    assert scheduler.next_run == scheduler.get_next_run("t") == job.next_run
    assert scheduler.idle_seconds <= 3600


def test_the_functions_of_the_module_too():
    schedule.clear()
    try:
        job = schedule.every().hour.do(print)
        job.pause()
        job.next_run = in_minutes(-30)
        assert (schedule.next_run(), schedule.idle_seconds()) == (None, None)
        other = schedule.every().hour.do(print)
        assert schedule.next_run() == other.next_run
        assert schedule.idle_seconds() > 3000
    finally:
        schedule.clear()


def test_an_empty_scheduler_has_no_next_run(scheduler):
    assert (scheduler.next_run, scheduler.idle_seconds, scheduler.get_next_run("t")) == (None, None, None)


def test_of_several_the_first_that_is_not_paused(scheduler):
    jobs = [scheduler.every().hour.do(print).tag("t") for _ in range(4)]
    for job, minutes in zip(jobs, (40, 10, 30, 20)):
        job.next_run = in_minutes(minutes)
    jobs[1].pause()
    assert scheduler.next_run == scheduler.get_next_run("t") == jobs[3].next_run
    jobs[3].pause()
    assert scheduler.next_run == scheduler.get_next_run("t") == jobs[2].next_run
