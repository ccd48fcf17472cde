"""Codex, as its makers ship it, and how its runs end."""

from __future__ import annotations

from pytest_crab.clients.client_kind import ClientKind
from pytest_crab.clients.idle_answers import IDLE
from pytest_crab.clients.status_table import BUSY, CUT, KEY, LATE, LONG, RATE, Rows, Status

_ENDINGS: Rows = (
    ("401", "the provider or the gateway refused the key", {"failed": KEY}, Status.AUTH),
    ("429", "the provider's rate limit", {"failed": RATE}, Status.RATE_LIMITED),
    ("529", "the provider is overloaded, or broke", {"failed": BUSY}, Status.OVERLOADED),
    ("hang", "the answer stopped coming", {"failed": LATE}, Status.TIMEOUT),
    ("garbage", "the answer was no event stream, or cut", {"failed": CUT}, Status.BAD_OUTPUT),
    ("max-tokens", "the answer was cut at the most tokens", {"failed": LONG}, Status.LIMIT),
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

KIND = ClientKind(
    name="codex",
    program="codex",
    packages=("@openai/codex@0.169.0",),
    native=("@openai/codex-linux-*/vendor/*/bin/codex", "@openai/codex/vendor/*/codex/codex"),
    tree=2,
    endings=_ENDINGS,
)
