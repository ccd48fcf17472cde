import datetime
import os
import time

import pytest

from logparse import parse_json_line

UTC = datetime.timezone.utc


@pytest.fixture(params=["UTC0", "AAA+05", "BBB-09:30", "CCC-01CDD,M3.1.0,M10.5.0"], autouse=True)
def local_zone(request):
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.mark.parametrize("seconds", ["1709294400", "1709294400.0"])
def test_seconds_since_the_epoch_are_utc(seconds):
    record = parse_json_line('{"ts": %s, "level": "info", "msg": "hello"}' % seconds)
    assert record.time.utcoffset() == datetime.timedelta(0)
    assert record.time == datetime.datetime(2024, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("key", ["ts", "time"])
@pytest.mark.parametrize(("seconds", "moment"), [("0", (1970, 1, 1)), ("0.0", (1970, 1, 1)), ("1719835200", (2024, 7, 1, 12)), ("1.5e9", (2017, 7, 14, 2, 40)), ("86400", (1970, 1, 2))])
def test_under_either_name_and_in_any_season(key, seconds, moment):
    record = parse_json_line('{"%s": %s, "level": "info", "msg": "hello"}' % (key, seconds))
    assert record.time.utcoffset() == datetime.timedelta(0)
    assert record.time == datetime.datetime(*moment, tzinfo=UTC)


def test_other_times_are_as_they_were():
    line = '{"time": "2024-03-01T13:00:00+0100", "level": "warning", "message": "slow"}'
    assert parse_json_line(line).time.isoformat() == "2024-03-01T12:00:00+00:00"


def test_fractions_are_kept():
    record = parse_json_line('{"ts": 1709294400.25, "level": "info", "msg": "hello"}')
    assert record.time.utcoffset() == datetime.timedelta(0)
    assert record.time == datetime.datetime(2024, 3, 1, 12, microsecond=250_000, tzinfo=UTC)
