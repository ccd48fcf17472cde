"""From files to records, one line at a time."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeVar

from logparse.records import ParseError

Record = TypeVar("Record")


def read_lines(path: str | os.PathLike[str]) -> Iterator[str]:
    """The lines of a plain or gzipped file; bytes that are no UTF-8 are replaced."""
    opener = gzip.open if os.fspath(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as stream:
        for line in stream:
            yield line.rstrip("\n")


def read_records(
    source: str | os.PathLike[str] | Iterable[str],
    parse: Callable[[str], Record],
    *,
    errors: Literal["skip", "raise"] = "skip",
) -> Iterator[Record]:
    """Parse every line of *source*, a path or any iterable of lines. Blank lines are ignored."""
    lines = read_lines(source) if isinstance(source, (str, os.PathLike)) else source
    for line in lines:
        if not line.strip():
            continue
        try:
            yield parse(line)
        except ParseError:
            if errors == "raise":
                raise
