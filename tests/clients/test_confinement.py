"""What a client's commands can reach from where it runs, and that nothing of them outlives its step."""

from __future__ import annotations

import base64
import json
import os
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.errors import AgentError
from pytest_crab.testing.provider import run, say, turns

KINDS = [
    pytest.param("local", marks=pytest.mark.bubblewrap),
    pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.bubblewrap]),
]
KEY = "sk-planted-9f31c7d2-do-not-tell"

PROBE = r"""
import json, os, socket, subprocess, sys, urllib.error, urllib.request
def reach(way):
    try:
        return way() or "reached"
    except Exception as error:
        return "no: %s" % type(error).__name__
def tcp(host, port):
    def way():
        socket.create_connection((host, port), timeout=2).close()
    return way
def gateway(token, path="anthropic/v1/messages"):
    def way():
        headers = {"authorization": "Bearer " + token, "content-type": "application/json"}
        data = json.dumps({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}).encode()
        request = urllib.request.Request("http://127.0.0.1:8417/" + path, data, headers)
        try:
            return urllib.request.urlopen(request, timeout=5).status
        except urllib.error.HTTPError as error:
            return error.code
    return way
def udp():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))
def six():
    socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).connect(("2001:db8::1", 53))
def engine():
    socket.socket(socket.AF_UNIX).connect("/var/run/docker.sock")
address, port, foreign = sys.argv[1:]
own = os.environ.get("ANTHROPIC_API_KEY", "")
places = [os.path.join(top, name) for top, _, names in os.walk("/home") for name in names]
print(json.dumps({
    "gateway": reach(gateway(own)),
    "foreign token": reach(gateway(foreign)),
    "no token": reach(gateway("")),
    "other provider": reach(gateway(own, "openai/v1/chat/completions")),
    "host": reach(tcp(address, int(port))),
    "metadata": reach(tcp("169.254.169.254", 80)),
    "name": reach(lambda: socket.getaddrinfo("example.org", 80) and None),
    "udp": reach(udp),
    "ipv6": reach(six),
    "engine": reach(engine),
    "interfaces": sorted(os.listdir("/sys/class/net")) if os.path.isdir("/sys/class/net") else ["lo"],
    "user": os.getuid(),
    "trees": [path for path in os.environ["TREES"].split(":") if os.access(path, os.W_OK)],
    "root": os.access("/etc", os.W_OK),
    "tmp": os.path.commonprefix([os.environ["CLAUDE_CONFIG_DIR"], "/tmp/"]) == "/tmp/",
}))
"""


def host_address() -> str:
    """An address of this machine that is not its loopback: what a bridge would lead to."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.2"
        return str(probe.getsockname()[0])


@pytest.mark.client("claude-code")
@pytest.mark.parametrize("kind", KINDS)
def test_the_gateway_is_all_that_it_reaches(kind: str, make_desk: Callable[..., Any]) -> None:
    desk = make_desk(kind)
    other = desk.gateway.open(trial="another", step="review", attempt=1)
    with other as access, socket.create_server(("0.0.0.0", 0)) as server:
        address, port = host_address(), server.getsockname()[1]
        socket.create_connection((address, port), timeout=2).close()  # it would answer
        code = base64.b64encode(PROBE.encode()).decode()
        start = "import base64, sys; exec(base64.b64decode(sys.argv.pop(1)))"
        command = f"TREES={desk.trees('claude-code')} {desk.image.interpreter} -c '{start}' {code}"
        steps = turns(run(f"{command} {address} {port} {access.token} > told.json"), say("done"))
        done = desk.revise("claude-code", lambda asked: steps(asked) if asked.tools else say("reached"))
    told = json.loads("".join(re.findall(r"^\+(\{.*)$", done.diff, re.MULTILINE)))
    assert told["gateway"] == 200
    assert told["foreign token"] == told["no token"] == 401
    assert told["other provider"] == 403
    for way in ("host", "metadata", "name", "udp", "ipv6", "engine"):
        assert str(told[way]).startswith("no: "), (way, told)
    assert told["interfaces"] == ["lo"]
    assert told["user"] == 1000
    assert told["trees"] == []
    assert told["root"] is False
    assert told["tmp"] is False
    assert KEY not in done.diff


@pytest.mark.client("claude-code", "codex")
@pytest.mark.parametrize("client", ["claude-code", "codex"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_deadline_ends_what_the_clients_shell_started(
    kind: str, client: str, make_desk: Callable[..., Any]
) -> None:
    desk = make_desk(kind)
    nap = f"61{os.getpid()}.{time.monotonic_ns()}"
    with pytest.raises(AgentError) as caught:
        desk.revise(client, turns(run(f"setsid sleep {nap} & sleep {nap}"), say("done")), timeout=4)
    assert caught.value.status == "timeout"
    assert [line for line in command_lines() if f"sleep {nap}" in line] == []
    assert desk.left() == []


def command_lines() -> list[str]:
    """The command lines of all processes of this machine."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found
