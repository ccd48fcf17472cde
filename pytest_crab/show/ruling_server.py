"""A server of one page on which a person rules: it takes each ruling as the page sends it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from typing_extensions import override

from pytest_crab.errors import BadInput
from pytest_crab.show.live import ServedPage
from pytest_crab.show.view_server import LocalHandler, LocalServer

#: In bytes; a ruling has a text of a comment and a reason.
_LONGEST = 1 << 20


class RulingServer(LocalServer):
    """Serves what ``page`` makes, and hands each ruling to ``rule``.

    That returns sentences for the person who ruled, and raises CrabError for a ruling that is none or cannot be kept.
    """

    def __init__(self, page: Callable[[], ServedPage], rule: Callable[[Any], Sequence[str]], port: int = 0) -> None:
        self.page = page
        self.rule = rule
        super().__init__(_Handler, port)


class _Handler(LocalHandler):
    server: RulingServer

    @override
    def answer(self, parts: list[str]) -> None:
        if parts == [""]:
            self.send_page(self.server.page())
        else:
            self.send(HTTPStatus.NOT_FOUND, b"There is no such page.\n", "text/plain")

    def do_POST(self) -> None:  # noqa: N802 - the name that the base class looks for
        """Take a ruling."""
        self.answer_with(self._take)

    def _take(self, parts: list[str]) -> None:
        told = self.headers.get("Content-Length", "")
        length = int(told) if told.isdecimal() else 0
        is_json = self.headers.get("Content-Type", "").partition(";")[0] == "application/json"
        if parts != ["rule"] or not is_json or not 0 < length <= _LONGEST:
            self.close_connection = True  # what it sends besides is not read
            self.send(HTTPStatus.BAD_REQUEST, b"This is no ruling.\n", "text/plain")
            return
        try:
            sentences = self.server.rule(json.loads(self.rfile.read(length)))
        except (ValueError, RecursionError) as error:
            raise BadInput("the ruling", [f"it cannot be read ({error})"]) from None
        self.send(HTTPStatus.OK, "; ".join(sentences).encode(), "text/plain")
