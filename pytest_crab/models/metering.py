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


#: More than any model reads or writes for one answer; a number above it is not believed.
_MOST = 10**9


def read_usage(usage: Any) -> Tokens | None:
    """The tokens that a usage object of any of the three protocols tells; None if it is none that could be."""
    told = _told(usage) if isinstance(usage, Mapping) else None
    return told if told is not None and max(told.input, told.output) < _MOST else None


def _told(usage: Mapping[str, Any]) -> Tokens | None:
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
    return min(value, _MOST) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


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


#: For estimates: no text has more tokens than one for so many bytes, no model writes more of them in a second, and
#: where a request does not limit its answer, what it may have come to before anything of it was seen.
_BYTES, _SPEED, _UNSEEN = 2, 200, 4096

_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens")


def estimate(document: Mapping[str, Any], meter: BodyMeter | StreamMeter | None, seconds: float, price: Price) -> float:
    """US dollars that an answer without its end may have cost, rather too much than too little."""
    told, seen = (meter.tokens, meter.seen) if meter is not None else (None, 0)
    read = max(
        len(json.dumps(document, ensure_ascii=False).encode(errors="replace")) // _BYTES, told.input if told else 0
    )
    limits = [_count(document, name) for name in _LIMITS if _count(document, name)]
    unlimited = max(seen // _BYTES, int(seconds * _SPEED), _UNSEEN)
    written = max(min(limits, default=unlimited), told.output if told else 0)
    dearest = max(price.input, price.cache_write or 0.0)
    return (read * dearest + written * price.output) / 1_000_000


#: The longest answer of any model, for requests that do not limit theirs.
_LONGEST_ANSWER = 131072


def bound(document: Mapping[str, Any], price: Price) -> float:
    """US dollars that a request can cost at most, before it is made."""
    limited = any(_count(document, name) for name in _LIMITS)
    return estimate(document if limited else {**document, _LIMITS[0]: _LONGEST_ANSWER}, None, 0.0, price)


class BodyMeter:
    """Meters an answer that is one JSON document."""

    def __init__(self) -> None:
        self.tokens: Tokens | None = None
        self.complete = False
        self.seen = 0

    def feed(self, body: bytes) -> None:
        """Take the whole body."""
        self.complete = True
        self.seen += len(body)
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            return
        if isinstance(document, Mapping):
            self.tokens = read_usage(document.get("usage")) or _count_tokens(document)


def _count_tokens(document: Mapping[str, Any]) -> Tokens | None:
    """The answer of count_tokens, which uses nothing."""
    return Tokens(input=0, output=0) if set(document) == {"input_tokens"} else None


#: One event of a stream, with the empty line behind it.
EVENT = re.compile(rb".+?\r?\n\r?\n", re.DOTALL)
_EMPTY = re.compile(rb"\n\r?\n")
_FINISHED = re.compile(rb'"finish_reason"\s*:\s*"')

#: Bytes: an event that is longer is nobody's, and is not waited for.
MOST_EVENT = 32 << 20


class WithoutUsage:
    """Takes the event that tells the usage out of a chat stream, where the gateway asked for it and the client not.

    The event with which the answer is finished waits for the end of the stream, since a client may leave once it has
    it, and the usage comes behind it.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._held = bytearray()
        self._finished = False

    def feed(self, chunk: bytes) -> bytes:
        """The whole events so far that the client is to see."""
        looked = max(len(self._rest) - 2, 0)
        self._rest += chunk
        if _EMPTY.search(self._rest, looked) is None:
            return self._release() + self._take(len(self._rest)) if len(self._rest) > MOST_EVENT else b""
        found = list(EVENT.finditer(self._rest))
        events = [event.group() for event in found]
        self._take(found[-1].end() if found else 0)
        return b"".join(self._shown(event) for event in events if not self._tells_usage(event))

    def rest(self) -> bytes:
        """What was held back, and what came after the last whole event."""
        return bytes(self._held + self._rest)

    def _shown(self, event: bytes) -> bytes:
        """What is shown now that there is this event."""
        self._held += event
        self._finished = self._finished or _FINISHED.search(event) is not None
        waits = self._finished and _LAST not in event and len(self._held) <= MOST_EVENT
        return b"" if waits else self._release()

    def _release(self) -> bytes:
        held = bytes(self._held)
        self._held.clear()
        return held

    def _take(self, length: int) -> bytes:
        taken = bytes(self._rest[:length])
        del self._rest[:length]
        return taken

    @staticmethod
    def _tells_usage(event: bytes) -> bool:
        try:
            data = json.loads(event.strip().removeprefix(b"data:"))
        except (ValueError, RecursionError):
            return False
        return isinstance(data, Mapping) and data.get("choices") == [] and isinstance(data.get("usage"), Mapping)


class StreamMeter:
    """Meters server-sent events as they pass; ``complete`` once an event that ends a stream was seen."""

    def __init__(self) -> None:
        self.complete = False
        self.seen = 0
        self._rest = bytearray()
        self._usage: dict[str, Any] = {}

    @property
    def tokens(self) -> Tokens | None:
        """What is known so far."""
        return read_usage(self._usage)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes, wherever they were cut."""
        self.seen += len(chunk)
        whole, newline, rest = chunk.rpartition(b"\n")
        if newline:
            for line in bytes(self._rest + whole).split(b"\n"):
                if line.startswith(b"data:"):
                    self._data(line[5:].strip())
            self._rest.clear()
        if len(self._rest) + len(rest) <= MOST_EVENT:  # the end of a longer line is no event either
            self._rest += rest

    def _data(self, data: bytes) -> None:
        if data == _LAST:
            self.complete = True
            return
        ends = any(word.encode() in data for word in _ENDS)
        if b'"usage"' not in data and not ends:
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return
        if not isinstance(event, Mapping):
            return
        self.complete = self.complete or event.get("type") in _ENDS
        for holder in (event, event.get("message"), event.get("response")):
            if isinstance(holder, Mapping) and isinstance(holder.get("usage"), Mapping):
                self._usage.update({name: value for name, value in holder["usage"].items() if value is not None})
