"""Streams of server-sent events on their way to a client: cut into events, and without what is not for it to see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_crab.redaction import Redactor

#: One event of a stream, with the empty line behind it.
EVENT = re.compile(rb".+?\r?\n\r?\n", re.DOTALL)
_EMPTY = re.compile(rb"\n\r?\n")
_FINISHED = re.compile(rb'"finish_reason"\s*:\s*"')
_LAST = b"[DONE]"

#: Bytes: a longer event is no provider's, and is not waited for.
MOST_EVENT = 32 << 20

#: The shortest piece of a key that waits for the next one: shorter ones stand at the end of many texts.
_SHORTEST_PIECE = 4

#: Fields that say which of several texts an event goes on with.
_NUMBERS = ("index", "output_index", "content_index", "summary_index")


class EventSplitter:
    """Cuts a stream into its events, wherever its chunks end."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the events that are whole now; what is too long for one comes as it is."""
        looked = max(len(self._rest) - 2, 0)
        self._rest += chunk
        if _EMPTY.search(self._rest, looked) is None:
            return [cut_off(self._rest)] if len(self._rest) > MOST_EVENT else []
        found = list(EVENT.finditer(self._rest))
        events = [event.group() for event in found]
        cut_off(self._rest, found[-1].end() if found else 0)
        return events

    def rest(self) -> bytes:
        """Return the bytes after the last whole event."""
        return cut_off(self._rest)


def cut_off(buffer: bytearray, length: int | None = None) -> bytes:
    """Take so many bytes from the start of a buffer; None: all."""
    taken = bytes(buffer[:length])
    del buffer[:length]
    return taken


class UsageEventFilter:
    """Takes the event with the usage out of a chat stream, where the gateway asked for it and the client did not.

    The event with which the answer is finished waits for the end of the stream, since a client may leave once it has
    it, and the usage comes behind it.
    """

    def __init__(self) -> None:
        self._events = EventSplitter()
        self._held = bytearray()
        self._finished = False

    def feed(self, chunk: bytes) -> bytes:
        """Return the whole events so far that the client is to see."""
        return b"".join(self._hold(event) for event in self._events.feed(chunk) if not _is_usage(event))

    def rest(self) -> bytes:
        """Return all that was held back, and the bytes after the last whole event."""
        return bytes(self._held) + self._events.rest()

    def _hold(self, event: bytes) -> bytes:
        """Hold an event back, if the answer is finished with it; return what need not wait."""
        self._held += event
        self._finished = self._finished or _FINISHED.search(event) is not None
        waits = self._finished and _LAST not in event and len(self._held) <= MOST_EVENT
        return b"" if waits else cut_off(self._held)


def _is_usage(event: bytes) -> bool:
    """Return whether an event of a chat stream tells the usage and nothing else."""
    data = _data_of(event)
    return isinstance(data, Mapping) and data.get("choices") == [] and isinstance(data.get("usage"), Mapping)


def _data_of(event: bytes) -> Any:
    """Return the JSON value of an event; None if it has none."""
    lines = [line[5:] for line in event.splitlines() if line.startswith(b"data:")]
    try:
        return json.loads(b"\n".join(lines))
    except (ValueError, RecursionError):
        return None


@dataclass(eq=False)
class _Event:
    """An event that is looked at."""

    raw: bytes
    data: Any
    #: Whether ``data`` is no longer what ``raw`` says.
    changed: bool = False

    def content(self) -> bytes:
        """Return the bytes for the client."""
        if not self.changed:
            return self.raw
        lines = [line for line in self.raw.splitlines(keepends=True) if not line.startswith(b"data:")]
        place = next(at for at, line in enumerate(self.raw.splitlines()) if line.startswith(b"data:"))
        return b"".join([*lines[:place], b"data: %s\n" % json.dumps(self.data).encode(), *lines[place:]])


@dataclass(frozen=True)
class _Piece:
    """One part of a text that comes in pieces."""

    #: The event that ``holder`` is within.
    event: _Event
    #: What has the part as a field.
    holder: Any
    #: The name of this field.
    name: Any

    @property
    def text(self) -> str:
        return str(self.holder[self.name])

    def put(self, text: str) -> None:
        """Put another text in its place."""
        if text != self.text:
            self.holder[self.name] = text
            self.event.changed = True


@dataclass
class _Begun:
    """The end of a text that a key may begin with."""

    #: What the client has had of it.
    shown: str = ""
    #: The pieces that wait.
    pieces: list[_Piece] = field(default_factory=list)


class KeyFilter:
    """Takes a key out of a stream, also where its text comes in pieces over several events.

    An event whose text ends like the beginning of the key waits for the next piece, and so does all behind it.
    """

    def __init__(self, key: str, stand_in: str = "<key>") -> None:
        self._key = key
        self._stand_in = stand_in
        self._redactor = Redactor({key: stand_in})
        self._events = EventSplitter()
        self._held: list[_Event] = []
        self._begun: dict[tuple[Any, ...], _Begun] = {}

    def feed(self, chunk: bytes) -> bytes:
        """Return the whole events so far that need not wait."""
        for event in self._events.feed(chunk):
            self._take(event)
        if sum(len(event.raw) for event in self._held) > MOST_EVENT:
            return self.release()
        waiting = {id(piece.event) for begun in self._begun.values() for piece in begun.pieces}
        free = next((at for at, event in enumerate(self._held) if id(event) in waiting), len(self._held))
        freed, self._held = self._held[:free], self._held[free:]
        return b"".join(event.content() for event in freed)

    def release(self) -> bytes:
        """Return the events that wait, where no more pieces come."""
        held, self._held = self._held, []
        self._begun.clear()
        return b"".join(event.content() for event in held)

    def rest(self) -> bytes:
        """Return all that is left at the end of the stream."""
        self._take(self._events.rest())
        return self.release()

    def _take(self, raw: bytes) -> None:
        raw = self._redactor.body(raw)
        event = _Event(raw, _data_of(raw))
        self._held.append(event)
        for place, holder, name in _texts(event.data):
            begun = self._begun.pop(place, None) or _Begun()
            begun.pieces.append(_Piece(event, holder, name))
            if self._go_on(begun):
                self._begun[place] = begun

    def _go_on(self, begun: _Begun) -> bool:
        """Take the key out of the pieces of a text, and keep those that it may yet begin in; False: there are none."""
        text = begun.shown + "".join(piece.text for piece in begun.pieces)
        if (at := text.find(self._key)) >= 0:  # its last character is in the last piece
            start = len(begun.shown)
            for piece in begun.pieces[:-1]:
                whole = piece.text
                piece.put(whole[: max(at - start, 0)])
                start += len(whole)
            last = begun.pieces[-1]
            before = last.text[: max(at - start, 0)]
            last.put(before + self._stand_in + last.text[at + len(self._key) - start :])
            text = last.text
            begun.shown, begun.pieces = "", [last]
        tail = self._beginning(text)
        missing = len(tail) if len(tail) >= _SHORTEST_PIECE else 0
        kept: list[_Piece] = []
        while missing > 0 and begun.pieces:
            kept.insert(0, begun.pieces.pop())
            missing -= len(kept[0].text)
        if not kept:
            begun.shown, begun.pieces = tail, []
            return bool(tail)
        begun.shown, begun.pieces = (tail[:missing] if missing > 0 else ""), kept
        return True

    def _beginning(self, text: str) -> str:
        """Return the longest end of a text with which the key begins."""
        at = text.find(self._key[0], max(len(text) - len(self._key) + 1, 0))
        while at >= 0:
            if self._key.startswith(text[at:]):
                return text[at:]
            at = text.find(self._key[0], at + 1)
        return ""


def _texts(data: Any) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """Yield each text in the data of an event: which text it goes on with, and what holds it under which name."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), data)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, dict):
            place += tuple(value[name] for name in _NUMBERS if isinstance(value.get(name), int))
        named = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, inner in named:
            if isinstance(inner, str):
                yield (*place, name), value, name
            elif isinstance(inner, (dict, list)):
                waiting.append(((*place, name), inner))
