"""The common and combined log formats of web servers."""

from __future__ import annotations

import datetime
import re

from logparse.records import AccessRecord, ParseError

_LINE = re.compile(
    r"(?P<host>\S+) \S+ (?P<user>\S+) \[(?P<time>[^\]]+)\] "
    r'"(?P<method>[A-Z]+) (?P<path>\S+)(?: HTTP/[0-9.]+)?" (?P<status>\d{3}) (?P<size>\d+|-)'
    r'(?: "(?P<referrer>[^"]*)" "(?P<agent>[^"]*)")?'
)


def parse_access_line(line: str) -> AccessRecord:
    """Parse one line; raise ParseError if it is not in the common or combined format."""
    found = _LINE.fullmatch(line.strip())
    if found is None:
        raise ParseError(line, "not an access log line")
    try:
        time = datetime.datetime.strptime(found["time"], "%d/%b/%Y:%H:%M:%S %z")
    except ValueError as error:
        raise ParseError(line, "bad time") from error
    return AccessRecord(
        host=found["host"],
        user=_optional(found["user"]),
        time=time.astimezone(datetime.timezone.utc),
        method=found["method"],
        path=found["path"],
        status=int(found["status"]),
        size=None if found["size"] == "-" else int(found["size"]),
        referrer=_optional(found["referrer"]),
        agent=_optional(found["agent"]),
    )


def _optional(text: str | None) -> str | None:
    return None if text in (None, "", "-") else text
