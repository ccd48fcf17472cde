"""The way from a sandbox to the internet: a proxy of our own on the host, its socket bound inside, and a relay."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_crab.ecosystems import ECOSYSTEMS
from pytest_crab.ecosystems.building import PROXIES
from pytest_crab.errors import EngineError
from pytest_crab.program_texts import program_text
from pytest_crab.protocols import OWN_PLACES

#: Where the proxy's socket lies inside, and the port of its relay on 127.0.0.1 there.
SOCKET, PORT = f"{OWN_PLACES['models']}/internet.sock", 8418

_URL = f"http://127.0.0.1:{PORT}"
_OWN = "localhost,127.0.0.1,::1"

#: What tells programs of the proxy.
VARIABLES = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), _URL),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), _OWN),
    **{name: value for one in ECOSYSTEMS for name, value in one.proxy_variables.items()},
}


@contextmanager
def way_out(folder: Path) -> Iterator[Path]:
    """A proxy that listens on a socket in ``folder`` until the context ends; that socket. Raises EngineError."""
    path = folder / "internet.sock"
    env = {name: value for name, value in os.environ.items() if name.lower() in (*PROXIES, "ssl_cert_file")}
    source = program_text("pytest_crab.runtimes", "way_out_proxy")
    place = os.open(folder, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{place}/{path.name}")  # a socket's address may not be long
            path.chmod(0o666)
            listener.listen(128)
            # Whoever connects before the program runs waits in the socket's queue.
            argv = [sys.executable, "-I", "-S", "-c", source, str(listener.fileno())]
            proxy = subprocess.Popen(argv, stdin=subprocess.PIPE, env=env, pass_fds=[listener.fileno()])
    except OSError as error:
        raise EngineError(f"the way out of a sandbox could not be opened: {error}", passing=True) from error
    finally:
        os.close(place)
    with proxy:
        try:
            yield path
        finally:
            proxy.kill()
