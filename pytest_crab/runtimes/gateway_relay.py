"""The way from a client in a sandbox to the gateway: its socket bound inside, and a relay on 127.0.0.1."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crab.ecosystems import interpreters
from pytest_crab.errors import EngineError
from pytest_crab.model_access import ModelAccess
from pytest_crab.program_texts import program_text
from pytest_crab.protocols import OWN_PLACES, Command
from pytest_crab.runtimes.container_io import AttachedStreams, converse
from pytest_crab.text import last_line

if TYPE_CHECKING:
    from pytest_crab.runtimes.engine import Engine

#: Where the gateway's socket lies inside.
SOCKET = f"{OWN_PLACES['models']}/models.sock"
#: A client's home inside; codex refuses one below the folder for temporary files.
HOME = OWN_PLACES["home"]
#: Each sandbox has a network of its own with nothing else in it, so the number is free.
PORT = 8417
URL = f"http://127.0.0.1:{PORT}"

_START_SECONDS = 20


def source() -> str:
    """The relay's program text, for CPython 3.6 and later."""
    return program_text("pytest_crab", "models/inside/relay")


def with_relay(interpreter: str, argv: Sequence[str], place: str = SOCKET, port: int = PORT) -> tuple[str, ...]:
    """The command line that runs ``argv`` beside a relay to a socket inside, and ends as it does."""
    return (*_relay(interpreter, place, port), *argv)


def interpreter_binds() -> dict[str, Path]:
    """Return the paths that a sandbox must see to start this process's own interpreter, by place inside."""
    prefix = Path(sys.base_prefix)
    if prefix == Path("/usr"):
        return {}
    places = (prefix / name for name in ("bin", "lib", "lib64"))
    return {str(place): place for place in places if place.exists()}


def interpreter() -> str:
    """This process's interpreter outside its virtual environment."""
    own = Path(sys.base_prefix) / "bin" / interpreters.name_of(interpreters.running_version())
    return str(own if own.exists() else Path(sys.executable).resolve())


def added_binds(readable: Sequence[Path], models: ModelAccess | None) -> dict[str, Path]:
    """Return the mounts that a client needs besides the rest, by place inside: trees, and the gateway's socket."""
    binds = {str(path): path for path in readable}
    return binds if models is None else {**binds, SOCKET: models.socket}


@contextmanager
def relay_in(engine: Engine, container: str, interpreter: str, env: Mapping[str, str]) -> Iterator[None]:
    """A relay in a container that idles, as a user whom the client's processes cannot signal. Raises EngineError."""
    begun = engine.begin(container, Command(argv=_relay(interpreter), user="oracle"), "/", env)
    if begun is None:
        raise EngineError("a container ended before the relay to the models could be started in it", passing=True)
    talk = AttachedStreams(begun[1], b"", 4096)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while b"\n" not in talk.stdout:
            converse([talk], time.monotonic() + 0.02)
            engine.check()
            if talk.ended or time.monotonic() > deadline:
                words = last_line(talk.stderr) or "it printed nothing"
                raise EngineError(f"the relay to the models did not start in a container: {words}")
        yield
    finally:
        talk.close()


@contextmanager
def relay_here(models: ModelAccess) -> Iterator[str]:
    """A relay on this machine's own loopback, where nothing is confined; its address. Raises EngineError."""
    argv = [sys.executable, "-I", "-S", "-c", source(), str(models.socket), "0"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as relay:
        try:
            assert relay.stdout is not None
            port = relay.stdout.readline().strip()
            if not port.isdigit():
                raise EngineError("the relay to the models did not start; is a port left on 127.0.0.1?")
            yield f"http://127.0.0.1:{port.decode()}"
        finally:
            relay.kill()


def _relay(interpreter: str, place: str = SOCKET, port: int = PORT) -> tuple[str, ...]:
    return (interpreter, "-I", "-S", "-c", source(), place, str(port))
