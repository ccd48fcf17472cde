"""What a line of a log becomes."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field


class ParseError(ValueError):
    """A line that cannot be read; ``line`` is the line itself."""

    def __init__(self, line: str, reason: str) -> None:
        super().__init__(f"{reason}: {line[:80]!r}")
        self.line = line
        self.reason = reason


@dataclass(frozen=True)
class AccessRecord:
    """One request, as a web server saw it. ``size`` is None where the server wrote a dash."""

    host: str
    user: str | None
    time: datetime.datetime
    method: str
    path: str
    status: int
    size: int | None
    referrer: str | None = None
    agent: str | None = None


@dataclass(frozen=True)
class AppRecord:
    """One message of an application."""

    time: datetime.datetime
    level: str
    logger: str
    message: str
    fields: dict[str, str] = field(default_factory=dict)
