"""Reads the usage of an answer, from a whole body or from a stream as it passes by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_crab.models.event_streams import MOST_EVENT

#: Events that end a stream in one of the protocols; a stream without any of them was cut.
_ENDS = ("message_stop", "response.completed", "response.incomplete", "response.failed", "error")
_LAST = b"[DONE]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The tokens of one answer."""

    #: All tokens that were read.
    input: int
    output: int
    #: A part of ``input``.
    cached: int = 0
    #: A part of ``input``.
    cache_write: int = 0
    #: The part of ``cache_write`` that is kept for an hour.
    cache_write_1h: int = 0


#: More than any model reads or writes for one answer; a number above it is not believed.
_MOST = 10**9


def read_usage(usage: Any) -> Tokens | None:
    """Return the tokens in a usage object of any of the three protocols; None if it is none that could be."""
    tokens = _read(usage) if isinstance(usage, Mapping) else None
    return tokens if tokens is not None and max(tokens.input, tokens.output) < _MOST else None


def _read(usage: Mapping[str, Any]) -> Tokens | None:
    if "prompt_tokens" in usage:
        return _openai(usage, "prompt_tokens", "completion_tokens", "prompt_tokens_details")
    if "input_tokens" not in usage:
        return None
    if "input_tokens_details" in usage or "total_tokens" in usage:
        return _openai(usage, "input_tokens", "output_tokens", "input_tokens_details")
    read, written = count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens")
    kinds = usage.get("cache_creation")
    hour = count(kinds, "ephemeral_1h_input_tokens") if isinstance(kinds, Mapping) else 0
    return Tokens(
        input=count(usage, "input_tokens") + read + written,
        output=count(usage, "output_tokens"),
        cached=read,
        cache_write=written,
        cache_write_1h=min(hour, written),
    )


def _openai(usage: Mapping[str, Any], read: str, written: str, details: str) -> Tokens:
    parts = usage.get(details)
    cached = count(parts, "cached_tokens") if isinstance(parts, Mapping) else 0
    return Tokens(input=count(usage, read), output=count(usage, written), cached=cached)


def count(usage: Mapping[str, Any], name: str) -> int:
    """Return a number of tokens in plain data; 0 for what is none."""
    value = usage.get(name)
    return min(value, _MOST) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


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
            counted = set(document) == {"input_tokens"}  # the answer of count_tokens, which uses nothing
            self.tokens = Tokens(input=0, output=0) if counted else read_usage(document.get("usage"))


class StreamMeter:
    """Meters server-sent events as they pass; ``complete`` once an event that ends a stream was seen."""

    def __init__(self) -> None:
        self.complete = False
        self.seen = 0
        self._rest = bytearray()
        self._usage: dict[str, Any] = {}

    @property
    def tokens(self) -> Tokens | None:
        """The tokens that the stream has told so far."""
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
