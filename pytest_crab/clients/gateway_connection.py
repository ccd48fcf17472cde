"""Connections to the gateway's socket, of which many are read from one thread with httptools' parser.

A question about a comment is a short request, and a run has thousands of them. A general HTTP client takes more time
for each than all the rest of the asker.
"""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from pytest_crab.model_access import USAGE_HEADER

_HEADERS = {"host": "gateway", "content-type": "application/json", "accept": "*/*", "user-agent": "pytest-crab"}

_USAGE = USAGE_HEADER.encode()

#: Bytes that are read at a time.
_PIECE = 1 << 16


class GatewayAnswer(NamedTuple):
    """The answer to one request, whatever its status is."""

    status_code: int
    text: str
    #: What the request used, as JSON; "": not known.
    usage: str = ""


class GatewayRequest(NamedTuple):
    """One request: a JSON document that is posted to a path."""

    path: str
    document: Mapping[str, Any]


class GatewayConnection:
    """The requests of one step, from any number of threads; a connection that is free is used again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._free: list[_Channel] = []

    def post(self, request: GatewayRequest, headers: Mapping[str, str], timeout: float) -> GatewayAnswer:
        """Send one request and wait for its answer. Raises OSError, also TimeoutError.

        ``timeout`` is the most seconds without a byte.
        """
        ((_, answer),) = self.post_each([request], headers, timeout)
        return answer

    def post_each(
        self, requests: Iterable[GatewayRequest], headers: Mapping[str, str], timeout: float, *, parallel: int = 1
    ) -> Iterator[tuple[int, GatewayAnswer]]:
        """Yield the number of each request, from 0, with its answer, in the order in which the answers come.

        At most ``parallel`` of them are under way at a time, each over a connection of its own, and a request is taken
        once there is room for it. What raises breaks off those that are under way. Raises as ``post`` does.
        """
        head = "".join(f"{name}: {text}\r\n" for name, text in {**_HEADERS, **headers}.items())
        waiting = enumerate(requests)
        under_way: dict[int, tuple[_Channel, int, float]] = {}
        poll = select.poll()
        try:
            while True:
                while len(under_way) < parallel and (following := next(waiting, None)) is not None:
                    number, request = following
                    channel = self._take(timeout)
                    under_way[channel.fileno()] = (channel, number, time.monotonic() + timeout)
                    channel.send(_message(request, head), timeout)
                    poll.register(channel.fileno(), select.POLLIN)
                if not under_way:
                    return
                for descriptor in _ready(poll, min(until for _, _, until in under_way.values())):
                    poll.unregister(descriptor)
                    channel, number, _ = under_way[descriptor]
                    answer = channel.receive(timeout)
                    del under_way[descriptor]
                    self._give_back(channel)
                    yield number, answer
        finally:
            for channel, _, _ in under_way.values():
                channel.close()

    def close(self) -> None:
        """Close what is open."""
        while self._free:
            self._free.pop().close()

    def _take(self, timeout: float) -> _Channel:
        """Return a connection that is open at both ends, else a new one."""
        while True:
            try:
                channel = self._free.pop()
            except IndexError:
                return _Channel(self._path, timeout)
            if channel.is_idle():
                return channel
            channel.close()

    def _give_back(self, channel: _Channel) -> None:
        if channel.lasts:
            self._free.append(channel)
        else:
            channel.close()


def _message(request: GatewayRequest, head: str) -> bytes:
    """Return a request in one piece, so that the gateway is woken once."""
    body = json.dumps(request.document, allow_nan=False, separators=(",", ":")).encode()
    return f"POST {quote(request.path)} HTTP/1.1\r\n{head}content-length: {len(body)}\r\n\r\n".encode("latin-1") + body


def _ready(poll: select.poll, until: float) -> list[int]:
    """Wait until a moment of the monotonic clock for something to read. Raises TimeoutError."""
    found = poll.poll(1000 * max(until - time.monotonic(), 0))
    if not found:
        raise TimeoutError("the gateway sent nothing in time")
    return [descriptor for descriptor, _ in found]


class _Channel:
    """One connection, for one request at a time; ``lasts``: the gateway keeps it open for another one."""

    def __init__(self, path: Path, timeout: float) -> None:
        self.lasts = True
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(timeout)
            self._socket.connect(str(path))
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def is_idle(self) -> bool:
        """Return whether nothing has come since the last answer, the end of the connection included."""
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def send(self, message: bytes, timeout: float) -> None:
        """Send a request. Raises OSError."""
        left = memoryview(message)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, timeout)

    def receive(self, timeout: float) -> GatewayAnswer:
        """Return the answer once all of it is there. Raises OSError."""
        import httptools

        answer = _Answer()
        try:
            while not answer.is_whole:
                answer.parser.feed_data(self._read(timeout))
        except httptools.HttpParserError as error:
            raise ConnectionError("the gateway's answer is not HTTP") from error
        self.lasts = answer.lasts
        text = answer.body.decode("utf-8", "replace")
        return GatewayAnswer(answer.parser.get_status_code(), text, answer.usage.decode("latin-1"))

    def _read(self, timeout: float) -> bytes:
        """Return what is there, or comes within so many seconds. Raises OSError."""
        while True:
            try:
                piece = self._socket.recv(_PIECE)
            except BlockingIOError:
                self._wait(select.POLLIN, timeout)
            else:
                break
        if not piece:
            raise ConnectionError("the gateway closed the connection")
        return piece

    def _wait(self, event: int, timeout: float) -> None:
        poll = select.poll()
        poll.register(self._socket, event)
        _ready(poll, time.monotonic() + timeout)


class _Answer:
    """The part of an answer that ``parser`` was fed; ``lasts``: another one may come over the same connection."""

    def __init__(self) -> None:
        import httptools

        self.parser = httptools.HttpResponseParser(self)
        self.body = bytearray()
        self.usage = b""
        self.is_whole = self.lasts = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == _USAGE:
            self.usage = value

    def on_body(self, piece: bytes) -> None:
        self.body += piece

    def on_message_complete(self) -> None:
        self.is_whole = True
        self.lasts = self.parser.should_keep_alive()  # known only while the parser is at the answer's end
