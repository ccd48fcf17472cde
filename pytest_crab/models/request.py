"""One request on its way: its content, the reasons to refuse it, and what is known of its answer."""

from __future__ import annotations

import datetime
import json
import re
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_crab import serialization
from pytest_crab.models.api_formats import EMBEDDINGS, ApiFormat
from pytest_crab.models.cassettes import CassetteQuestion
from pytest_crab.models.ledger import Account, LedgerEntry
from pytest_crab.models.prices import Prices, cost_of, estimate
from pytest_crab.models.request_key import TOKEN, key_of, normalise
from pytest_crab.models.usage import BodyMeter, StreamMeter, Tokens, UsageEventFilter
from pytest_crab.settings import Price, Provider

#: Tools that a provider runs itself, by how their types begin, and fields of a request that bring such.
_SERVER_TOOLS = ("web_search", "web_fetch", "code_execution", "code_interpreter", "file_search", "mcp")
_SERVER_FIELDS = ("mcp_servers", "web_search_options", "plugins", "prompt")
#: And models that look things up by themselves, by what their names hold.
_SEARCHING = re.compile(r"search-(?:preview|api)|deep-research|:online\b")

#: The fields of a request that say what is asked, in all protocols.
_QUESTION = ("model", "system", "messages", "instructions", "input", "prompt")

#: The longest name of a model that is put on record.
_MOST_NAME = 200

#: A request that is nested deeper than this is no client's.
MOST_DEPTH = 200


class Refusal(Exception):
    """A request that goes no further; ``lasting``, ``passing`` and ``overspent`` are kept by its account."""

    def __init__(
        self, status: int, message: str, *, lasting: bool = False, passing: bool = False, overspent: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.lasting = lasting
        self.overspent = overspent
        self.passing = passing


@dataclass(kw_only=True)
class ModelRequest:
    """One request on its way, and what is known of its answer; ``ended``: the provider ended its stream, or cut it."""

    account: Account
    provider: str
    known: Provider
    api_format: ApiFormat
    path: str
    query: str
    document: Mapping[str, Any]
    body: bytes
    headers: Mapping[str, str]
    clock: float = field(default_factory=time.monotonic)
    status: int = 0
    tries: int = 0
    replayed: bool = False
    recorded_by: str | None = None
    meter: BodyMeter | StreamMeter | None = None
    booked: LedgerEntry | None = None
    ended: bool = False

    def note_try(self, number: int) -> None:
        """Note how often the provider was asked."""
        self.tries = number

    @property
    def question(self) -> str:
        """A digest of what is asked of whom, without how the answer should come: a client's repetition has the same."""
        return serialization.digest([self.provider, self.path, *(self.document.get(name) for name in _QUESTION)])

    @property
    def counts_only(self) -> bool:
        """True if tokens are counted only, which costs nothing."""
        return self.path.endswith("/count_tokens")

    @property
    def writes(self) -> bool:
        """True if the answer has tokens that a model writes."""
        return self.path != EMBEDDINGS

    @property
    def _adds_usage(self) -> bool:
        """True if the gateway asks for the usage of a chat stream, which would not tell it by itself."""
        options = self.document.get("stream_options")
        asked = isinstance(options, Mapping) and options.get("include_usage")
        return self.path in ("/chat/completions", "/completions") and bool(self.document.get("stream")) and not asked

    def body_to_send(self) -> bytes:
        """Return the body for the provider."""
        if not self._adds_usage:
            return self.body
        options = {**(self.document.get("stream_options") or {}), "include_usage": True}
        return json.dumps({**self.document, "stream_options": options}).encode()

    def filter(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Return of a stream the part that the client asked for."""
        return _without_usage(chunks) if self._adds_usage else chunks

    @property
    def model(self) -> str:
        """The model as it may be put on record: a client may call it anything."""
        return TOKEN.sub("<token>", str(self.document.get("model", "")))[:_MOST_NAME]

    def question_for_cassettes(self) -> CassetteQuestion:
        """Return the request as a cassette knows it, and count it."""
        content = normalise(self.document)
        key = key_of(self.provider, self.path, content)
        return CassetteQuestion(
            key=key,
            provider=self.provider,
            path=self.path,
            content=content,
            label=self.account.label,
            number=self.account.number(key),
        )

    def price(self, prices: Prices, tokens: Tokens | None = None) -> Price | None:
        """Return the price of the request, see Prices.find."""
        return prices.find(self.document, self.known.base_url, tokens, writes=self.writes)

    def entry(self, now: datetime.datetime, prices: Prices) -> LedgerEntry:
        """Return the line of the ledger for the request as it is now."""
        account, meter = self.account, self.meter
        tokens = meter.tokens if meter else None
        seconds = time.monotonic() - self.clock
        complete = meter is not None and meter.complete
        guessed = self.status < 400 and not (complete and tokens) and not self.replayed and not self.counts_only
        price = self.price(prices, tokens)
        estimated = None
        if guessed and (highest := self.price(prices)) is not None:
            seen = meter.seen if meter else 0
            estimated = estimate(self.document, highest, seconds=seconds, tokens=tokens, seen=seen, writes=self.writes)
        return LedgerEntry(
            time=now.isoformat(timespec="milliseconds"),
            trial=account.trial,
            step=account.step,
            attempt=account.attempt,
            provider=self.provider,
            path=self.path,
            model=self.model,
            status=self.status,
            tries=self.tries,
            seconds=seconds,
            complete=complete,
            tokens=tokens,
            cost=cost_of(tokens, price),
            estimate=estimated,
            replayed=self.replayed,
            cut=guessed and not complete and self.ended,
            recorded_by=None if self.recorded_by == account.label else self.recorded_by,
        )


def require_no_lookups(document: Mapping[str, Any]) -> None:
    """Raise Refusal for a request that has the provider look things up."""
    found = _server_tool(document)
    if found is not None:
        sentence = f"{found} looks things up, the fix among them: models.server_tools in crab.yaml would allow it"
        raise Refusal(400, sentence)


def _server_tool(document: Mapping[str, Any]) -> str | None:
    """Return in one word what has the provider look things up; None if nothing does."""
    for field_name in _SERVER_FIELDS:
        given = document.get(field_name)
        if given and not (field_name == "prompt" and isinstance(given, str)):  # the text of /completions itself
            return field_name
    model = str(document.get("model", ""))
    if _SEARCHING.search(model):
        return model[:_MOST_NAME]
    kinds = [_kind(tool) for holder in (document, *_items(document, "input")) for tool in _items(holder, "tools")]
    return next((kind for kind in kinds if kind.startswith(_SERVER_TOOLS)), None)


def _items(holder: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The mappings in a list of this name: of OpenAI's, tools may also come as a part of the conversation."""
    found = holder.get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _kind(tool: Mapping[str, Any]) -> str:
    """A tool's type; a shell in a container is the provider's, and then it is code that it runs."""
    place = tool.get("environment")
    hosted = isinstance(place, dict) and str(place.get("type")).startswith("container")
    return "code_execution" if hosted else str(tool.get("type"))


async def _without_usage(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    events = UsageEventFilter()
    async for chunk in chunks:
        if shown := events.feed(chunk):
            yield shown
    if rest := events.rest():
        yield rest


def read_document(body: bytes) -> Mapping[str, Any]:
    """Return the JSON object that a body is. Raises Refusal."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or _deeper(document, MOST_DEPTH):
        raise Refusal(400, f"the body of a request should be one JSON object, nested at most {MOST_DEPTH} times")
    return document


def _deeper(document: Any, most: int) -> bool:
    """Return whether something is nested deeper than so many times."""
    level = [document]
    for _ in range(most):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True
