"""The statuses of clients, services and models, and the rows that tell them by the facts of a run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_crab.errors import MalformedAnswer, ModelError, ModelRefused, ModelUnavailable
from pytest_crab.types import StrEnum


class Status(StrEnum):
    """The outcome of one run of a client; all but ok leave the oracles unknown."""

    OK = "ok"
    REFUSED = "refused"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    AUTH = "auth"
    BAD_OUTPUT = "bad_output"
    DENIED = "denied"
    LIMIT = "limit"
    TIMEOUT = "timeout"
    CLIENT_ERROR = "client_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRow:
    """One way that a run of a client ends.

    The first row of a client whose signs are found decides.
    """

    client: str
    name: str
    what: str
    #: Patterns for the run's facts, searched for without regard to case; all of them must be found.
    signs: Mapping[str, str] = field(default_factory=dict)
    status: Status
    #: Reviewer or agent, where the same facts mean two things.
    role: str = ""

    def is_seen(self, facts: Mapping[str, Any], role: str) -> bool:
        """Return whether these are the facts that the row is about."""
        if self.role not in ("", role):
            return False
        return all(re.search(sign, str(facts.get(name, "")), re.IGNORECASE) for name, sign in self.signs.items())


#: Name, what it is, signs, status, and the role if it is for one only.
Rows = tuple[tuple[Any, ...], ...]

#: What holds for every client, looked at first: the harness itself has seen it.
ENDED: Rows = (
    ("deadline", "it did not end within its time", {"ending": "^timeout$"}, Status.TIMEOUT),
    ("memory", "it ran out of memory", {"ending": "^memory$"}, Status.LIMIT),
    ("output", "it printed more than is read", {"ending": "^output$"}, Status.LIMIT),
    ("disk", "it wrote more to the disk than it may", {"ending": "^disk$"}, Status.LIMIT),
    ("killed", "it was killed from outside", {"ending": "^killed$"}, Status.CLIENT_ERROR),
)

#: What providers say, wherever a client repeats it.
RATE = r"\b429\b|rate.?limit|too many requests"
BUSY = r"\b5(00|02|03|04|29)\b|overload|at capacity|high demand|internal server error|service unavailable"
KEY = r"\b401\b|\b403\b|unauthori[sz]ed|not logged in|authentication|invalid.{0,9}api.key|missing environment variable"
LATE = r"timed? ?out|idle timeout"
LONG = r"output token maximum|max_tokens|max_output_tokens"
CUT = (
    r"malformed response|failed to parse json|not valid json|unexpected end of|stream disconnected|stream closed"
    r"|connection (closed|reset)"
)
#: How the parsers of Python's clients put it.
NO_JSON = r"invalid response from|json|expecting value|expecting property name|no attribute"

#: Any service on the network, by the HTTP status of its answer and the text in it.
HTTP: Rows = (
    ("429", "the rate limit of the service or of the forge", {"code": "^429$"}, Status.RATE_LIMITED),
    (
        "403-rate",
        "the forge's rate limit, reported as 403",
        {"code": "^403$", "text": "rate limit"},
        Status.RATE_LIMITED,
    ),
    ("401", "the service or the forge refused a key", {"code": "^40[13]$"}, Status.AUTH),
    ("500", "the service or the forge broke", {"code": "^5"}, Status.OVERLOADED),
    ("400", "a request was refused for any other reason", {"code": "^[34]"}, Status.CLIENT_ERROR),
)


def status_rows(client: str, rows: Rows, ended: Rows = ENDED) -> tuple[StatusRow, ...]:
    """Return the rows of a client in the order in which they are looked at: first what the harness itself has seen."""
    return tuple(
        StatusRow(client=client, name=name, what=what, signs=signs, status=status, role="".join(role))
        for name, what, signs, status, *role in (*ended, *rows)
    )


def read_status(rows: Sequence[StatusRow], client: str, role: str, facts: Mapping[str, Any]) -> StatusRow:
    """Return the row of a client that these facts are about; what no row knows is an error of the client."""
    unknown = StatusRow(
        client=client, name="unknown", what="it ended in a way that is not known", status=Status.CLIENT_ERROR
    )
    return next((row for row in rows if row.is_seen(facts, role)), unknown)


_HTTP_ROWS = status_rows("http", HTTP, ended=())

#: The kind of a ModelError by its status; every other one is unavailable.
_ERRORS = {
    Status.REFUSED: ModelRefused,
    Status.BAD_OUTPUT: MalformedAnswer,
    Status.LIMIT: MalformedAnswer,
}


def http_status(code: int, text: str = "") -> Status:
    """Return the status of an HTTP answer that is no success."""
    facts = {"code": code, "text": text}
    return next((row.status for row in _HTTP_ROWS if row.is_seen(facts, "")), Status.CLIENT_ERROR)


def model_error(status: Status, sentence: str) -> ModelError:
    """Return the error of a model that gave no usable answer."""
    return _ERRORS.get(status, ModelUnavailable)(sentence, str(status))
