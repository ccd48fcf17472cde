"""An HTTP proxy to the internet and to nothing of this machine; it serves until its input ends.

Its argument is the number of the open file that is its listening socket. It resolves names itself and connects to
addresses that it has checked. It goes through the proxies of its environment (HTTP_PROXY and the like); since a proxy
resolves names again, every address that a name has here must be allowed then. It passes on one request for each
connection, written anew: no host reads another one in it.
"""

from __future__ import annotations

import asyncio
import base64
import errno
import ipaddress
import os
import re
import socket
import ssl
import sys
import urllib.parse
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

_MOST_CONNECTIONS = 256
_SECONDS = 30.0
_CHUNK = 65536
_HOP = (b"host", b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"upgrade")
_FIRST = re.compile(rb"(?P<method>[A-Z]+) (?P<target>[!-~]+) HTTP/1\.[01]")
_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*")
_CHUNK_HEAD = re.compile(rb"(?P<size>[0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_HOST = re.compile(r"[A-Za-z0-9._:-]+")
#: Services of clouds that tell a machine its own credentials, besides those at link-local addresses.
_METADATA = ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254")

_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
#: Passes on what comes after the head of a request.
_Send = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Refused(Exception):
    """A request that is not passed on: the status of the answer, and the reason."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def is_allowed(address: str) -> bool:
    """Return whether an address may be connected to: none of this machine, of its link, of a group, or reserved."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:  # such as one with a scope, which is of a link
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        ip = ip.ipv4_mapped or ip
    special = ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified or ip.is_reserved
    nowhere = ip.version == 4 and int(ip) >> 24 == 0
    return not (special or nowhere or str(ip) in _METADATA or _is_own(ip))


def _is_own(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether the kernel delivers to this machine what is sent there: only then can a socket be bound to it."""
    try:
        with socket.socket(socket.AF_INET if ip.version == 4 else socket.AF_INET6, socket.SOCK_DGRAM) as tried:
            tried.bind((str(ip), 0))
    except OSError as error:
        return error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
    return True


def proxy_for(scheme: str, host: str) -> urllib.parse.SplitResult | None:
    """Return the proxy that this machine's environment names for a host, None: it is reached directly."""
    proxies = urllib.request.getproxies_environment()
    named = proxies.get(scheme) or proxies.get("all")
    if not named or urllib.request.proxy_bypass(host):
        return None
    return urllib.parse.urlsplit(named if "://" in named else f"http://{named}")


async def _addresses(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a name, none if it has none here. Raises Refused for a name of this machine or none."""
    if _HOST.fullmatch(host) is None:
        raise Refused("400 Bad Request", "a host is named by letters, digits and dots, or by its address")
    if host.rstrip(".").lower().endswith("localhost"):
        raise Refused("403 Forbidden", f"{host} is this machine")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(where[4][0]) for where in found))


async def _connect(scheme: str, host: str, port: int) -> tuple[_Streams, str | None]:
    """Connect to a host, or to the proxy before it; return that proxy's own header too. Raises Refused, OSError."""
    found = await _addresses(host, port)
    allowed = [address for address in found if is_allowed(address)]
    proxy = proxy_for(scheme, host)
    if (found and not allowed) or (proxy is not None and len(allowed) < len(found)):
        raise Refused("403 Forbidden", f"{host} is this machine or its link, which the sandbox does not reach")
    if proxy is not None and proxy.hostname:
        context = ssl.create_default_context() if proxy.scheme == "https" else None
        default = 443 if context else 80
        opened = asyncio.open_connection(proxy.hostname, proxy.port or default, ssl=context)
        return await asyncio.wait_for(opened, _SECONDS), _authorization(proxy)
    for address in allowed:
        try:
            return await asyncio.wait_for(asyncio.open_connection(address, port), _SECONDS), None
        except (OSError, asyncio.TimeoutError):
            continue
    raise Refused("502 Bad Gateway", f"{host} cannot be reached" if found else f"{host} is no name that is known here")


def _authorization(proxy: urllib.parse.SplitResult) -> str:
    if proxy.username is None:
        return ""
    pair = f"{urllib.parse.unquote(proxy.username)}:{urllib.parse.unquote(proxy.password or '')}"
    return f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"


async def _tunnel(target: str) -> _Streams:
    """Open a tunnel to HOST:PORT."""
    parts = urllib.parse.urlsplit(f"//{target}")
    host, port = parts.hostname or "", parts.port or 443
    (reader, writer), header = await _connect("https", host, port)
    if header is None:
        return reader, writer
    name = f"[{host}]" if ":" in host else host
    writer.write(f"CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}:{port}\r\n{header}\r\n".encode())
    answer = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _SECONDS)).split(b"\r\n")[0]
    if answer.split()[1:2] != [b"200"]:
        writer.close()
        raise Refused("502 Bad Gateway", f"the proxy of this machine said {answer.decode('latin-1')}")
    return reader, writer


async def _request(method: str, target: str, lines: Sequence[bytes]) -> tuple[_Streams, _Send]:
    """Send on the head of a request for an http:// address; the connection is for this one host."""
    parts = urllib.parse.urlsplit(target)
    host, port = parts.hostname, parts.port or 80
    if parts.scheme != "http" or not host:
        raise Refused("400 Bad Request", "a proxy is asked for http://HOST/..., or by CONNECT")
    if method == "TRACE":
        raise Refused("405 Method Not Allowed", "the answer would tell what is added on the way")
    length = _length(lines)
    (reader, writer), header = await _connect("http", host, port)
    name = (f"[{host}]" if ":" in host else host) + ("" if port == 80 else f":{port}")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = [line for line in lines if line.split(b":")[0].lower() not in _HOP]
    first = f"{method} {path if header is None else f'http://{name}{path}'} HTTP/1.1\r\nHost: {name}\r\n{header or ''}"
    writer.write(b"\r\n".join([f"{first}Connection: close".encode(), *kept, b"", b""]))
    return (reader, writer), partial(_send_body, length=length)


def _length(lines: Sequence[bytes]) -> int | None:
    """Return the length of a request's body, None: it comes in chunks. Raises Refused where it can be read two ways."""
    fields = [(name.lower(), value.strip().lower()) for name, _, value in (line.partition(b":") for line in lines)]
    lengths = [value for name, value in fields if name == b"content-length"]
    codings = [value for name, value in fields if name == b"transfer-encoding"]
    if codings == [b"chunked"] and not lengths:
        return None
    if codings or len(lengths) > 1 or not all(value.isdigit() for value in lengths):
        raise Refused("400 Bad Request", "the length of the request can be read in several ways")
    return int(lengths[0]) if lengths else 0


async def _open(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, full: bool) -> tuple[_Streams, _Send]:
    """Read what a contestant asks for, and connect there. Raises Refused, and what a malformed request raises."""
    if full:
        raise Refused("503 Service Unavailable", "too many connections are open")
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _SECONDS)
    start, *lines = head[:-4].split(b"\r\n")
    first = _FIRST.fullmatch(start)
    if first is None or not all(map(_LINE.fullmatch, lines)):
        raise Refused("400 Bad Request", "this is no request of HTTP/1.1")
    method, target = first["method"].decode(), first["target"].decode()
    if method != "CONNECT":
        return await _request(method, target, lines)
    there = await _tunnel(target)
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    return there, _pump


async def _send_body(reader: asyncio.StreamReader, target: asyncio.StreamWriter, *, length: int | None) -> None:
    """Pass on the body of a request, and nothing behind it. Raises ValueError where its chunks cannot be read."""
    if length is not None:
        await _copy(reader, target, length)
    else:
        await _send_chunks(reader, target)
    while await reader.read(_CHUNK):  # another request, which was not looked at
        pass
    if target.can_write_eof():
        target.write_eof()


async def _send_chunks(reader: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    size = 1
    while size:
        head = _CHUNK_HEAD.fullmatch(await reader.readuntil(b"\r\n"))
        if head is None:
            raise ValueError("this is no chunk")
        size = int(head["size"], 16)
        if size:
            target.write(b"%x\r\n" % size)
            await _copy(reader, target, size)
            if await reader.readexactly(2) != b"\r\n":
                raise ValueError("a chunk is longer than it says")
            target.write(b"\r\n")
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    target.write(b"0\r\n\r\n")


async def _copy(reader: asyncio.StreamReader, target: asyncio.StreamWriter, count: int) -> None:
    while count and (chunk := await reader.read(min(count, _CHUNK))):
        count -= len(chunk)
        target.write(chunk)
        await target.drain()


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while chunk := await source.read(_CHUNK):
        target.write(chunk)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()


class WayOut:
    """Serves connections, a limited number at a time."""

    def __init__(self) -> None:
        self._open = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a contestant; whatever it sends, only this connection ends."""
        self._open += 1
        there: asyncio.StreamWriter | None = None
        try:
            (back, there), send = await _open(reader, writer, full=self._open > _MOST_CONNECTIONS)
            await asyncio.gather(send(reader, there), _pump(back, writer))
        except Refused as refused:
            body = f"pytest-crab: {refused}\n".encode("ascii", "replace")
            head = f"HTTP/1.1 {refused.status}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
        except (OSError, ValueError, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError):
            if there is None:
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        finally:
            self._open -= 1
            for side in (writer, there):
                if side is not None:
                    side.close()


async def main(listener: int) -> None:
    """Serve until the input ends, which it does with the process that started this one."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), ended.set)
    server = await asyncio.start_unix_server(WayOut().serve, sock=socket.socket(fileno=listener))
    await ended.wait()
    server.close()
    os._exit(0)  # a name that is being looked up may take long


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
