"""An agent without a model: it takes the suggestion blocks of findings as they stand, as a forge's button does."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pytest_crab import beneath
from pytest_crab.diffs import is_inside
from pytest_crab.errors import EngineError
from pytest_crab.protocols import Checkout
from pytest_crab.types import Finding, PullRequest, Revision, Side

VERSION = "1"

_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})(.*)")
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


class Suggestion(NamedTuple):
    """The lines that are to stand in a file in the place of lines ``start`` to ``end``, both included."""

    label: str
    path: str
    start: int
    end: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionsAgent:
    """Applies suggestions and nothing else; what cannot be applied is in the revision's notes."""

    free: ClassVar[bool] = True

    simulated: bool = field(default=False, init=False)

    def identity(self) -> Mapping[str, Any]:
        """A constant: the findings decide."""
        return {"adapter": "suggestions", "version": VERSION}

    def revise(
        self,
        pull_request: PullRequest,  # noqa: ARG002 - the findings say it all
        findings: Sequence[Finding],
        checkout: Checkout,
    ) -> Revision:
        """The head with every suggestion that fits; of two that overlap the first. Raises Cancelled, EngineError."""
        notes: list[str] = []
        wanted = list(read_suggestions(findings, notes))
        if not wanted:
            return Revision(version=VERSION, notes="\n".join(notes) or None)
        with checkout.clone() as workspace:
            if workspace.folder is None:
                raise EngineError("a throw-away clone has no folder on this machine; suggestions cannot be written")
            for path in dict.fromkeys(suggestion.path for suggestion in wanted):
                _write(workspace.folder, path, [one for one in wanted if one.path == path], notes)
            return Revision(diff=workspace.diff(), version=VERSION, notes="\n".join(notes) or None)


def read_suggestions(findings: Sequence[Finding], notes: list[str]) -> Iterator[Suggestion]:
    """The suggestion blocks of findings, in order; why one cannot be used is appended to ``notes``."""
    for number, finding in enumerate(findings, 1):
        label = f"finding {number}"
        for lines in blocks(finding.body, label, notes):
            if finding.path is None or finding.start is None:
                notes.append(f"{label}: a suggestion needs a path and lines")
            elif finding.side is not Side.RIGHT:
                notes.append(f"{label}: a suggestion on the left side cannot be applied to the head")
            elif not is_inside(finding.path):
                notes.append(f"{label}: {finding.path} is not in the tree")
            else:
                end = finding.start if finding.end is None else finding.end
                yield Suggestion(label, finding.path, finding.start, end, lines)


def blocks(body: str, label: str, notes: list[str]) -> Iterator[tuple[str, ...]]:
    """The lines of each fenced block of ``body`` that is marked "suggestion"; a block that never ends is noted only."""
    fence = ""
    indent = 0
    kept: list[str] | None = None
    for line in body.replace("\r\n", "\n").split("\n"):
        match = _FENCE.fullmatch(line)
        if not fence:
            if match and not (match[2][0] == "`" and "`" in match[3]):
                fence, indent = match[2], len(match[1])
                kept = [] if match[3].strip(" \t") == "suggestion" else None
        elif match and match[2].startswith(fence) and not match[3].strip(" \t"):
            if kept is not None:
                yield tuple(kept)
            fence, kept = "", None
        elif kept is not None:
            kept.append(line[min(indent, len(line) - len(line.lstrip(" "))) :])
    if kept is not None:
        notes.append(f"{label}: its suggestion has no end")


def apply_suggestions(content: bytes, suggestions: Sequence[Suggestion], notes: list[str]) -> bytes:
    """Return ``content`` with the suggestions in place of their lines; later ones that overlap are noted and left out.

    New lines end as the replaced ones did, and a file without a newline at its end stays so.
    """
    lines: list[bytes] = _LINE.findall(content)
    taken: list[Suggestion] = []
    for one in suggestions:
        rival = next((other for other in taken if one.start <= other.end and other.start <= one.end), None)
        if one.end > len(lines):
            notes.append(
                f"{one.label}: {one.path} has {len(lines)} lines, and the suggestion is on {one.start} to {one.end}"
            )
        elif rival is not None:
            notes.append(f"{one.label}: its suggestion overlaps that of {rival.label}, which came first")
        else:
            taken.append(one)
    for one in sorted(taken, key=lambda one: -one.start):
        lines[one.start - 1 : one.end] = _with_line_ends(one, lines)
    return b"".join(lines)


def _with_line_ends(one: Suggestion, lines: Sequence[bytes]) -> list[bytes]:
    old = lines[one.start - 1 : one.end]
    beside = next((line for line in (*old, *lines) if line.endswith(b"\n")), b"\n")
    ending = b"\r\n" if beside.endswith(b"\r\n") else b"\n"
    new = [line.encode(errors="surrogatepass") + ending for line in one.lines]
    if new and not old[-1].endswith(b"\n"):
        new[-1] = new[-1].removesuffix(ending)
    return new


def _write(root: Path, path: str, suggestions: Sequence[Suggestion], notes: list[str]) -> None:
    parts = Path(path).parts
    steps = [root.joinpath(*parts[:count]) for count in range(1, len(parts) + 1)]
    if any(os.path.islink(step) for step in steps):  # noqa: PTH114 - a name that no file can have is no error
        notes.extend(f"{one.label}: {path} leads over a symbolic link" for one in suggestions)
    elif not os.path.isfile(steps[-1]):  # noqa: PTH113 - the same
        notes.extend(f"{one.label}: there is no file {path} at the head" for one in suggestions)
    else:
        with beneath.parent(root, "/".join(parts)) as found:
            if found is not None:
                place, name = found
                _replace(os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place), suggestions, notes)


def _replace(descriptor: int, suggestions: Sequence[Suggestion], notes: list[str]) -> None:
    with os.fdopen(descriptor, "r+b") as file:
        before = file.read()
        after = apply_suggestions(before, suggestions, notes)
        if after != before:
            file.seek(0)
            file.write(after)
            file.truncate()
