"""Instruction files of a repository (CLAUDE.md, AGENTS.md, rules, skills), which a client loads from its home if asked.

The client itself loads none of the tree, since those of the pull request's head are its author's.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pytest_crab import serialization
from pytest_crab.clients.client_run import ClientSettings, Session
from pytest_crab.protocols import Checkout

NONE, BASE = "none", "base"
#: What of a CLAUDE.md is another file that belongs to it.
_IMPORT = re.compile(rb"(?<![\w`])@([\w./-]+\.md)\b")
#: The file in which imports are looked for; those of its rules lie elsewhere in the client's home.
_IMPORTING = "CLAUDE.md"

#: Reads the files at and below a place of a repository, by their paths.
Files = Callable[[str], Mapping[str, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructedSettings(ClientSettings):
    """Settings of clients that read instruction files."""

    #: The folder in its home that the client takes for its user's.
    own_folder: ClassVar[str]
    #: Where in ``own_folder`` what the client reads of a repository lies.
    places: ClassVar[Mapping[str, str]]

    #: ``none``, ``base`` for the files of the pull request's base, or a folder that is laid out like a repository.
    instruction_files: str = field(default=NONE, metadata={"key": "instructions"})

    def __post_init__(self) -> None:
        super(InstructedSettings, self).__post_init__()
        if self.instruction_files not in (NONE, BASE) and not self._of_folder():
            raise ValueError(
                f"instructions names {self.instruction_files}, in which there is none of "
                f"{', '.join(self.places)}; name a folder that has one, or say {NONE} or {BASE}"
            )

    @property
    def is_instructed(self) -> bool:
        """True if instruction files are to be loaded."""
        return self.instruction_files != NONE

    def identity(self) -> Mapping[str, Any] | None:
        """Client, version, model, endpoint, the digests of prompt and instruction files, and every other setting.

        Raises the role's error, BadInput for a crab.yaml that is something else by now.
        """
        told = dict(super(InstructedSettings, self).identity() or {})
        told["settings"] = {name: value for name, value in told["settings"].items() if name != "instruction_files"}
        if self.instruction_files == BASE:
            told["instructions"] = BASE  # which files these are is the pull request's
        elif self.is_instructed:
            told["instructions"] = serialization.digest(
                {name: content.hex() for name, content in self._of_folder().items()}
            )
        return told

    @contextmanager
    def session(self, checkout: Checkout) -> Iterator[Session]:
        """Open a sandbox with the client, its instruction files and a way to the models.

        Raises the role's error, GatewayError, EngineError.
        """
        files = {}
        if self.is_instructed:
            files = select(checkout.base_files, self.places) if self.instruction_files == BASE else self._of_folder()
        with super(InstructedSettings, self).session(checkout) as session:
            if files:
                session.put(files, f"{session.home}/{self.own_folder}")
            yield session

    def _of_folder(self) -> dict[str, bytes]:
        folder = Path(self.folder, self.instruction_files).expanduser()
        return select(lambda place: dict(_files_at(folder, place)), self.places)


def select(files: Files, places: Mapping[str, str]) -> dict[str, bytes]:
    """Return what a client reads of a repository, by where it lies in the client's own folder."""
    found = {
        into + path.removeprefix(place): content
        for place, into in places.items()
        for path, content in files(place).items()
    }
    waiting = [_IMPORTING]
    while waiting:
        name = waiting.pop()
        for target in _IMPORT.findall(found.get(name, b"")):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), target.decode()))
            content = None if path in found or path.startswith(("/", "..")) else files(path).get(path)
            if content is not None:
                found[path] = content
                waiting.append(path)
    return found


def _files_at(folder: Path, place: str) -> Iterator[tuple[str, bytes]]:
    if (folder / place).is_file():
        yield place, (folder / place).read_bytes()
    for top, _, names in os.walk(folder / place, followlinks=True):
        for path in (Path(top, name) for name in names):
            if path.is_file():
                yield path.relative_to(folder).as_posix(), path.read_bytes()
