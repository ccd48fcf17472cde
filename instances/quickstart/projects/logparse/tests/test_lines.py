import datetime

import pytest

from logparse import AccessRecord, AppRecord, ParseError, parse_access_line, parse_app_line

COMBINED = (
    '203.0.113.7 - ada [01/Mar/2024:13:00:00 +0100] "GET /cart?id=1 HTTP/1.1" 200 512 '
    '"https://shop.example/" "curl/8.5"'
)


def test_combined():
    assert parse_access_line(COMBINED) == AccessRecord(
        host="203.0.113.7",
        user="ada",
        time=datetime.datetime(2024, 3, 1, 12, tzinfo=datetime.timezone.utc),
        method="GET",
        path="/cart?id=1",
        status=200,
        size=512,
        referrer="https://shop.example/",
        agent="curl/8.5",
    )


def test_common_with_dashes():
    record = parse_access_line('::1 - - [01/Mar/2024:12:00:00 +0000] "HEAD / HTTP/1.0" 304 -')
    assert (record.user, record.size, record.referrer, record.agent) == (None, None, None, None)


def test_app():
    assert parse_app_line("2024-03-01T12:00:00Z WARNING shop.cart: slow query ms=740") == AppRecord(
        time=datetime.datetime(2024, 3, 1, 12, tzinfo=datetime.timezone.utc),
        level="WARNING",
        logger="shop.cart",
        message="slow query ms=740",
        fields={"ms": "740"},
    )


@pytest.mark.parametrize(
    ("parse", "line"),
    [
        (parse_access_line, "hello"),
        (parse_access_line, '::1 - - [99/Mar/2024:12:00:00 +0000] "GET / HTTP/1.0" 200 1'),
        (parse_app_line, "2024-03-01 INFO a: b"),
        (parse_app_line, "2024-03-01T12:00:00Z LOUD a: b"),
        (parse_app_line, "2024-13-01T12:00:00Z INFO a: b"),
    ],
)
def test_other_lines(parse, line):
    with pytest.raises(ParseError):
        parse(line)
