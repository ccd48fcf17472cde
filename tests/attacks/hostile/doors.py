"""Doors of this machine that code in a sandbox must not reach; whoever does is answered."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


def _serve(listener: socket.socket) -> None:
    while True:
        try:
            line, _ = listener.accept()
        except OSError:
            return
        with line:
            line.sendall(b"ok")


def _answer(listener: socket.socket) -> None:
    while True:
        try:
            _, who = listener.recvfrom(100)
            listener.sendto(b"ok", who)
        except OSError:
            return


@contextmanager
def opened(path: Path) -> Iterator[dict[str, str]]:
    """Open a port (for connections and datagrams), a Unix socket without a file and one at ``path``; their names."""
    abstract = f"crab-attack-{secrets.token_hex(8)}"
    with ExitStack() as stack:
        stream = stack.enter_context(socket.socket())
        stream.bind(("0.0.0.0", 0))
        port = stream.getsockname()[1]
        datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        datagrams.bind(("0.0.0.0", port))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind("\0" + abstract)
        named = stack.enter_context(socket.socket(socket.AF_UNIX))
        named.bind(str(path))
        path.chmod(0o777)
        for listener in (stream, unix, named):
            listener.listen(8)
            threading.Thread(target=_serve, args=(listener,), daemon=True).start()
        threading.Thread(target=_answer, args=(datagrams,), daemon=True).start()
        yield {"port": str(port), "abstract": abstract, "socket": str(path)}
        for listener in (stream, unix, named, datagrams):
            listener.shutdown(socket.SHUT_RDWR) if listener is not datagrams else None
