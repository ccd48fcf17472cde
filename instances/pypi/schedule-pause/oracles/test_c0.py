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


@pytest.mark.parametrize("make", [lambda s: s.every().monday.at("10:30"), lambda s: s.every(2).weeks, lambda s: s.every(3).hours, lambda s: s.every().second, lambda s: s.every(5).to(10).minutes])
def test_any_kind_of_job(scheduler, make):
    runs = []
    job = make(scheduler).do(runs.append, 1)
    weekday, time = job.next_run.weekday(), job.next_run.time()
    job.pause()
    overdue(job, days=70, seconds=1) if job.start_day is None else setattr(job, "next_run", job.next_run - datetime.timedelta(days=70))
    job.resume()
    assert now() <= job.next_run + datetime.timedelta(seconds=1)
    assert job.next_run <= now() + datetime.timedelta(days=14, hours=2)
    if job.start_day is not None:
        assert (job.next_run.weekday(), job.next_run.time()) == (weekday, time)
    if job.unit != "seconds":
        scheduler.run_pending()
        assert runs == []
    assert job.last_run is None
    assert not job.paused


def test_resuming_twice_changes_nothing_more(scheduler):
    job = scheduler.every(10).minutes.do(print)
    job.pause().pause()
    overdue(job, hours=5)
    assert job.resume() is job
    first = job.next_run
    job.resume()
    assert job.next_run == first
    assert scheduler.get_jobs() == [job]


@pytest.mark.parametrize("tag", [None, "t"])
def test_a_job_that_was_not_paused_is_not_skipped(scheduler, tag):
    runs = []
    paused, running = (scheduler.every(10).minutes.do(runs.append, name).tag("t") for name in ("paused", "running"))
    paused.pause()
    overdue(paused, hours=50)
    due = overdue(running, minutes=3).next_run
    scheduler.resume(tag)
    assert running.next_run == due
    assert running.resume().next_run == due
    scheduler.run_pending()
    assert runs == ["running"]
