"""The client of a running gateway: its administration, and a connection that counts as a user."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
from pathlib import Path
from typing import Any

from pytest_crab.clients.gateway_connection import GatewayConnection, GatewayRequest
from pytest_crab.errors import GatewayError
from pytest_crab.text import last_line

#: Seconds: how long a gateway may take to answer its run, and to end.
ANSWER, END = 30.0, 5.0

#: Names in the gateway's folder.
ADMIN_SOCKET, LEASE_SOCKET, STEP_SOCKETS = "admin.sock", "lease.sock", "steps"

#: Gateways that others still use though their starter has left; kept, so that ended ones are reaped.
_LEFT: list[subprocess.Popen[bytes]] = []


class GatewayClient:
    """A user of a running gateway: asks its administration, and holds a connection for as long as it uses it."""

    def __init__(self, folder: Path, lease: socket.socket, process: subprocess.Popen[bytes] | None) -> None:
        self.folder = folder
        self.process = process
        self._lease = lease
        self._admin = GatewayConnection(folder / ADMIN_SOCKET)

    def ask(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask the administration. Raises GatewayError."""
        try:
            found = json.loads(self._admin.post(GatewayRequest(f"/{what}", body), {}, ANSWER).text)
        except (OSError, ValueError) as error:
            slow = isinstance(error, TimeoutError) and self.check()
            words = (not slow and last_words(self.folder)) or str(error) or type(error).__name__
            raise GatewayError(
                f"the gateway died or does not answer ({words}): run again, finished steps are kept", passing=True
            ) from error
        if found.get("unknown"):
            raise GatewayError("the gateway was restarted since this access was opened: run again", passing=True)
        assert isinstance(found, dict)
        return found

    def check(self) -> bool:
        """Return whether the gateway answers; kill one that hangs, so that waiting steps fail fast."""
        try:
            return self._admin.post(GatewayRequest("/usage", {"token": ""}), {}, ANSWER).status_code < 500
        except TimeoutError:
            if self.alive():
                with (
                    contextlib.suppress(OSError),  # it is ended all the same
                    (self.folder / "log").open("a", encoding="utf-8") as log,  # before others see it gone and ask why
                ):
                    log.write(f"\nit did nothing for {ANSWER:g} s and was ended\n")
                with contextlib.suppress(ProcessLookupError):  # it ended just now
                    os.kill(self._pid(), signal.SIGKILL)
        except OSError:
            pass  # it is gone, which the next question finds out
        return False

    def _pid(self) -> int:
        """Return the process at the other end."""
        credentials = self._lease.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[0])

    def alive(self, wait: float = 0.0) -> bool:
        """Return whether the gateway still holds its end of the connection after so many seconds."""
        return not readable(self._lease.fileno(), wait)

    def close(self) -> None:
        """Leave the gateway; the last one to leave ends it, and the one that started it sees to that."""
        self._admin.close()
        self._lease.close()
        process = self.process
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(END)
        except subprocess.TimeoutExpired:
            lease, users = join(self.folder, END)
            if lease is not None:
                lease.close()
            if users <= 1:  # only this look, so that it should have ended
                process.kill()
                process.wait()
            _LEFT[:] = [one for one in (*_LEFT, process) if one.poll() is None]


def join(folder: Path, seconds: float = ANSWER) -> tuple[socket.socket | None, int]:
    """Connect to a gateway as one more user (None: none is running); return the connection and the number of users."""
    lease = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    lease.settimeout(seconds)
    try:
        lease.connect(str(folder / LEASE_SOCKET))
        return lease, int(lease.recv(16))
    except (OSError, ValueError):
        lease.close()
        return None, 0


def readable(descriptor: int, seconds: float) -> bool:
    """Return whether there is something to read, or the other end is gone, within so many seconds."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(1000 * seconds))


def last_words(folder: Path) -> str:
    """Return the last line of the gateway's log."""
    try:
        return last_line((folder / "log").read_bytes())
    except OSError:
        return ""
