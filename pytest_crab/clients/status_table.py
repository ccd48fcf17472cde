"""The table of statuses: how each client, service and model succeeds and fails, by the facts of its run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_crab.clients.idle_answers import IDLE
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

    ``signs`` are patterns for the run's facts, searched for without regard to case; all of them must be found, and the
    first row of a client that is found decides. ``role`` is reviewer or agent where the same facts mean two things.
    """

    client: str
    name: str
    what: str
    signs: Mapping[str, str] = field(default_factory=dict)
    status: Status
    role: str = ""

    def is_seen(self, facts: Mapping[str, Any], role: str) -> bool:
        """Return whether these are the facts that the row is about."""
        if self.role not in ("", role):
            return False
        return all(re.search(sign, str(facts.get(name, "")), re.IGNORECASE) for name, sign in self.signs.items())


#: Name, what it is, signs, status, and the role if it is for one only.
_Rows = tuple[tuple[Any, ...], ...]

#: What holds for every client, looked at first: the harness itself has seen it.
_ENDED: _Rows = (
    ("deadline", "it did not end within its time", {"ending": "^timeout$"}, Status.TIMEOUT),
    ("memory", "it ran out of memory", {"ending": "^memory$"}, Status.LIMIT),
    ("output", "it printed more than is read", {"ending": "^output$"}, Status.LIMIT),
    ("disk", "it wrote more to the disk than it may", {"ending": "^disk$"}, Status.LIMIT),
    ("killed", "it was killed from outside", {"ending": "^killed$"}, Status.CLIENT_ERROR),
)

#: What providers say, wherever a client repeats it.
_RATE = r"\b429\b|rate.?limit|too many requests"
_BUSY = r"\b5(00|02|03|04|29)\b|overload|at capacity|high demand|internal server error|service unavailable"
_KEY = r"\b401\b|\b403\b|unauthori[sz]ed|not logged in|authentication|invalid.{0,9}api.key|missing environment variable"
_LATE = r"timed? ?out|idle timeout"
_LONG = r"output token maximum|max_tokens|max_output_tokens"
_CUT = (
    r"malformed response|failed to parse json|not valid json|unexpected end of|stream disconnected|stream closed"
    r"|connection (closed|reset)"
)
#: How the parsers of Python's clients put it.
_NO_JSON = r"invalid response from|json|expecting value|expecting property name|no attribute"

_CLAUDE: _Rows = (
    ("refusal", "the model refuses", {"stop_reason": "^refusal$"}, Status.REFUSED),
    ("turns", "it reached max_turns", {"subtype": "^error_max_turns$"}, Status.LIMIT),
    ("budget", "it reached max_usd", {"subtype": "^error_max_budget_usd$"}, Status.LIMIT),
    ("max-tokens", "the answer was cut at the most tokens", {"error": "yes", "text": _LONG}, Status.LIMIT),
    ("401", "the provider or the gateway refused the key", {"error": "yes", "code": "^40[13]$"}, Status.AUTH),
    ("429", "the provider's rate limit", {"error": "yes", "code": "^429$"}, Status.RATE_LIMITED),
    ("400", "the provider refused the request", {"error": "yes", "code": "^4"}, Status.CLIENT_ERROR),
    ("500", "the provider broke", {"error": "yes", "code": "^5"}, Status.OVERLOADED),
    ("no-key", "it was given no key", {"error": "yes", "text": "not logged in|/login"}, Status.AUTH),
    ("429-text", "the provider's rate limit, in words", {"error": "yes", "text": _RATE}, Status.RATE_LIMITED),
    ("529", "the provider is overloaded, in words", {"error": "yes", "text": _BUSY}, Status.OVERLOADED),
    ("hang", "no answer came in time", {"error": "yes", "text": _LATE}, Status.TIMEOUT),
    ("garbage", "the answer was no JSON, or cut", {"error": "yes", "text": _CUT}, Status.BAD_OUTPUT),
    ("error", "any other error that it tells", {"error": "yes"}, Status.CLIENT_ERROR),
    ("no-result", "it ended without a result", {"error": "^$"}, Status.CLIENT_ERROR),
    ("denied", "a tool was denied to it", {"denials": "[1-9]"}, Status.DENIED),
    (
        "prose",
        "it answered in words where findings were asked for",
        {"structured": "no"},
        Status.BAD_OUTPUT,
        "reviewer",
    ),
    ("review", "findings, or none", {"error": "no", "structured": "yes"}, Status.OK, "reviewer"),
    ("idle", IDLE, {"error": "no", "idle": "yes"}, Status.BAD_OUTPUT, "agent"),
    ("edit", "it says that it is done", {"error": "no"}, Status.OK, "agent"),
)

_CODEX: _Rows = (
    ("401", "the provider or the gateway refused the key", {"failed": _KEY}, Status.AUTH),
    ("429", "the provider's rate limit", {"failed": _RATE}, Status.RATE_LIMITED),
    ("529", "the provider is overloaded, or broke", {"failed": _BUSY}, Status.OVERLOADED),
    ("hang", "the answer stopped coming", {"failed": _LATE}, Status.TIMEOUT),
    ("garbage", "the answer was no event stream, or cut", {"failed": _CUT}, Status.BAD_OUTPUT),
    ("max-tokens", "the answer was cut at the most tokens", {"failed": _LONG}, Status.LIMIT),
    ("400", "the provider refused the request, or any other error that it tells", {"failed": "."}, Status.CLIENT_ERROR),
    ("no-turn", "it ended without a finished turn", {"completed": "no"}, Status.CLIENT_ERROR),
    ("unread", "the records of its session cannot be read", {"records": "^no$"}, Status.CLIENT_ERROR, "reviewer"),
    (
        "refusal",
        "the model refuses: the turn ends without a word or a change",
        {"message": "^no$", "review": "no"},
        Status.REFUSED,
    ),
    ("prose", "it answered in words where findings were asked for", {"review": "prose"}, Status.BAD_OUTPUT, "reviewer"),
    ("no-review", "the model refuses: the review has no output", {"review": "no"}, Status.REFUSED, "reviewer"),
    ("review", "findings, or none", {"review": "yes"}, Status.OK, "reviewer"),
    ("idle", IDLE, {"idle": "yes"}, Status.BAD_OUTPUT, "agent"),
    ("edit", "it says that it is done", {"message": "yes|empty"}, Status.OK, "agent"),
)

_PR_AGENT: _Rows = (
    ("review", "its JSON file was written", {"json": "yes"}, Status.OK),
    ("refusal", "the model refuses", {"log": "content_filter|refus"}, Status.REFUSED),
    ("unreadable", "its JSON file is not what it writes", {"json": "bad"}, Status.BAD_OUTPUT),
    ("401", "the provider or the gateway refused the key", {"log": _KEY}, Status.AUTH),
    ("429", "the provider's rate limit", {"log": _RATE}, Status.RATE_LIMITED),
    ("529", "the provider is overloaded, or broke", {"log": _BUSY}, Status.OVERLOADED),
    ("hang", "no answer came in time", {"log": _LATE}, Status.TIMEOUT),
    (
        "prose",
        "the answer was refused, empty or no YAML",
        {"log": r"non-empty|parse|yaml|no review"},
        Status.BAD_OUTPUT,
    ),
    ("no-file", "there is no JSON file, whatever the exit code", {"json": "no"}, Status.CLIENT_ERROR),
)

_MINI: _Rows = (
    ("edit", "it submitted", {"exit_status": "^Submitted$"}, Status.OK),
    ("limits", "it reached its steps or its cost", {"exit_status": "LimitsExceeded|TimeExceeded"}, Status.LIMIT),
    (
        "prose",
        "refusals, words or bad arguments instead of commands",
        {"exit_status": "FormatError"},
        Status.BAD_OUTPUT,
    ),
    ("429", "the provider's rate limit", {"exit_status": "RateLimit"}, Status.RATE_LIMITED),
    (
        "401",
        "the provider or the gateway refused the key",
        {"exit_status": "Authentication|PermissionDenied"},
        Status.AUTH,
    ),
    ("hang", "no answer came in time", {"exit_status": "Timeout"}, Status.TIMEOUT),
    (
        "garbage",
        "the answer was no JSON",
        {"exit_status": "InternalServerError|APIConnection|APIError|JSONDecode", "words": _NO_JSON},
        Status.BAD_OUTPUT,
    ),
    (
        "529",
        "the provider is overloaded, or broke",
        {"exit_status": "^APIError|InternalServerError|ServiceUnavailable|Overloaded"},
        Status.OVERLOADED,
    ),
    ("other", "any other end, or none", {}, Status.CLIENT_ERROR),
)


#: Any service on the network, by the HTTP status of its answer and the text in it.
_HTTP: _Rows = (
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

_DEVIN: _Rows = (
    ("deadline", "no completed review within its time", {"ending": "^timeout$"}, Status.TIMEOUT),
    ("no-key", "the variable that should hold its key is not set", {"state": "^no key$"}, Status.AUTH),
    *_HTTP,
    ("hang", "an answer did not come in time", {"state": "^hang$"}, Status.TIMEOUT),
    ("cut", "a connection could not be made, or broke", {"state": "^cut$"}, Status.CLIENT_ERROR),
    ("garbage", "an answer is not what its documentation says", {"state": "^garbage$"}, Status.BAD_OUTPUT),
    ("not-public", "the instance is no public pull request", {"state": "^not public$"}, Status.CLIENT_ERROR),
    ("moved", "the pull request's latest commit is another one", {"state": "^moved$"}, Status.CLIENT_ERROR),
    ("errored", "the service says that its review errored", {"state": "^errored$"}, Status.CLIENT_ERROR),
    ("review", "completed; the bot's comments are its findings", {"state": "^completed$"}, Status.OK, "reviewer"),
)


def _rows(client: str, rows: _Rows, ended: _Rows = _ENDED) -> tuple[StatusRow, ...]:
    return tuple(
        StatusRow(client=client, name=name, what=what, signs=signs, status=status, role="".join(role))
        for name, what, signs, status, *role in (*ended, *rows)
    )


#: Every row, by client, in the order in which they are looked at.
TABLE: Mapping[str, tuple[StatusRow, ...]] = {
    "claude-code": _rows("claude-code", _CLAUDE),
    "codex": _rows("codex", _CODEX),
    "pr-agent": _rows("pr-agent", _PR_AGENT),
    "mini": _rows("mini", _MINI),
    "devin": _rows("devin", _DEVIN, ended=()),
}


def read_status(client: str, role: str, facts: Mapping[str, Any]) -> StatusRow:
    """The row that these facts are about; what no row knows is an error of the client."""
    unknown = StatusRow(
        client=client, name="unknown", what="it ended in a way that is not known", status=Status.CLIENT_ERROR
    )
    return next((row for row in TABLE[client] if row.is_seen(facts, role)), unknown)


_HTTP_ROWS = _rows("http", _HTTP, ended=())

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
