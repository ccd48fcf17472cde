"""PR-Agent, as its makers ship it, and how its runs end."""

from __future__ import annotations

from pytest_crab.clients.client_kind import ClientKind
from pytest_crab.clients.status_table import BUSY, KEY, LATE, RATE, Rows, Status

_ENDINGS: Rows = (
    ("review", "its JSON file was written", {"json": "yes"}, Status.OK),
    ("refusal", "the model refuses", {"log": "content_filter|refus"}, Status.REFUSED),
    ("unreadable", "its JSON file is not what it writes", {"json": "bad"}, Status.BAD_OUTPUT),
    ("401", "the provider or the gateway refused the key", {"log": KEY}, Status.AUTH),
    ("429", "the provider's rate limit", {"log": RATE}, Status.RATE_LIMITED),
    ("529", "the provider is overloaded, or broke", {"log": BUSY}, Status.OVERLOADED),
    ("hang", "no answer came in time", {"log": LATE}, Status.TIMEOUT),
    (
        "prose",
        "the answer was refused, empty or no YAML",
        {"log": r"non-empty|parse|yaml|no review"},
        Status.BAD_OUTPUT,
    ),
    ("no-file", "there is no JSON file, whatever the exit code", {"json": "no"}, Status.CLIENT_ERROR),
)

KIND = ClientKind(name="pr-agent", program="pr-agent", packages=("pr-agent==0.49.0",), python="3.12", endings=_ENDINGS)
