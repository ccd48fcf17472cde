"""Talking to commands in containers over the engine's hijacked connections: exact bytes in, capped bytes out."""

from __future__ import annotations

import selectors
import socket
import ssl
import struct
import time
from collections.abc import Sequence
from typing import Any

_HEADER = struct.Struct(">BxxxL")
_CHUNK = 1 << 16
_AGAIN = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class AttachedStreams:
    """One command's standard streams; ``overflow`` is set once a stream passes the cap, ``ended`` at its end."""

    def __init__(self, attached: Any, stdin: bytes, cap: int) -> None:
        self._attached = attached
        self._socket: socket.socket = getattr(attached, "_sock", attached)
        self._socket.setblocking(False)
        self._stdin = memoryview(stdin)
        self._cap = cap
        self._incoming = bytearray(_read_ahead(attached))
        self._streams = {1: bytearray(), 2: bytearray()}
        self._half_closed = False
        self.ended = False
        self.overflow = False
        self._split()

    @property
    def stdout(self) -> bytes:
        """The command's standard output so far."""
        return bytes(self._streams[1])

    @property
    def stderr(self) -> bytes:
        """The command's standard error so far."""
        return bytes(self._streams[2])

    def fileno(self) -> int:
        """The connection's descriptor."""
        return self._socket.fileno()

    @property
    def events(self) -> int:
        """The events that this conversation waits for, as a selectors mask."""
        return selectors.EVENT_READ | (0 if self._half_closed else selectors.EVENT_WRITE)

    def turn(self, mask: int) -> None:
        """Send and receive what is possible without waiting."""
        if mask & selectors.EVENT_WRITE:
            self._send()
        if mask & selectors.EVENT_READ:
            self._receive()

    def close(self) -> None:
        """Give the connection back."""
        response = getattr(self._attached, "_response", None)
        if response is not None:
            response.close()
        self._attached.close()
        self._socket.close()

    def _send(self) -> None:
        try:
            while self._stdin:
                sent = self._socket.send(self._stdin[:_CHUNK])
                self._stdin = self._stdin[sent:]
        except _AGAIN:
            return
        except OSError:
            self._half_closed = True  # the command went away without reading it all, which is its own affair
            return
        self._half_closed = True
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.ended = True

    def _receive(self) -> None:
        try:
            data = self._socket.recv(_CHUNK * 4)
        except _AGAIN:
            return
        except OSError:
            data = b""
        if not data:
            self.ended = True
        self._incoming += data
        self._split()

    def _split(self) -> None:
        start = 0
        while len(self._incoming) - start >= _HEADER.size:
            kind, length = _HEADER.unpack_from(self._incoming, start)
            end = start + _HEADER.size + length
            if len(self._incoming) < end:
                break
            self._keep(kind, memoryview(self._incoming)[start + _HEADER.size : end])
            start = end
        del self._incoming[:start]

    def _keep(self, kind: int, payload: memoryview) -> None:
        stream = self._streams.get(kind)
        if stream is not None:
            room = self._cap - len(stream)
            stream += payload[: max(room, 0)]
            self.overflow = self.overflow or len(payload) > room
        payload.release()


def converse(conversations: Sequence[AttachedStreams], deadline: float) -> bool:
    """Serve all until each has ended; False if the deadline or a cap came before that."""
    with selectors.DefaultSelector() as selector:
        for conversation in conversations:
            if not conversation.ended:
                selector.register(conversation, conversation.events, conversation)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0 or any(conversation.overflow for conversation in conversations):
                return False
            for key, mask in selector.select(left):
                _turn(selector, key.data, mask)
    return not any(conversation.overflow for conversation in conversations)


def _turn(selector: selectors.BaseSelector, conversation: AttachedStreams, mask: int) -> None:
    conversation.turn(mask)
    if conversation.ended:
        selector.unregister(conversation)
    else:
        selector.modify(conversation, conversation.events, conversation)


def _read_ahead(attached: Any) -> bytes:
    """Return the bytes that the HTTP reader took from the connection together with the response's headers."""
    response = getattr(attached, "_response", None)
    reader = getattr(getattr(getattr(response, "raw", None), "_fp", None), "fp", None)
    if reader is None or not hasattr(reader, "peek"):
        return b""
    waiting = reader.peek() or b""
    return bytes(reader.read1(len(waiting))) if waiting else b""
