"""A network of the test's own: a namespace for each process of a cluster, whose links can be cut."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

#: The network namespace of a process, among the flags of setns.
CLONE_NEWNET = 0x40000000


def run(*command: str) -> None:
    """Run a command. Raises OSError with what it says."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


def ip(*arguments: str) -> None:
    """Run iproute2's ip. Raises OSError with what it says."""
    run("ip", *arguments)


class Namespaces:
    """Hosts that are network namespaces, joined by a bridge in a namespace more; the machine's own is left as it is.

    See Loopback. They last until ``stack`` is closed. Raises OSError where they cannot be made.
    """

    lack: str | None = None

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._name = f"crab-{os.getpid()}-{secrets.token_hex(3)}"
        self._hub = f"{self._name}-hub"
        self._hosts = 0
        self._stack = stack
        self._add(self._hub)
        run(*self.inside("hub"), "true")
        ip("-n", self._hub, "link", "add", "bridge", "type", "bridge")
        ip("-n", self._hub, "addr", "add", "10.0.0.1/24", "dev", "bridge")
        ip("-n", self._hub, "link", "set", "bridge", "up")

    def join(self, name: str) -> str:
        """The address of a host, which is made now."""
        self._hosts += 1
        host, address = f"{self._name}-{name}", f"10.0.0.{self._hosts + 1}"
        self._add(host)
        ip("-n", self._hub, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", host)
        ip("-n", self._hub, "link", "set", name, "master", "bridge", "up")
        ip("-n", host, "addr", "add", f"{address}/24", "dev", "eth0")
        ip("-n", host, "link", "set", "eth0", "up")
        return address

    def inside(self, name: str) -> list[str]:
        """Return the beginning of a command to run on a host; ip's own exec hides the control groups in /sys."""
        return ["nsenter", f"--net=/run/netns/{self._name}-{name}", "--"]

    def listener(self) -> socket.socket:
        """A bound socket of the hub."""
        made: list[socket.socket] = []

        def listen() -> None:
            with Path(f"/run/netns/{self._hub}").open() as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) == 0:
                    made.append(socket.create_server(("10.0.0.1", 0)))

        thread = threading.Thread(target=listen)  # it alone changes over, and a socket stays where it was made
        thread.start()
        thread.join()
        return made[0]

    def cut(self, name: str) -> None:
        """Let nothing come from a host or to it."""
        ip("-n", self._hub, "link", "set", name, "down")

    def mend(self, name: str) -> None:
        """Join a host again that was cut off."""
        ip("-n", self._hub, "link", "set", name, "up")

    def _add(self, namespace: str) -> None:
        ip("netns", "add", namespace)
        self._stack.callback(ip, "netns", "delete", namespace)
        ip("-n", namespace, "link", "set", "lo", "up")


@pytest.fixture
def network(network: Any, without: Callable[[str, str], NoReturn]) -> Iterator[Any]:
    """Network namespaces; loopback where they cannot be made, unless CRAB_TEST_REQUIRE has root."""
    with contextlib.ExitStack() as stack:
        try:
            network = Namespaces(stack)
        except OSError as error:
            network.lack = f"no network namespaces: {error}"
            with contextlib.suppress(pytest.skip.Exception):
                without("root", network.lack)
        yield network
