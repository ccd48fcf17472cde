"""A server of reports for the person at this machine: it listens on the loopback address and asks for a token.

The standard library's server is enough: it answers GET with pages and parts of them, made from records alone.
Every path starts with the token, so that other users of the machine and other pages in the browser cannot read reports.
"""

from __future__ import annotations

import http.server
import json
import secrets
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from typing_extensions import override

from pytest_crab.errors import BadInput, CrabError
from pytest_crab.results.kept_runs import RUNS
from pytest_crab.show.live import LiveReport, ServedPage, find_reports, list_page

HOST = "127.0.0.1"

#: Nothing may frame a page, guess its type, keep it, or learn its address.
_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class LocalServer(http.server.ThreadingHTTPServer):
    """Serves the person at this machine until ``shutdown``; ``url`` has the token. Raises OSError."""

    daemon_threads = True

    def __init__(self, handler: type[LocalHandler], port: int = 0) -> None:
        self._token = secrets.token_urlsafe(24)
        super().__init__((HOST, port), handler)

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        return f"http://{HOST}:{self.server_port}/{self._token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what went wrong, but for a browser that went away before it had its answer."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def is_asked_here(self, host: str) -> bool:
        """Return whether a request names this server as its host, and not a name that was made to point here."""
        return host in (f"{HOST}:{self.server_port}", f"localhost:{self.server_port}")

    def route(self, path: str) -> list[str] | None:
        """Return the parts of a path behind the token; None if the token is wrong."""
        empty, token, *rest = path.split("/") if path.count("/") > 1 else ("", "", "")
        known = secrets.compare_digest(token.encode(), self._token.encode())
        return rest if known and not empty else None


class LocalHandler(http.server.BaseHTTPRequestHandler, ABC):
    """Answers whoever has the token; ``answer`` gets the parts of a path behind it."""

    server: LocalServer
    protocol_version = "HTTP/1.1"
    server_version = "pytest-crab"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """Answer with what a path names."""
        path = urlsplit(self.path).path
        if path == "/favicon.ico":  # browsers ask for it by themselves, and complain of a refusal
            self.send(HTTPStatus.NO_CONTENT, b"", "text/plain")
            return
        self.answer_with(self.answer)

    def answer_with(self, answer: Callable[[list[str]], None]) -> None:
        """Let ``answer`` answer a path with the right token, and refuse any other one."""
        path = urlsplit(self.path).path
        parts = self.server.route(path)
        if not self.server.is_asked_here(self.headers.get("Host", "")) or parts is None:
            self.send(HTTPStatus.FORBIDDEN, b"Open the address that pytest-crab printed.\n", "text/plain")
            return
        try:
            answer(parts)
        except (CrabError, OSError) as error:
            self.send(HTTPStatus.INTERNAL_SERVER_ERROR, f"{error}\n".encode(), "text/plain")

    @abstractmethod
    def answer(self, parts: list[str]) -> None:
        """Answer a GET. Raises CrabError, OSError."""

    def send_page(self, page: ServedPage) -> None:
        """Send a page with its content security policy."""
        policy = f"{page.policy}; frame-ancestors 'none'"
        self.send(HTTPStatus.OK, page.body, "text/html", {"Content-Security-Policy": policy})

    def send(self, status: HTTPStatus, body: bytes, kind: str, more: Mapping[str, str] | None = None) -> None:
        """Send an answer that nothing keeps or frames."""
        strict = {"Content-Security-Policy": "default-src 'none'"}
        self.send_response(status)
        for name, value in {**_HEADERS, **strict, **(more or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
        """Print nothing: paths have the token."""


class ViewServer(LocalServer):
    """Serves the reports of one place."""

    def __init__(self, place: Path, port: int = 0) -> None:
        self.place = place
        self._reports: dict[Path, LiveReport] = {}
        self.alone: LiveReport | None = None  # whose page is the first one, and may be open when others follow
        super().__init__(_Handler, port)

    def reports(self) -> dict[str, LiveReport]:
        """Return the reports that there are now, by name."""
        folders = {_name(one, self.place): one for one in find_reports(self.place)}
        found = {name: self._reports.setdefault(one, LiveReport(one)) for name, one in folders.items()}
        if len(found) == 1:
            (self.alone,) = found.values()
        return found

    def prepare(self) -> None:
        """Make the page of a single report, so that it is there when a browser opens it; errors are shown then."""
        reports = self.reports()
        if len(reports) == 1:
            with suppress(BadInput, OSError):
                next(iter(reports.values())).page(several=False)


def _name(report: Path, place: Path) -> str:
    return str(report.relative_to(place / RUNS if report.parent == place / RUNS else place))


class _Handler(LocalHandler):
    server: ViewServer

    @override
    def answer(self, parts: list[str]) -> None:
        reports = self.server.reports()
        several = len(reports) > 1
        if (several or not reports) and parts == [""]:
            self.send_page(list_page(self.server.place, reports))
            return
        report = self.server.alone
        if unquote(parts[0]) in reports:
            report = reports[unquote(parts.pop(0))]
        if report is not None and parts == [""]:
            self.send_page(report.page(several=several))
        elif report is not None and (found := self._find(report, parts, several=several)) is not None:
            body = found if isinstance(found, str) else json.dumps(found, allow_nan=False)
            self.send(HTTPStatus.OK, body.encode(), "text/html" if isinstance(found, str) else "application/json")
        else:
            self.send(HTTPStatus.NOT_FOUND, b"There is no such page.\n", "text/plain")

    def _find(self, report: LiveReport, parts: list[str], *, several: bool) -> object:
        """Return what a page of a report asks for: HTML as text, or plain data; None: there is no such thing."""
        match parts:
            case ["state"]:
                return report.news()
            case ["plan"]:
                return report.plan()
            case ["part", name]:
                return report.part(name, several=several)
            case ["rows", records, start]:
                return report.rows(records, start)
        return report.detail(parts)
