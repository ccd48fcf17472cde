"""The two ends of an isolated oracle at their socket: whichever comes first waits for the other."""

from __future__ import annotations

import socket
import subprocess
import sys
from importlib import resources
from pathlib import Path

ISOLATION = (resources.files("pytest_crab.harness.inside") / "isolation.py").read_text("utf-8")
SERVE = f"""{ISOLATION}
class Supervisor:
    job = {{"token": "t", "socket_folder": sys.argv[1]}}

listener = Server(Supervisor()).listener
listener.settimeout(5)
peer = Peer(listener.accept()[0])
peer.receive()
print(peer.data.decode())
"""


def test_who_waits_at_a_socket_that_was_handed_over_is_not_sent_away(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind(str(tmp_path / "crab.sock"))
        listener.listen()
        first.connect(str(tmp_path / "crab.sock"))
        first.sendall(b"here")
        argv = [sys.executable, "-I", "-S", "-c", SERVE, str(tmp_path)]
        done = subprocess.run(argv, pass_fds=[listener.fileno()], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("here\n", "")
