"""The list of a curation's candidates, kept in the store: what ``--status`` and a resumed run begin with.

It has review comments as they were written, so it is no part of the set, which may be passed on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.atomic import write_atomically
from pytest_crab.curation.stages import ListedStage
from pytest_crab.errors import BadInput
from pytest_crab.text import split_lines
from pytest_crab.types import PullCandidate


def listing_path(store: Path, out: Path) -> Path:
    """Return the file with the list of the set in ``out``: a line on the source, and one for each candidate."""
    return store / "curations" / f"{serialization.digest(str(out.absolute()))[:16]}.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSource:
    """The source of a list, with its identity."""

    #: The source as it was named.
    source: str
    identity: Mapping[str, Any]
    #: The day it was asked from.
    since: str | None = None
    #: Those of the last run that was to write the set.
    stages: tuple[ListedStage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The candidates of a source, each once, in its order."""

    source: ListedSource
    candidates: tuple[PullCandidate, ...] = field(default=())

    def extend(self, newer: Iterable[PullCandidate]) -> tuple[PullCandidate, ...]:
        """Return all candidates, those of ``newer`` in place of older ones with their id, or at the end."""
        known = {one.id: one for one in self.candidates}
        return tuple({**known, **{one.id: one for one in newer}}.values())


def write_listing(path: Path, listing: Listing) -> None:
    """Write the list in one step. Raises BadInput."""
    lines = [listing.source, *listing.candidates]
    text = "".join(f"{json.dumps(serialization.dump(one), ensure_ascii=False)}\n" for one in lines)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise BadInput(str(path), [f"it cannot be written ({error.strerror}); choose another --store"]) from None


def read_listing(path: Path) -> Listing | None:
    """Return the list of a set; None where there is none. Raises BadInput for a damaged one."""
    if not path.is_file():
        return None
    problems: list[str] = []
    try:
        rows = [json.loads(line) for line in split_lines(path.read_text("utf-8", "surrogateescape"))]
    except (OSError, ValueError) as error:
        raise BadInput(str(path), [f"it cannot be read ({error}); remove it, and the source is listed again"]) from None
    source = serialization.read(ListedSource, rows[0] if rows else None, problems, "line 1")
    candidates = [serialization.read(PullCandidate, row, problems, f"line {n}") for n, row in enumerate(rows[1:], 2)]
    if problems or source is None:
        raise BadInput(str(path), [f"{problems[0]}; remove the file, and the source is listed again"])
    return Listing(source=source, candidates=tuple(one for one in candidates if one is not None))
