import datetime
import os
import time

import pytest

from logparse import parse_json_line

UTC = datetime.timezone.utc


@pytest.fixture(params=["UTC0", "AAA+05", "BBB-09:30"], autouse=True)
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


def test_fractions_are_kept():
    record = parse_json_line('{"ts": 1709294400.25, "msg": "hello"}')
    assert record.time.utcoffset() == datetime.timedelta(0)
    assert record.time == datetime.datetime(2024, 3, 1, 12, microsecond=250_000, tzinfo=UTC)
