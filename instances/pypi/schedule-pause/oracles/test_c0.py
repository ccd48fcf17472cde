"""A job that is resumed waits for its next turn if it was due during the pause."""

import datetime

import pytest

import schedule


@pytest.fixture
def scheduler():
    return schedule.Scheduler()


def now():
    return datetime.datetime.now()


def overdue(job, **ago):
    job.next_run = now() - datetime.timedelta(**ago)
    return job


@pytest.mark.parametrize("how", ["job", "scheduler", "tag"])
def test_what_was_due_in_the_pause_is_skipped(scheduler, how):
    runs = []
    job = scheduler.every(10).minutes.do(runs.append, 1).tag("t")
    job.pause()
    overdue(job, hours=50)
    {"job": job.resume, "scheduler": scheduler.resume, "tag": lambda: scheduler.resume("t")}[how]()
    scheduler.run_pending()
    assert runs == []
    assert now() < job.next_run <= now() + datetime.timedelta(minutes=10)


def test_a_time_of_day_is_kept(scheduler):
    job = scheduler.every().day.at("10:30").do(print)
    job.pause()
    job.next_run -= datetime.timedelta(days=3)
    job.resume()
    assert now() < job.next_run <= now() + datetime.timedelta(days=1, hours=2)
    assert (job.next_run.hour, job.next_run.minute) == (10, 30)


def test_a_job_that_is_not_due_yet_keeps_its_time(scheduler):
    job = scheduler.every().hour.do(print)
    job.next_run = expected = now() + datetime.timedelta(minutes=7)
    job.pause()
    job.resume()
    assert job.next_run == expected


def test_it_runs_again_when_it_is_due(scheduler):
    runs = []
    job = scheduler.every(10).minutes.do(runs.append, 1)
    job.pause()
    overdue(job, hours=50)
    scheduler.run_pending()
    job.resume()
    assert runs == []
    overdue(job, seconds=5)
    scheduler.run_pending()
    assert runs == [1]
