"""Requests and responses, as plain values."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs


@dataclass(frozen=True)
class Request:
    """One request. ``path`` is decoded and has no query; header names are lower case."""

    method: str
    path: str
    query: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def params(self) -> dict[str, list[str]]:
        """The query, parsed: each name with all its values."""
        return parse_qs(self.query, keep_blank_values=True)


@dataclass
class Response:
    """One response. Header names are lower case."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def text(cls, text: str, status: int = 200) -> Response:
        """A plain text response in UTF-8."""
        return cls(status, text.encode(), {"content-type": "text/plain; charset=utf-8"})

    @classmethod
    def json(cls, value: Any, status: int = 200) -> Response:
        """A JSON response."""
        return cls(status, json.dumps(value).encode(), {"content-type": "application/json"})
