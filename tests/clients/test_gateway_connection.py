"""Requests to the gateway's socket: answers in pieces, in chunks, cut or late, and many at a time."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_crab.clients.gateway_connection import GatewayConnection, GatewayRequest
from pytest_crab.scratch import scratch

#: What a server does with one connection.
Serve = Callable[[socket.socket], None]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def read_request(connection: socket.socket) -> tuple[str, bytes]:
    """Return the first line and the body of the next request; an empty line where there is none."""
    held = b""
    while b"\r\n\r\n" not in held:
        piece = connection.recv(1 << 16)
        if not piece:
            return "", b""
        held += piece
    head, _, body = held.partition(b"\r\n\r\n")
    (length,) = (int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
    while len(body) < length:
        body += connection.recv(1 << 16)
    return head.split(b"\r\n")[0].decode(), body


class Server:
    """A server on a Unix socket, with a thread for each connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.serve: Serve = lambda _connection: None
        self.connections = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            self.serve(connection)

    def close(self) -> None:
        """End, once every client has left."""
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def say(self, *pieces: bytes) -> None:
        """Answer each request with these bytes, sent one after the other."""

        def serve(connection: socket.socket) -> None:
            while read_request(connection)[0]:
                for piece in pieces:
                    connection.sendall(piece)

        self.serve = serve


@pytest.fixture
def server() -> Iterator[Server]:
    with scratch("gateway") as folder:
        opened = Server(folder / "s")
        yield opened
        opened.close()


@pytest.fixture
def client(server: Server) -> Iterator[GatewayConnection]:
    opened = GatewayConnection(server.path)
    yield opened
    opened.close()


def ask(client: GatewayConnection, timeout: float = 30) -> tuple[int, str]:
    return client.post(GatewayRequest("/here/one two", {"a": "é"}), {"authorization": "Bearer t"}, timeout)


def test_a_request_is_one_line_headers_and_a_document(server: Server, client: GatewayConnection) -> None:
    heard: list[tuple[str, bytes]] = []

    def serve(connection: socket.socket) -> None:
        heard.append(read_request(connection))
        connection.sendall(OK)

    server.serve = serve
    assert ask(client) == (200, "ok", "")
    ((line, body),) = heard
    assert line == "POST /here/one%20two HTTP/1.1"
    assert json.loads(body) == {"a": "é"}


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 418 Odd\r\nX-One: a: b\r\ncontent-LENGTH:  5 \r\n\r\n", b"h", "é".encode()[:1], b"\xa9!", b"!"],
        [
            b"HTTP/1.1 418 Odd\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n",
            b"4\r",
            b"\n\xc3\xa9!!\r\n0\r\n",
            b"\r\n",
        ],
    ],
)
def test_an_answer_may_come_in_pieces_and_in_chunks(
    server: Server, client: GatewayConnection, pieces: list[bytes]
) -> None:
    server.say(*pieces)
    assert [ask(client), ask(client)] == [(418, "hé!!", "")] * 2
    assert server.connections == 1


def test_a_long_request_and_a_long_answer_pass(server: Server, client: GatewayConnection) -> None:
    long = "x" * 3_000_000

    def serve(connection: socket.socket) -> None:
        body = read_request(connection)[1]
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    server.serve = serve
    code, text, _ = client.post(GatewayRequest("/p", {"long": long}), {}, 30)
    assert (code, json.loads(text)) == (200, {"long": long})


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour"]
)
def test_an_answer_that_is_cut_is_an_error(server: Server, client: GatewayConnection, said: bytes) -> None:
    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(said)
        connection.close()

    server.serve = serve
    with pytest.raises(ConnectionError, match="closed the connection"):
        ask(client)


@pytest.mark.parametrize("said", [b"what?\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: few\r\n\r\n"])
def test_what_is_not_http_is_an_error(server: Server, client: GatewayConnection, said: bytes) -> None:
    server.say(said)
    with pytest.raises(ConnectionError, match="not HTTP"):
        ask(client)


def test_what_an_answer_used_is_in_a_header(server: Server, client: GatewayConnection) -> None:
    server.say(OK.replace(b"OK\r\n", b'OK\r\nX-Crab-Usage: {"requests": 1}\r\n'))
    assert ask(client) == (200, "ok", '{"requests": 1}')


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour"])
def test_without_a_byte_in_time_it_is_over(server: Server, client: GatewayConnection, said: bytes) -> None:
    server.say(said)
    with pytest.raises(TimeoutError):
        ask(client, 0.1)


@pytest.mark.parametrize("said", [OK, OK.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n")])
def test_a_connection_that_was_closed_after_its_answer_is_not_used_again(
    server: Server, client: GatewayConnection, said: bytes
) -> None:
    closed = threading.Semaphore(0)

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(said)
        connection.shutdown(socket.SHUT_RDWR)
        closed.release()

    server.serve = serve
    for _ in range(3):
        assert ask(client) == (200, "ok", "")
        closed.acquire()
    assert server.connections == 3


def test_as_many_as_may_are_under_way_and_each_answer_has_its_number(server: Server, client: GatewayConnection) -> None:
    all_there = threading.Barrier(3, timeout=30)

    def serve(connection: socket.socket) -> None:
        while (asked := read_request(connection))[0]:
            all_there.wait()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + asked[1][-2:-1])

    server.serve = serve
    taken: list[int] = []

    def requests() -> Iterator[GatewayRequest]:
        for number in range(6):
            taken.append(number)
            yield GatewayRequest("/p", {"number": number})

    found = {}
    for number, answer in client.post_each(requests(), {}, 30, parallel=3):
        assert len(taken) <= len(found) + 3  # no request is made long before it is sent
        found[number] = answer.text
    assert found == {number: str(number) for number in range(6)}
    assert server.connections == 3


def test_a_failure_breaks_off_what_is_under_way(server: Server, client: GatewayConnection) -> None:
    left = threading.Semaphore(0)

    def serve(connection: socket.socket) -> None:
        if b"cut" in read_request(connection)[1]:
            connection.close()
        elif not connection.recv(1):
            left.release()

    server.serve = serve
    requests = [GatewayRequest("/p", {"what": what}) for what in ("wait", "cut", "wait")]
    with pytest.raises(ConnectionError):
        list(client.post_each(requests, {}, 30, parallel=3))
    assert left.acquire(timeout=30)
    assert left.acquire(timeout=30)
