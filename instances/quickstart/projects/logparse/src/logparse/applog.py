"""Application logs: ``2024-03-01T12:00:00Z WARNING shop.cart: message key=value``."""

from __future__ import annotations

import datetime
import re

from logparse.records import AppRecord, ParseError

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

_LINE = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) (?P<level>[A-Z]+) (?P<logger>[\w.]+): (?P<message>.*)")
_FIELD = re.compile(r"(?P<key>[a-z_]+)=(?P<value>\S+)")


def parse_app_line(line: str) -> AppRecord:
    """Parse one line; raise ParseError if it is not an application log line."""
    found = _LINE.fullmatch(line.strip())
    if found is None:
        raise ParseError(line, "not an application log line")
    if found["level"] not in LEVELS:
        raise ParseError(line, "unknown level")
    try:
        time = datetime.datetime.strptime(found["time"], "%Y-%m-%dT%H:%M:%S%z")
    except ValueError as error:
        raise ParseError(line, "bad time") from error
    return AppRecord(
        time=time.astimezone(datetime.timezone.utc),
        level=found["level"],
        logger=found["logger"],
        message=found["message"],
        fields={field["key"]: field["value"] for field in _FIELD.finditer(found["message"])},
    )
