"""The way from a clone to the internet: nothing of this machine is on it, and this machine's own proxies are."""

from __future__ import annotations

import base64
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_crab.protocols import CloneRequest
from pytest_crab.runtimes import way_out_proxy
from pytest_crab.runtimes.way_out import way_out

if TYPE_CHECKING:
    from conftest import Place

ASKS = """\
import sys, urllib.request, urllib.error
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
except OSError as error:
    print(error)
"""
#: Reaches past the proxy for what listens on this machine.
PAST = """\
import socket, sys
for family, address in ((socket.AF_INET, ("127.0.0.1", int(sys.argv[1]))), (socket.AF_UNIX, "\\0" + sys.argv[2])):
    with socket.socket(family) as peer:
        try:
            peer.connect(address)
        except OSError as error:
            print(type(error).__name__)
        else:
            print("reached")
"""


@contextmanager
def serving(listener: socket.socket, answer: bytes, *, whole: bool = False) -> Iterator[list[bytes]]:
    """Answers each connection to a listener; the heads that were sent, or all that was."""
    heads: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                heads.append(peer.recv(65536))
                peer.settimeout(0.5)
                with suppress(TimeoutError):
                    while whole and (more := peer.recv(65536)):
                        heads[-1] += more
                peer.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield heads
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def own_address() -> str:
    """An address of this machine that is not on loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.9.10", "0.0.0.0", "0.1.2.3", "::1", "::", "::ffff:127.0.0.1", "169.254.169.254"),
        *("fe80::1", "fe80::1%lo", "::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200", "224.0.0.1"),
        *("ff02::1", "255.255.255.255", "240.0.0.1", "localhost", ""),
    ],
)
def test_an_address_of_this_machine_or_its_link_is_not_allowed(address: str) -> None:
    assert not way_out_proxy.is_allowed(address)


def test_the_machines_own_addresses_are_not_allowed_and_others_are() -> None:
    assert not way_out_proxy.is_allowed(own_address())
    assert way_out_proxy.is_allowed("192.0.2.1")
    assert way_out_proxy.is_allowed("2001:db8::1")


def ask(path: Path, request: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(30)
        peer.connect(str(path))
        peer.sendall(request)
        return b"".join(iter(lambda: peer.recv(65536), b""))


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    import tempfile

    with tempfile.TemporaryDirectory(prefix="crab-") as made:  # short, for the socket in it
        yield Path(made)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "x.localhost.", "2130706433", "127.1", "0x7f.1", "[::1]"])
@pytest.mark.parametrize("form", ["CONNECT {host}:{port} HTTP/1.1", "GET http://{host}:{port}/ HTTP/1.1"])
def test_nothing_of_this_machine_is_reached(folder: Path, host: str, form: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with serving(listener, b"HTTP/1.1 200 OK\r\n\r\ninside") as heads, way_out(folder) as path:
        said = ask(path, f"{form.format(host=host, port=listener.getsockname()[1])}\r\n\r\n".encode())
    assert said.startswith(b"HTTP/1.1 403 "), said
    assert heads == []


@pytest.mark.parametrize(
    "request_", [b"\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"CONNECT a:b c\r\n\r\n", b"\xff" * 99999]
)
def test_a_malformed_request_ends_its_own_connection_alone(folder: Path, request_: bytes) -> None:
    with way_out(folder) as path:
        for _ in range(3):
            try:
                said = ask(path, request_)
            except (BrokenPipeError, ConnectionResetError):
                continue
            assert said.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 502 ")), said


def test_the_machines_own_proxy_is_gone_through(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setenv("https_proxy", f"http://user:secret@127.0.0.1:{listener.getsockname()[1]}")
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{listener.getsockname()[1]}")
    with serving(listener, b"HTTP/1.1 200 OK\r\n\r\nanswer") as heads, way_out(folder) as path:
        tunnel = ask(path, b"CONNECT 192.0.2.1:443 HTTP/1.1\r\nProxy-Authorization: Basic contestant\r\n\r\n")
        plain = ask(path, b"GET http://192.0.2.1/a?b=c HTTP/1.1\r\nHost: 192.0.2.1\r\nKeep-Alive: 9\r\n\r\n")
        own = ask(path, b"CONNECT 127.0.0.1:9 HTTP/1.1\r\n\r\n")
    assert tunnel == b"HTTP/1.1 200 Connection established\r\n\r\nanswer"
    assert plain.endswith(b"answer")
    assert own.startswith(b"HTTP/1.1 403 ")
    secret = base64.b64encode(b"user:secret")
    assert heads == [
        b"CONNECT 192.0.2.1:443 HTTP/1.1\r\nHost: 192.0.2.1:443\r\nProxy-Authorization: Basic " + secret + b"\r\n\r\n",
        b"GET http://192.0.2.1/a?b=c HTTP/1.1\r\nHost: 192.0.2.1\r\nConnection: close\r\n\r\n",
    ]


#: Each asks a host that is allowed for something, and this machine's own proxy for more where it is read carelessly.
_OUTER = b"http://192.0.2.1/"
_INNER = b"GET http://127.0.0.1:9/secret HTTP/1.1\r\n\r\n"
SMUGGLED = {
    "behind it": b"GET %s HTTP/1.1\r\n\r\n" % _OUTER + _INNER,
    "behind its body": b"POST %s HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody" % _OUTER + _INNER,
    "behind its chunks": b"POST %s HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n" % _OUTER + _INNER,
    "of two lengths": b"POST %s HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 42\r\n\r\n" % _OUTER + _INNER,
    "of a length and chunks": b"POST %s HTTP/1.1\r\nContent-Length: 42\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    % _OUTER
    + _INNER,
    "in its address": b"GET %s\nX:y\n\nGET\thttp://127.0.0.1:9/secret HTTP/1.1\r\n\r\n" % _OUTER,
    "in a line of its head": b"GET %s HTTP/1.1\r\nX: y\n\n" % _OUTER + _INNER,
    "in the line before one": b"GET %s HTTP/1.1\r\n GET http://127.0.0.1:9/secret HTTP/1.1\r\n\r\n" % _OUTER,
    "as a name with an escape": b"GET http://127%2e0.0.1:9/secret HTTP/1.1\r\n\r\n",
    "before a backslash": b"GET http://127.0.0.1:9\\@192.0.2.1/secret HTTP/1.1\r\n\r\n",
    "in the name of its host": b"GET %s HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n" % _OUTER,
    "by what answers with its own head": b"TRACE %s HTTP/1.1\r\nMax-Forwards: 0\r\n\r\n" % _OUTER,
}


def careless(request_: bytes) -> bytes:
    """What a relay that looks at the address alone sends on."""
    return request_.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nProxy-Authorization: Basic secret\r\n", 1)


@pytest.mark.parametrize("request_", SMUGGLED.values(), ids=SMUGGLED)
def test_the_machines_own_proxy_reads_one_request_for_the_host_that_was_looked_at(
    folder: Path, monkeypatch: pytest.MonkeyPatch, request_: bytes
) -> None:
    assert any(part in careless(request_) for part in (b"127.0.0.1", b"127%2e", b"TRACE")), "the attack shows nothing"
    listener = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setenv("http_proxy", f"http://user:secret@127.0.0.1:{listener.getsockname()[1]}")
    with serving(listener, b"HTTP/1.1 200 OK\r\n\r\nanswer", whole=True) as sent, way_out(folder) as path:
        said = ask(path, request_)
    assert not any(part in b"".join(sent) for part in (b"127.0.0.1", b"127%2e", b"TRACE")), sent
    assert said.startswith(b"HTTP/1.1 200 " if sent else b"HTTP/1.1 40"), said


def test_a_body_goes_on_whole_whatever_form_it_has(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{listener.getsockname()[1]}")
    body = b"x" * 200_000
    head = b"POST http://192.0.2.1/ HTTP/1.1\r\n"
    with serving(listener, b"HTTP/1.1 200 OK\r\n\r\nanswer", whole=True) as sent, way_out(folder) as path:
        ask(path, head + b"Content-Length: 200000\r\n\r\n" + body)
        ask(path, head + b"Transfer-Encoding: chunked\r\n\r\n30D40;x=y\r\n" + body + b"\r\n0\r\nA: b\r\n\r\n")
    assert [one.partition(b"\r\n\r\n")[2] for one in sent] == [body, b"30d40\r\n" + body + b"\r\n0\r\n\r\n"]


def test_a_request_for_a_host_goes_there_as_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the internet is here: a host that the checks take for one of it."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    source = Path(way_out_proxy.__file__).read_text().replace("return not (special", "return True or (special")
    with serving(listener, b"HTTP/1.1 200 OK\r\n\r\nanswer") as heads, socket.socket(socket.AF_UNIX) as own:
        own.bind(str(folder / "s"))
        own.listen()
        argv = [sys.executable, "-I", "-S", "-c", source, str(own.fileno())]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, pass_fds=[own.fileno()]) as proxy:
            said = ask(folder / "s", f"POST http://127.0.0.1:{port}/a HTTP/1.1\r\nX-Y: h\r\n\r\n".encode())
            assert proxy.stdin is not None
            proxy.stdin.close()
            assert proxy.wait(20) == 0
    assert said == b"HTTP/1.1 200 OK\r\n\r\nanswer"
    assert (
        b"".join(heads) == f"POST /a HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nX-Y: h\r\n\r\n".encode()
    )


@pytest.mark.slow(reason="a clone with a network is made, under each runtime")
@pytest.mark.bubblewrap
def test_a_clone_reaches_nothing_of_this_machine(place: Place) -> None:
    abstract = f"crab-test-{id(place)}"
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as named:
        named.bind("\0" + abstract)
        named.listen()
        port = listener.getsockname()[1]
        request = CloneRequest(network=True, readable=(Path(sys.executable), Path(sys.base_prefix)))
        with place.runtime.clone(place.snapshot, request) as clone:
            python = ["/usr/bin/env", "python3"]
            past = clone.run([*python, "-c", PAST, str(port), abstract], seconds=60)
            through = clone.run([*python, "-c", ASKS, f"http://{own_address()}:{port}/"], seconds=60)
    assert past.stdout.split() == [b"ConnectionRefusedError"] * 2, past
    refused = b"<urlopen error" if own_address() == "127.0.0.1" else b"403 pytest-crab: "  # who has no other address
    assert through.stdout.startswith(refused), through
