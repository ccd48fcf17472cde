"""A worker's counter for leases: passes a gateway's questions on to the controller, and brings the answers back."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import threading
from collections.abc import Callable
from collections.abc import Mapping
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)


class Counter:
    """Listens on a Unix socket (models.leases says what is spoken there); ``tell`` sends a message to the controller.

    ``hear`` is given what the controller answers. Raises OSError.
    """

    def __init__(self, path: Path, tell: Callable[[Mapping[str, Any]], None]) -> None:
        self._tell = tell
        self._guard = threading.Lock()
        self._asked: dict[str, socket.socket] = {}
        self._lines: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, name="crab-leases", daemon=True).start()

    def hear(self, answer: Mapping[str, Any]) -> None:
        """Bring an answer to the gateway that asked; one that is gone needs none."""
        with self._guard:
            line = self._asked.pop(str(answer.get("grant") or answer.get("refuse")), None)
            if line is not None:
                with contextlib.suppress(OSError):
                    line.sendall(json.dumps(answer).encode() + b"\n")

    def close(self) -> None:
        """Listen no more, and close every line; to be called when the gateways have ended."""
        with self._guard:
            for each in (self._listener, *self._lines):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:  # closed
                return
            with self._guard:
                self._lines.append(line)
            threading.Thread(target=self._serve, args=(line,), name="crab-lease", daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        """Pass on what one gateway says until it is gone."""
        try:
            with line.makefile("rb") as lines:
                for text in lines:
                    told = json.loads(text)
                    if "ask" in told:
                        with self._guard:
                            self._asked[told["ask"]] = line
                    self._tell(told)
        except (OSError, ValueError) as error:
            log.debug("a gateway's line for leases ended: %s", error)
