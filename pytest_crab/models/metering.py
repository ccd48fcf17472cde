"""Reads what an answer used, from a whole body or from a stream as it passes by, and prices it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pytest_crab.settings import Price

#: Events that end a stream in one of the protocols; a stream without any of them was cut.
_ENDS = ("message_stop", "response.completed", "response.incomplete", "response.failed", "error")
_LAST = b"[DONE]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What one answer used; ``input`` counts all that was read, of which ``cached`` and ``cache_write`` are parts."""

    input: int
    output: int
    cached: int = 0
    cache_write: int = 0


def read_usage(usage: Any) -> Tokens | None:
    """The tokens that a usage object of any of the three protocols tells; None if it is none."""
    if not isinstance(usage, Mapping):
        return None
    if "prompt_tokens" in usage:
        return _openai(usage, "prompt_tokens", "completion_tokens", "prompt_tokens_details")
    if "input_tokens" not in usage:
        return None
    if "input_tokens_details" in usage or "total_tokens" in usage:
        return _openai(usage, "input_tokens", "output_tokens", "input_tokens_details")
    read, written = _count(usage, "cache_read_input_tokens"), _count(usage, "cache_creation_input_tokens")
    return Tokens(
        input=_count(usage, "input_tokens") + read + written,
        output=_count(usage, "output_tokens"),
        cached=read,
        cache_write=written,
    )


def _openai(usage: Mapping[str, Any], read: str, written: str, details: str) -> Tokens:
    parts = usage.get(details)
    cached = _count(parts, "cached_tokens") if isinstance(parts, Mapping) else 0
    return Tokens(input=_count(usage, read), output=_count(usage, written), cached=cached)


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def cost_of(tokens: Tokens | None, price: Price | None) -> float | None:
    """US dollars; None if anything that was used has no known price."""
    if tokens is None or price is None:
        return None
    fresh = max(tokens.input - tokens.cached - tokens.cache_write, 0)
    parts = (
        (fresh, price.input),
        (tokens.output, price.output),
        (tokens.cached, price.cached),
        (tokens.cache_write, price.cache_write),
    )
    total = 0.0
    for count, each in parts:
        if count and each is None:
            return None
        total += count * (each or 0.0) / 1_000_000
    return total


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """The price of a model: its own entry, else the longest pattern (``claude-sonnet-*``) that fits its name."""
    if model in prices:
        return prices[model]
    fitting = [pattern for pattern in prices if fnmatchcase(model, pattern)]
    return prices[max(fitting, key=len)] if fitting else None


class BodyMeter:
    """Meters an answer that is one JSON document."""

    def __init__(self) -> None:
        self.tokens: Tokens | None = None
        self.complete = False

    def feed(self, body: bytes) -> None:
        """Take the whole body."""
        self.complete = True
        try:
            document = json.loads(body)
        except ValueError:
            return
        if isinstance(document, Mapping):
            self.tokens = read_usage(document.get("usage")) or _count_tokens(document)


def _count_tokens(document: Mapping[str, Any]) -> Tokens | None:
    """The answer of count_tokens, which uses nothing."""
    return Tokens(input=0, output=0) if set(document) == {"input_tokens"} else None


#: One event of a stream, with the empty line behind it.
EVENT = re.compile(rb".+?\r?\n\r?\n", re.DOTALL)


class WithoutUsage:
    """Takes the event that tells the usage out of a chat stream, where the gateway asked for it and the client not."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> bytes:
        """The whole events so far that the client is to see."""
        self._rest += chunk
        found = list(EVENT.finditer(self._rest))
        if found:
            self._rest = self._rest[found[-1].end() :]
        return b"".join(event.group() for event in found if not self._tells_usage(event.group()))

    def rest(self) -> bytes:
        """What came after the last whole event."""
        return self._rest

    @staticmethod
    def _tells_usage(event: bytes) -> bool:
        try:
            data = json.loads(event.strip().removeprefix(b"data:"))
        except ValueError:
            return False
        return isinstance(data, Mapping) and data.get("choices") == [] and isinstance(data.get("usage"), Mapping)


class StreamMeter:
    """Meters server-sent events as they pass; ``complete`` once an event that ends a stream was seen."""

    def __init__(self) -> None:
        self.complete = False
        self._rest = b""
        self._usage: dict[str, Any] = {}

    @property
    def tokens(self) -> Tokens | None:
        """What is known so far."""
        return read_usage(self._usage)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes, wherever they were cut."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._data(line[5:].strip())

    def _data(self, data: bytes) -> None:
        if data == _LAST:
            self.complete = True
            return
        ends = any(word.encode() in data for word in _ENDS)
        if b'"usage"' not in data and not ends:
            return
        try:
            event = json.loads(data)
        except ValueError:
            return
        if not isinstance(event, Mapping):
            return
        self.complete = self.complete or event.get("type") in _ENDS
        for holder in (event, event.get("message"), event.get("response")):
            if isinstance(holder, Mapping) and isinstance(holder.get("usage"), Mapping):
                self._usage.update({name: value for name, value in holder["usage"].items() if value is not None})
