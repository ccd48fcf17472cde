"""One request on its way: its content, what it may cost, and what is known of its answer."""

from __future__ import annotations

import datetime
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_crab import serialization
from pytest_crab.lazy import lazy
from pytest_crab.models.api_formats import EMBEDDINGS, ApiFormat
from pytest_crab.models.cassettes import CassetteQuestion
from pytest_crab.models.event_streams import UsageEventFilter
from pytest_crab.models.ledger import Account, LedgerEntry
from pytest_crab.models.prices import Prices, bound_cost, cost_of, estimate
from pytest_crab.models.request_body import write_document
from pytest_crab.models.request_key import TOKEN, key_of, normalise
from pytest_crab.models.usage import BodyMeter, StreamMeter, Tokens
from pytest_crab.settings import Price, Provider

#: The fields of a request that say what is asked, in all protocols.
_QUESTION = ("model", "system", "messages", "instructions", "input", "prompt")

#: The longest name of a model that is put on record.
_MOST_NAME = 200


@dataclass(kw_only=True)
class ModelRequest:
    """One request on its way, and what is known of its answer."""

    account: Account
    provider: str
    known: Provider
    api_format: ApiFormat
    path: str
    query: str
    #: What was read of the client's body; the provider is sent it written anew.
    document: Mapping[str, Any]
    headers: Mapping[str, str]
    clock: float = field(default_factory=time.monotonic)
    status: int = 0
    tries: int = 0
    replayed: bool = False
    recorded_by: str | None = None
    meter: BodyMeter | StreamMeter | None = None
    booked: LedgerEntry | None = None
    #: Whether the provider ended its stream, or cut it.
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

    @lazy
    def body(self) -> bytes:
        """The body for the provider."""
        if not self._adds_usage:
            return write_document(self.document)
        options = {**(self.document.get("stream_options") or {}), "include_usage": True}
        return write_document({**self.document, "stream_options": options})

    def most_cost(self, prices: Prices) -> float | None:
        """Return the US dollars that the request can cost at most; None: it has no price."""
        price = self.price(prices)
        if price is None:
            return None
        return 0.0 if self.counts_only else bound_cost(self.document, self.body, price, writes=self.writes)

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
            estimated = estimate(
                self.document, len(self.body), highest, seconds=seconds, tokens=tokens, seen=seen, writes=self.writes
            )
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


async def _without_usage(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    events = UsageEventFilter()
    async for chunk in chunks:
        if shown := events.feed(chunk):
            yield shown
    if rest := events.rest():
        yield rest
