"""Connections to the gateway's socket: requests of our own go over the standard library, which takes little time each.

A question about a comment is a short request, and a run has thousands of them. A general HTTP client takes more time
for each than all the rest of the asker.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

_HEADERS = {"content-type": "application/json", "accept": "*/*", "user-agent": "pytest-crab"}


class GatewayAnswer(NamedTuple):
    """The answer to one request, whatever its status is."""

    status_code: int
    text: str


class GatewayConnection:
    """The requests of one step, from any number of threads; a connection that is free is used again.

    A Unix socket needs no certificates and no proxies, and reading them takes longer than some forty requests.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._free: list[_UnixConnection] = []

    def post(self, path: str, document: Mapping[str, Any], headers: Mapping[str, str], timeout: float) -> GatewayAnswer:
        """Send one request and wait for its answer. Raises OSError, also TimeoutError, and http.client.HTTPException.

        ``timeout`` is the most seconds without a byte.
        """
        body = json.dumps(document, allow_nan=False, separators=(",", ":")).encode()
        connection = self._take(timeout)
        try:
            connection.request("POST", path, body, {**_HEADERS, **headers})
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace")
        except BaseException:
            connection.close()
            raise
        if connection.sock is not None:  # else the gateway closes it after this answer
            self._free.append(connection)
        return GatewayAnswer(response.status, text)

    def close(self) -> None:
        """Close what is open."""
        while self._free:
            self._free.pop().close()

    def _take(self, timeout: float) -> _UnixConnection:
        """Return a connection that is open at both ends, else a new one."""
        while True:
            try:
                connection = self._free.pop()
            except IndexError:
                return _UnixConnection(self._path, timeout)
            if connection.is_idle():
                connection.sock.settimeout(timeout)
                return connection
            connection.close()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("gateway", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))

    def is_idle(self) -> bool:
        """Return whether nothing has come since the last answer, the end of the connection included."""
        self.sock.setblocking(False)
        try:
            self.sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False
