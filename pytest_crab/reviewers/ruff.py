"""A static analyser as a reviewer: ruff on the Python files that the pull request changes, kept to its own lines."""

from __future__ import annotations

import functools
import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pytest_crab import ecosystems
from pytest_crab.commands import printed_version
from pytest_crab.diffs import changed_lines, touches
from pytest_crab.ecosystems.python.linter import IGNORE, NEWEST, SELECT, arguments
from pytest_crab.errors import ReviewerError
from pytest_crab.parsing.finding_places import tree_path
from pytest_crab.protocols import Checkout, Completed, Workspace
from pytest_crab.types import Finding, PullRequest, Review, Side

_SUFFIXES = tuple(ecosystems.DEFAULT.languages)
_FILES_AT_ONCE = 500


class Diagnostic(NamedTuple):
    """One remark of ruff."""

    path: str
    start: int
    #: The last line that it covers.
    end: int
    #: None: it is a syntax error.
    rule: str | None
    name: str | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuffReviewer:
    """Runs ``ruff check --isolated`` and keeps what touches added lines; a file's first syntax error is always kept."""

    free: ClassVar[bool] = True

    #: Ruff's setting of this name.
    select: tuple[str, ...] = SELECT
    #: Ruff's setting of this name.
    ignore: tuple[str, ...] = IGNORE
    #: Ruff's setting of this name.
    target_version: str = NEWEST
    #: In seconds.
    timeout: float = 120.0

    def __post_init__(self) -> None:
        if not self.select:
            raise ValueError("select should name at least one rule or family of rules")
        if self.timeout <= 0:
            raise ValueError("timeout should be a number of seconds above 0")

    def identity(self) -> Mapping[str, Any]:
        """The version of ruff and the rules. Raises ReviewerError if there is no ruff."""
        return {
            "adapter": "ruff",
            "version": ruff_version(),
            "select": list(self.select),
            "ignore": list(self.ignore),
            "target_version": self.target_version,
        }

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """Return ruff's diagnostics on the added lines. Raises ReviewerError, Cancelled, EngineError."""
        try:
            changed = changed_lines(pull_request.diff, Side.RIGHT)
        except ValueError as error:
            raise ReviewerError(f"ruff was given a pull request whose diff cannot be read: {error}") from error
        added = {path: lines for path, lines in changed.items() if lines and path.endswith(_SUFFIXES)}
        if not added:
            return Review(version=ruff_version())
        with checkout.clone(readable=(ruff_program(),)) as workspace:
            diagnostics = self._diagnostics(workspace, sorted(added))
        kept = sorted(
            set(touching(diagnostics, added)), key=lambda found: (*found[:3], found.rule or "", found.message)
        )
        return Review(findings=tuple(map(_finding, kept)), version=ruff_version())

    def _diagnostics(self, workspace: Workspace, files: Sequence[str]) -> list[Diagnostic]:
        found: list[Diagnostic] = []
        options = arguments(self.select, self.ignore, self.target_version, output="json")
        for first in range(0, len(files), _FILES_AT_ONCE):
            argv = [str(ruff_program()), *options, *(f"./{file}" for file in files[first : first + _FILES_AT_ONCE])]
            completed = workspace.run(argv, seconds=self.timeout)
            found += read_diagnostics(self._report(completed), workspace.root)
        return found

    def _report(self, completed: Completed) -> bytes:
        if completed.timed_out:
            raise ReviewerError(f"ruff did not end within {self.timeout:g} seconds; raise its timeout in crab.yaml")
        if completed.exit_code != 0:
            words = " ".join(completed.stderr.decode(errors="replace").split())[-300:]
            how = "was killed" if completed.exit_code is None else f"ended with exit code {completed.exit_code}"
            raise ReviewerError(f"ruff {how}: {words!r}; look at its select, ignore and target_version in crab.yaml")
        return completed.stdout


def read_diagnostics(report: bytes, root: str) -> Iterator[Diagnostic]:
    """Read ruff's JSON report on the tree at ``root``. Raises ReviewerError if it is something else."""
    try:
        for item in json.loads(report):
            yield _diagnostic(item, root)
    except (ValueError, TypeError, KeyError) as error:
        raise ReviewerError(
            f"ruff printed no report that can be read ({error!r}); is this an unusual version?"
        ) from error


def _diagnostic(item: Mapping[str, Any], root: str) -> Diagnostic:
    path = tree_path(item["filename"], root)
    if path is None:
        raise ValueError(f"{item['filename']} does not lie below {root}")
    start, end = item["location"], item["end_location"]
    # A range that ends before the first letter of a line does not cover that line.
    last = end["row"] - 1 if end["column"] == 1 and end["row"] > start["row"] else end["row"]
    rule = None if item["code"] in (None, "invalid-syntax") else item["code"]
    name = item.get("name") or (item.get("url") or "").rstrip("/").rpartition("/")[2]
    return Diagnostic(path, start["row"], max(start["row"], last), rule, name or None, item["message"])


def touching(diagnostics: Sequence[Diagnostic], added: Mapping[str, set[int]]) -> Iterator[Diagnostic]:
    """The diagnostics that cover an added line, and each file's first syntax error wherever the parser noticed it."""
    broken: set[str] = set()
    for found in diagnostics:
        first_error = found.rule is None and found.path not in broken
        if found.rule is None:
            broken.add(found.path)
        if first_error or touches(found.start, found.end, added.get(found.path, ())):
            yield found


def _finding(found: Diagnostic) -> Finding:
    return Finding(
        path=found.path,
        start=found.start,
        end=found.end,
        title=found.name and found.name.replace("-", " "),
        body=found.message,
        severity="error" if found.rule is None else None,
        rule=found.rule or "invalid-syntax",
    )


@functools.cache
def ruff_program() -> Path:
    """The ruff of this environment, else the one on PATH. Raises ReviewerError."""
    found = shutil.which("ruff", path=str(Path(sys.executable).parent)) or _installed_ruff() or shutil.which("ruff")
    if found is None:
        raise ReviewerError("ruff is not installed here; install the package ruff")
    return Path(found).resolve()


def _installed_ruff() -> str | None:
    """Return the path of the program in the package ``ruff``; None if that is not installed."""
    try:
        return str(importlib.import_module("ruff.__main__").find_ruff_bin())
    except (ImportError, FileNotFoundError):
        return None


@functools.cache
def ruff_version() -> str:
    """Return the output of ``ruff --version``. Raises ReviewerError."""
    try:
        return printed_version((ruff_program(), "--version"), "/")
    except (OSError, subprocess.SubprocessError) as error:
        raise ReviewerError(f"{ruff_program()} --version failed: {error}; install ruff again") from error
