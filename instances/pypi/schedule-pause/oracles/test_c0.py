"""A job that is resumed waits for its next turn if it was due during the pause."""

import datetime

import pytest

import schedule


class Clock(datetime.datetime):
    """The time of day as the tests say, for all that asks ``datetime.datetime``."""

    at = None

    @classmethod
    def now(cls, tz=None):
        return cls.at if tz is None else cls.at.astimezone(tz)

    @classmethod
    def today(cls):
        return cls.at


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    monkeypatch.setattr(datetime, "datetime", Clock)
    monkeypatch.setattr(Clock, "at", Clock(2024, 3, 6, 12, 0, 0, 500_000))


@pytest.fixture
def scheduler():
    return schedule.Scheduler()


def now():
    return Clock.at


def later(**time):
    Clock.at += datetime.timedelta(**time)


@pytest.mark.parametrize("how", ["job", "scheduler", "tag"])
def test_what_was_due_in_the_pause_is_skipped(scheduler, how):
    runs = []
    job = scheduler.every(10).minutes.do(runs.append, 1).tag("t")
    job.pause()
    later(hours=50, minutes=3)
    {"job": job.resume, "scheduler": scheduler.resume, "tag": lambda: scheduler.resume("t")}[how]()
    scheduler.run_pending()
    assert runs == []
    assert now() < job.next_run <= now() + datetime.timedelta(minutes=10)


def test_a_time_of_day_is_kept(scheduler):
    job = scheduler.every().day.at("10:30").do(print)
    job.pause()
    later(days=3)
    job.resume()
    assert now() < job.next_run <= now() + datetime.timedelta(days=1, hours=2)
    assert (job.next_run.hour, job.next_run.minute) == (10, 30)


def test_a_job_that_is_not_due_yet_keeps_its_time(scheduler):
    job = scheduler.every().hour.do(print)
    expected = job.next_run
    later(minutes=20)
    job.pause()
    later(minutes=20)
    job.resume()
    assert job.next_run == expected


def test_it_runs_again_when_it_is_due(scheduler):
    runs = []
    job = scheduler.every(10).minutes.do(runs.append, 1)
    job.pause()
    later(hours=50, minutes=3)
    scheduler.run_pending()
    job.resume()
    assert runs == []
    later(minutes=11)
    scheduler.run_pending()
    assert runs == [1]


@pytest.mark.parametrize("make", [lambda s: s.every().monday.at("10:30"), lambda s: s.every(2).weeks, lambda s: s.every(3).hours, lambda s: s.every().second, lambda s: s.every(5).to(10).minutes])
def test_any_kind_of_job(scheduler, make):
    runs = []
    job = make(scheduler).do(runs.append, 1)
    weekday, time = job.next_run.weekday(), job.next_run.time()
    job.pause()
    later(days=71, minutes=7, seconds=1, milliseconds=200)
    job.resume()
    assert now() <= job.next_run <= now() + datetime.timedelta(days=14, hours=2)
    if job.start_day is not None:
        assert (job.next_run.weekday(), job.next_run.time()) == (weekday, time)
    scheduler.run_pending()
    assert runs == []
    assert job.last_run is None
    assert not job.paused


def test_resuming_twice_changes_nothing_more(scheduler):
    job = scheduler.every(10).minutes.do(print)
    job.pause().pause()
    later(hours=5, minutes=3)
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
    later(hours=50, minutes=3)
    due = running.next_run
    scheduler.resume(tag)
    assert running.next_run == due
    assert running.resume().next_run == due
    scheduler.run_pending()
    assert runs == ["running"]
