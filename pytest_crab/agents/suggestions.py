"""An agent without a model: it takes the suggestion blocks of findings as they stand, as a forge's button does."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pytest_crab import beneath, diffs
from pytest_crab.diffs import is_inside
from pytest_crab.ecosystems import of_file
from pytest_crab.errors import EngineError
from pytest_crab.protocols import Checkout
from pytest_crab.types import Finding, PullRequest, Revision, RevisionCommit, Side
from pytest_crab.types.reviews import SuggestionCounts

VERSION = "3"

_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})(.*)")
#: How a block is marked; GitLab adds how many lines above and below the commented one are replaced too.
_MARK = re.compile(r"suggestion(?::-(?P<above>\d{1,4})\+(?P<below>\d{1,4}))?")
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


class Block(NamedTuple):
    """A suggestion block."""

    #: The lines of the block.
    lines: tuple[str, ...]
    #: How many lines above and below the finding's it replaces (GitLab's -0+1).
    reach: tuple[int, int] | None = None


class Suggestion(NamedTuple):
    """Lines that are to stand in a file in the place of others."""

    finding: int
    path: str
    #: The first line that is replaced.
    start: int
    #: The last line that is replaced.
    end: int
    #: The lines that are to stand there.
    lines: tuple[str, ...]

    @property
    def label(self) -> str:
        """The finding that it stands in, as notes name it."""
        return f"finding {self.finding}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionsAgent:
    """Applies suggestions and nothing else; what cannot be applied is counted, and is in the revision's notes.

    One after which its file cannot be parsed any more is left out alone.
    """

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
        unread, diff = len(notes), ""
        applied = unparsed = 0
        commits: list[RevisionCommit] = []
        if wanted:
            with checkout.clone() as workspace:
                if workspace.folder is None:
                    raise EngineError("a throw-away clone has no folder on this machine; suggestions cannot be written")
                for path in dict.fromkeys(suggestion.path for suggestion in wanted):
                    done = _write(workspace.folder, path, [one for one in wanted if one.path == path], notes)
                    applied, unparsed = applied + len(done.applied), unparsed + len(done.unparsed)
                    commits += _commits(path, done)
                diff = workspace.diff()
        given = len(wanted) + unread
        counts = SuggestionCounts(given=given, applied=applied, unparsed=unparsed, unread=unread) if given else None
        told = "\n".join(notes) or None
        return Revision(diff=diff, commits=tuple(commits), version=VERSION, notes=told, suggestions=counts)


def _commits(path: str, done: Applied) -> Iterator[RevisionCommit]:
    """Yield a commit for each suggestion that was put into a file, in the order of the findings."""
    states = [_put(done.lines, done.applied[:count]) for count in range(len(done.applied) + 1)]
    for one, before, after in zip(done.applied, states, states[1:], strict=False):
        if before != after:
            diff = diffs.of_file(path, before, after)
            yield RevisionCommit(diff=diff, findings=(one.finding,), message=f"the suggestion of {one.label}")


def read_suggestions(findings: Sequence[Finding], notes: list[str]) -> Iterator[Suggestion]:
    """The suggestion blocks of findings, in order; why one cannot be used is appended to ``notes``."""
    for number, finding in enumerate(findings, 1):
        label = f"finding {number}"
        for block in blocks(finding.body, label, notes):
            if finding.path is None or finding.lines is None:
                notes.append(f"{label}: a suggestion needs a path and lines")
            elif finding.side is not Side.RIGHT:
                notes.append(f"{label}: a suggestion on the left side cannot be applied to the head")
            elif not is_inside(finding.path):
                notes.append(f"{label}: {finding.path} is not in the tree")
            else:
                yield Suggestion(number, finding.path, *_span(*finding.lines, block.reach), block.lines)


def _span(start: int, end: int, reach: tuple[int, int] | None) -> tuple[int, int]:
    """Return the lines that a block replaces: the finding's own, or as far around its last one as the mark says.

    A mark that says as many lines as the finding has means these.
    """
    if reach is None or sum(reach) == end - start:
        return start, end
    return max(1, end - reach[0]), end + reach[1]


def blocks(body: str, label: str, notes: list[str]) -> Iterator[Block]:
    """Each fenced block of ``body`` that is marked "suggestion"; one with another mark or no end is noted only."""
    fence = ""
    indent = 0
    kept: list[str] | None = None
    reach: tuple[int, int] | None = None
    for line in body.replace("\r\n", "\n").split("\n"):
        match = _FENCE.fullmatch(line)
        if not fence:
            if match and not (match[2][0] == "`" and "`" in match[3]):
                fence, indent = match[2], len(match[1])
                mark = _MARK.fullmatch(match[3].strip(" \t"))
                kept = None if mark is None else []
                reach = None if mark is None or mark["above"] is None else (int(mark["above"]), int(mark["below"]))
                if mark is None and re.match(r"suggestion\b", match[3].strip()):
                    notes.append(f"{label}: a block marked {match[3].strip()[:40]!r} is none that is read")
        elif match and match[2].startswith(fence) and not match[3].strip(" \t"):
            if kept is not None:
                yield Block(tuple(kept), reach)
            fence, kept = "", None
        elif kept is not None:
            kept.append(line[min(indent, len(line) - len(line.lstrip(" "))) :])
    if kept is not None:
        notes.append(f"{label}: its suggestion has no end")


class Applied(NamedTuple):
    """A file's new content, and what became of the suggestions for it."""

    content: bytes
    #: The suggestions that are in the new content.
    applied: Sequence[Suggestion]
    #: The suggestions that were left out, since the file would not parse with them.
    unparsed: Sequence[Suggestion] = ()
    #: The lines of the content before.
    lines: Sequence[bytes] = ()


def apply_suggestions(content: bytes, suggestions: Sequence[Suggestion], notes: list[str]) -> Applied:
    """Put the suggestions in place of their lines; later ones that overlap are noted and left out.

    New lines end as the replaced ones did, and a file without a newline at its end stays so. Where the file could be
    parsed before and cannot be after all of them, each that breaks it is noted and left out.
    """
    lines: list[bytes] = _LINE.findall(content)
    fitting: list[Suggestion] = []
    for one in suggestions:
        rival = next((other for other in fitting if one.start <= other.end and other.start <= one.end), None)
        if one.end > len(lines):
            notes.append(
                f"{one.label}: {one.path} has {len(lines)} lines, and the suggestion is on {one.start} to {one.end}"
            )
        elif rival is not None:
            notes.append(f"{one.label}: its suggestion overlaps that of {rival.label}, which came first")
        else:
            fitting.append(one)
    whole = _put(lines, fitting)
    if not fitting or _parses(fitting[0].path, whole) or not _parses(fitting[0].path, content):
        return Applied(whole, fitting, lines=lines)
    kept: list[Suggestion] = []
    broken: list[Suggestion] = []
    for one in fitting:
        (kept if _parses(one.path, _put(lines, [*kept, one])) else broken).append(one)
    notes.extend(f"{one.label}: with its suggestion {one.path} does not parse" for one in broken)
    return Applied(_put(lines, kept), kept, broken, lines)


def _parses(path: str, content: bytes) -> bool:
    """Return whether a file can be read; one of a language that nothing here reads is taken as it is."""
    owner = of_file(path)
    return owner is None or owner.unreadable(content) is None


def _put(lines: Sequence[bytes], suggestions: Sequence[Suggestion]) -> bytes:
    new = list(lines)
    for one in sorted(suggestions, key=lambda one: -one.start):
        new[one.start - 1 : one.end] = _with_line_ends(one, lines)
    return b"".join(new)


def _with_line_ends(one: Suggestion, lines: Sequence[bytes]) -> list[bytes]:
    old = lines[one.start - 1 : one.end]
    beside = next((line for line in (*old, *lines) if line.endswith(b"\n")), b"\n")
    ending = b"\r\n" if beside.endswith(b"\r\n") else b"\n"
    new = [line.encode(errors="surrogatepass") + ending for line in one.lines]
    if new and not old[-1].endswith(b"\n"):
        new[-1] = new[-1].removesuffix(ending)
    return new


def _write(root: Path, path: str, suggestions: Sequence[Suggestion], notes: list[str]) -> Applied:
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
                flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
                return _replace(os.open(name, flags, dir_fd=place), suggestions, notes)
    return Applied(b"", ())


def _replace(descriptor: int, suggestions: Sequence[Suggestion], notes: list[str]) -> Applied:
    with os.fdopen(descriptor, "r+b") as file:
        before = file.read()
        after = apply_suggestions(before, suggestions, notes)
        if after.content != before:
            file.seek(0)
            file.write(after.content)
            file.truncate()
    return after
