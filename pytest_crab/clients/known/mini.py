"""mini-swe-agent, as its makers ship it, and how its runs end."""

from __future__ import annotations

from pytest_crab.clients.client_kind import ClientKind
from pytest_crab.clients.status_table import NO_JSON, Rows, Status

_ENDINGS: Rows = (
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
        {"exit_status": "InternalServerError|APIConnection|APIError|JSONDecode", "words": NO_JSON},
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

KIND = ClientKind(
    name="mini",
    program="mini",
    packages=("mini-swe-agent==2.4.6", "litellm==1.106.2", "mcp==2.3.0"),
    python="3.10",
    endings=_ENDINGS,
)
