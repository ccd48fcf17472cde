"""The relay inside a sandbox: every byte both ways, on old interpreters too."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from pytest_crab.ecosystems import interpreters
from pytest_crab.models.inside import relay

SOURCE = Path(relay.__file__).read_text()


@pytest.fixture
def echo() -> Iterator[str]:
    """A Unix socket that gives back all that it is sent once its sender is done."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = f"{folder}/s"
        listener.bind(path)
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                with peer:
                    peer.sendall(rest_of(peer))

        thread = threading.Thread(target=serve)
        thread.start()
        yield path
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def through(port: int, content: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(content)
        peer.shutdown(socket.SHUT_WR)
        return rest_of(peer)


def rest_of(peer: socket.socket) -> bytes:
    return b"".join(iter(lambda: peer.recv(65536), b""))


@pytest.fixture(params=["running", "old"])
def python(request: pytest.FixtureRequest, without: Callable[[str, str], NoReturn]) -> str:
    """An interpreter; an old one is looked for here and not by each worker that collects."""
    if request.param == "running":
        return sys.executable
    found = interpreters.find("3.6") or interpreters.find("3.7")
    if found is None:
        without("python3.6", "there is no CPython 3.6 or 3.7")
    return str(found.program)


def test_every_byte_comes_back(echo: str, python: str) -> None:
    content = random.Random(1).randbytes(3_000_000)
    with subprocess.Popen([python, "-I", "-S", "-c", SOURCE, echo, "0"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        found: list[bytes] = []
        threads = [threading.Thread(target=lambda: found.append(through(port, content))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        process.kill()
    assert found == [content] * 4


@pytest.mark.parametrize(
    ("code", "ending", "said"),
    [("{}; raise SystemExit(7)", 7, b"b'hello'\n"), ("import os; os.kill(os.getpid(), 15)", 143, b"")],
)
def test_it_ends_as_its_command_does(echo: str, code: str, ending: int, said: bytes) -> None:
    with socket.socket() as kept:  # so that nobody else is given the port, which who listens may share
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        port = kept.getsockname()[1]
        asks = (
            f"import socket; s = socket.create_connection(('127.0.0.1', {port})); "
            "s.sendall(input().encode()); s.shutdown(1); print(s.recv(9))"
        )
        argv = [sys.executable, "-I", "-S", "-c", SOURCE, echo, str(port), sys.executable, "-c", code.format(asks)]
        done = subprocess.run(argv, input=b"hello\n", capture_output=True)
    assert (done.returncode, done.stdout) == (ending, said)


def test_a_gateway_that_is_gone_closes_the_connection() -> None:
    argv = [shutil.which("python3") or sys.executable, "-I", "-S", "-c", SOURCE, "/nowhere/at/all", "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert through(int(process.stdout.readline()), b"") == b""
        process.kill()
