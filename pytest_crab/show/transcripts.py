"""Transcripts for people: as lines to read, and as bounded copies in a report, which travels without its store."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.errors import StoreError
from pytest_crab.instances.pull_requests import files_of
from pytest_crab.protocols import Store
from pytest_crab.results.files import write_report_file
from pytest_crab.text import cut_middle, split_lines
from pytest_crab.types import SCHEMA

#: Where the copies lie in a report's folder.
FOLDER = "transcripts"

#: The most characters of one copy: its start and its end.
LONGEST = 20_000

#: How deep JSON is laid out; what lies deeper is shown as JSON.
_DEEPEST = 8

_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The transcript of one step."""

    schema: int = SCHEMA
    step: str
    #: The client or the part of the package that kept it.
    name: str
    text: str

    @property
    def heading(self) -> str:
        """The step and who kept the transcript, in one line."""
        return self.step if self.name in ("", self.step) else f"{self.step}, {self.name}"


def stored_transcript(store: Store, key: str) -> Transcript | None:
    """The whole transcript of this key, laid out for reading; None if the store has none. Raises StoreError."""
    found = store.get("transcript", key) if _KEY.fullmatch(key) else None
    if not isinstance(found, dict):
        return None
    step, name, text = (str(found.get(part, "")) for part in ("step", "name", "text"))
    return Transcript(step=step, name=name, text="\n".join(readable(text)))


def readable(text: str) -> Iterator[str]:
    """The lines of a transcript: JSON is laid out, and texts in it stand on lines of their own."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    yield from _laid_out(value, 0)


def write_transcripts(report: Path, store: Store, keys: Iterable[str]) -> None:
    """Put bounded copies of these transcripts into a report's folder; one that the store lacks is left out.

    Raises OSError.
    """
    for key in keys:
        path = report / FOLDER / f"{key}.json"
        try:
            whole = None if path.is_file() else stored_transcript(store, key)
        except StoreError:
            continue
        if whole is not None:
            copy = Transcript(step=whole.step, name=whole.name, text=cut_middle(whole.text, LONGEST))
            write_report_file(path, [json.dumps(serialization.dump(copy)).encode() + b"\n"])


def read_transcript(report: Path, key: str) -> Transcript | None:
    """The copy of a transcript in a report's folder; None if there is none. Raises BadInput."""
    path = report / FOLDER / f"{key}.json"
    if not _KEY.fullmatch(key) or not path.is_file():
        return None
    return serialization.read_file(Transcript, path)


def copy_transcripts(report: Path, into: Path) -> None:
    """Put the copies of one report into another's folder; what lies behind a link is none. Raises OSError."""
    for path in _copies(report):
        (into / FOLDER).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, into / FOLDER / path.name)


def drop_transcripts(report: Path, but: Collection[str]) -> None:
    """Remove the copies that earlier runs left in a report's folder. Raises OSError."""
    for path in _copies(report):
        if path.stem not in but:
            path.unlink(missing_ok=True)


def _copies(report: Path) -> list[Path]:
    return [path for path in files_of(report / FOLDER) if _KEY.fullmatch(path.stem)]


def _laid_out(value: Any, depth: int) -> Iterator[str]:
    margin = "  " * depth
    if isinstance(value, str):
        yield from (f"{margin}{line}".rstrip() for line in split_lines(value))
    elif not isinstance(value, (dict, list)) or depth >= _DEEPEST:
        yield f"{margin}{json.dumps(value)}"
    elif isinstance(value, list):
        for number, each in enumerate(value, 1):
            yield f"{margin}- {number}"
            yield from _laid_out(each, depth + 1)
    else:
        for name, each in value.items():
            lines = list(_laid_out(each, 0)) if not isinstance(each, (dict, list)) else []
            if len(lines) == 1:
                yield f"{margin}{name}: {lines[0]}"
            elif each:
                yield f"{margin}{name}:"
                yield from _laid_out(each, depth + 1)
