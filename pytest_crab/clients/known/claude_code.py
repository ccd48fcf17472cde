"""Claude Code, as its makers ship it, and how its runs end."""

from __future__ import annotations

from pytest_crab.clients.client_kind import ClientKind
from pytest_crab.clients.idle_answers import IDLE
from pytest_crab.clients.status_table import BUSY, CUT, LATE, LONG, RATE, Rows, Status

_ENDINGS: Rows = (
    ("refusal", "the model refuses", {"stop_reason": "^refusal$"}, Status.REFUSED),
    ("turns", "it reached max_turns", {"subtype": "^error_max_turns$"}, Status.LIMIT),
    ("budget", "it reached max_usd", {"subtype": "^error_max_budget_usd$"}, Status.LIMIT),
    ("max-tokens", "the answer was cut at the most tokens", {"error": "yes", "text": LONG}, Status.LIMIT),
    ("401", "the provider or the gateway refused the key", {"error": "yes", "code": "^40[13]$"}, Status.AUTH),
    ("429", "the provider's rate limit", {"error": "yes", "code": "^429$"}, Status.RATE_LIMITED),
    ("400", "the provider refused the request", {"error": "yes", "code": "^4"}, Status.CLIENT_ERROR),
    ("500", "the provider broke", {"error": "yes", "code": "^5"}, Status.OVERLOADED),
    ("no-key", "it was given no key", {"error": "yes", "text": "not logged in|/login"}, Status.AUTH),
    ("429-text", "the provider's rate limit, in words", {"error": "yes", "text": RATE}, Status.RATE_LIMITED),
    ("529", "the provider is overloaded, in words", {"error": "yes", "text": BUSY}, Status.OVERLOADED),
    ("hang", "no answer came in time", {"error": "yes", "text": LATE}, Status.TIMEOUT),
    ("garbage", "the answer was no JSON, or cut", {"error": "yes", "text": CUT}, Status.BAD_OUTPUT),
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

KIND = ClientKind(
    name="claude-code",
    program="claude",
    packages=("@anthropic-ai/claude-code@2.1.197",),
    native=("@anthropic-ai/claude-code-linux-*/claude", "@anthropic-ai/claude-code/bin/claude.exe"),
    endings=_ENDINGS,
)
