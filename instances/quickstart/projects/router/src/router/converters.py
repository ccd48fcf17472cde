"""How a placeholder matches a piece of the path, and what value it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote


@dataclass(frozen=True)
class Converter:
    """One kind of placeholder: ``regex`` must not contain capturing groups."""

    regex: str
    parse: Callable[[str], Any]
    format: Callable[[Any], str]


def _segment(value: Any) -> str:
    return quote(str(value), safe="")


def _rest(value: Any) -> str:
    return quote(str(value), safe="/")


CONVERTERS: dict[str, Converter] = {
    "str": Converter(r"[^/]+", str, _segment),
    "int": Converter(r"[0-9]+", int, lambda value: str(int(value))),
    "slug": Converter(r"[a-z0-9]+(?:-[a-z0-9]+)*", str, _segment),
    "path": Converter(r".+", str, _rest),
}
