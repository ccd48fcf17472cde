"""Pure rules on git diffs: which files and lines they touch, and how much."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk as PatchedHunk, PatchedFile, PatchSet

from pytest_crab.types import Side

#: The most that a revision's new and changed files may hold together; what works on one holds several copies of it.
MOST_MIB_CHANGED = 48

#: The head of a hunk: how many lines of the old version, the first line of the new one, and how many of that.
HUNK_HEAD = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

#: What the first line of each file of a git diff and of each hunk begins with, behind the end of the line before; all
#: lines of a hunk begin with a mark, so that none looks like these.
_FILE, _HUNK = "\ndiff --git ", "\n@@ -"
#: Where the head of a file's diff ends.
_BODY = re.compile(r"^(?=@@ -|GIT binary patch)", re.MULTILINE)
_BINARY = re.compile(r"^(?:GIT binary patch|Binary files .* differ)\r?$", re.MULTILINE)
#: The lines of that head which name one side alone, and those that say a side is not there.
_OLD_NAME = re.compile(r"^(?:(?:rename|copy) from |--- )([^\n\t]+)", re.MULTILINE)
_NEW_NAME = re.compile(r"^(?:(?:rename|copy) to |\+\+\+ )([^\n\t]+)", re.MULTILINE)
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abtnvfr"\\])')
_LETTERS = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


class UnreadableDiff(ValueError):
    """A text is no git diff; the message says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """One file of a diff. A binary file has no lines."""

    #: Its old path; None: a new file. It differs from ``new`` in a rename.
    old: str | None
    #: Its new path; None: a deleted file.
    new: str | None
    #: Line numbers of the old version.
    removed: frozenset[int]
    #: Line numbers of the new one.
    added: frozenset[int]
    #: All lines of the old version that the diff shows.
    old_shown: frozenset[int]
    #: All lines of the new version that the diff shows.
    new_shown: frozenset[int]
    binary: bool

    @property
    def path(self) -> str:
        """The file's path after the diff; of a deleted file, the path before."""
        path = self.new if self.new is not None else self.old
        assert path is not None
        return path


class DiffSection(NamedTuple):
    """The text of one file in a git diff.

    A text before the first file has neither path, and so has a file whose head names none.
    """

    #: The path before; None where that side has no file.
    old: str | None
    #: The path after; None where that side has no file.
    new: str | None
    text: str


class HunkLine(NamedTuple):
    """One line of a hunk."""

    #: Blank, + or -.
    mark: str
    #: The line's number in the old version; None where it has none.
    old: int | None
    #: The line's number in the new version; None where it has none.
    new: int | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Some lines of a file's new version."""

    #: The first of them.
    start: int
    #: The last of them; before ``start``: it has none.
    end: int
    #: The first line of the old version.
    old_start: int
    #: The text that git writes behind the numbers.
    heading: str
    lines: tuple[HunkLine, ...]


def split_files(diff: str) -> Iterator[DiffSection]:
    """Yield the parts of a git diff that are one file each, in its order; together they are ``diff``. Never raises."""
    for text in _texts_of_files(diff):
        yield DiffSection(*_names(text), text)


def _texts_of_files(diff: str) -> Iterator[str]:
    start, end = 0, diff.find(_FILE) + 1
    while end:
        yield diff[start:end]
        start, end = end, diff.find(_FILE, end) + 1
    if diff:
        yield diff[start:]


def parse(diff: str) -> tuple[ChangedFile, ...]:
    """Return the files that ``diff`` changes, in its order. Raises ValueError where it is not a git diff."""
    files = tuple(file for file, _ in _read(diff))
    if not files and diff.strip():
        raise UnreadableDiff("not a git diff: it names no file")
    return files


def parse_hunks(diff: str) -> Iterator[tuple[ChangedFile, tuple[Hunk, ...]]]:
    """Yield the files that ``diff`` changes with their hunks, in its order. Raises ValueError as ``parse`` does.

    A text without any file yields nothing.
    """
    for changed, file in _read(normalise(diff)):
        yield changed, tuple(map(_hunk, file))


def normalise(diff: str) -> str:
    """Return ``diff`` as git takes it: empty if it holds only white space, else ending with a line's end."""
    if not diff.strip():
        return ""
    return diff if diff.endswith("\n") else diff + "\n"


def changed_lines(diff: str, side: Side = Side.RIGHT) -> dict[str, set[int]]:
    """Return the lines that ``diff`` removes (left) or adds (right), by the path that the file has on that side.

    A file that is on that side and has no such line (renamed, binary, only shortened) is there with an empty set.
    """
    pairs = (
        (file.old, file.removed) if side is Side.LEFT else (file.new, file.added) for file in parse(normalise(diff))
    )
    return {path: set(lines) for path, lines in pairs if path is not None}


def touches(start: int | None, end: int | None, lines: Collection[int]) -> bool:
    """Return whether one of these lines lies from ``start`` to ``end``; without a start that is the whole file."""
    if start is None:
        return bool(lines)
    return any(start <= line <= (end or start) for line in lines)


def shown_lines(diff: str, side: Side = Side.RIGHT) -> dict[str, set[int]]:
    """Return the lines that ``diff`` shows of a side, changed or not, by the path that the file has on that side."""
    pairs = (
        (file.old, file.old_shown) if side is Side.LEFT else (file.new, file.new_shown)
        for file in parse(normalise(diff))
    )
    return {path: set(lines) for path, lines in pairs if path is not None}


def touched_paths(diff: str) -> set[str]:
    """Return every path that ``diff`` reads or writes; a rename touches both its paths."""
    return {path for file in parse(normalise(diff)) for path in (file.old, file.new) if path is not None}


def counts(diff: str) -> tuple[int, int]:
    """Return how many lines the hunks of a git diff add and how many they remove; a text without hunks has none."""
    hunks = [f"\n{text}".partition(_HUNK)[2] for text in _texts_of_files(diff)]
    return sum(hunk.count("\n+") for hunk in hunks), sum(hunk.count("\n-") for hunk in hunks)


def of_file(path: str, before: bytes, after: bytes) -> str:
    """Return the diff of one file's content, as git takes it; bytes that are not UTF-8 become surrogates."""
    old, new = (_lines_of(content.decode("utf-8", "surrogateescape")) for content in (before, after))
    lines = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines_of(text: str) -> list[str]:
    """Return the lines with their ends; only a line feed ends one, as in git."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


#: So many lines of a hunk are shown around the lines that are looked for.
EXCERPT = 20


def excerpt(
    files: Sequence[tuple[ChangedFile, Sequence[Hunk]]], path: str | None, lines: tuple[int, int] | None, side: Side
) -> str:
    """Return the part of a file's hunks that lies within EXCERPT lines of these lines of a side, numbered.

    Empty where no line or no such hunk is named.
    """
    if lines is None:
        return ""
    left = side is Side.LEFT
    shown: list[HunkLine] = []
    for file, hunks in files:
        for hunk in hunks if path == (file.old if left else file.new) else ():
            numbers = [line.old if left else line.new for line in hunk.lines]
            known = [number for number in numbers if number is not None]
            if known and known[0] <= lines[1] and lines[0] <= known[-1]:
                near = [at for at, n in enumerate(numbers) if n and lines[0] - EXCERPT <= n <= lines[1] + EXCERPT]
                shown += hunk.lines[near[0] : near[-1] + 1]
    return "\n".join(_number_line(line.old if left else line.new, f"{line.mark}{line.text}") for line in shown)


def number_lines(diff: str) -> str:
    """Return a git diff with each line of its hunks behind its number in the new version; removed ones have none."""
    shown, new, left_old, left_new = [], 0, 0, 0
    for line in diff.split("\n"):
        head = HUNK_HEAD.match(line) if left_old <= 0 and left_new <= 0 else None
        if head is not None:
            new, left_old, left_new = int(head[2]), int(head[1] or 1), int(head[3] or 1)
        elif (left_old > 0 or left_new > 0) and not line.startswith("\\"):
            is_new, is_old = not line.startswith("-"), not line.startswith("+")
            shown.append(_number_line(new if is_new else None, line))
            new, left_old, left_new = new + is_new, left_old - is_old, left_new - is_new
            continue
        shown.append(line)
    return "\n".join(shown)


def _number_line(number: int | None, text: str) -> str:
    return f"{number or '':>6} {text}"


def outside_paths(diff: str) -> Iterator[str]:
    """Yield, sorted, the paths of ``diff`` that lie outside the tree or in git's own folder."""
    for path in sorted(touched_paths(diff)):
        if not is_inside(path):
            yield path


def is_inside(path: str) -> bool:
    """Return True if ``path`` is relative, does not lead above its root and enters no .git folder."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and ".git" not in map(str.lower, parts)


def _read(diff: str) -> Iterator[tuple[ChangedFile, PatchedFile]]:
    """Yield the files of a diff. The library reads hunks; of names it knows no blanks, so it is given plain ones."""
    for part in split_files(diff):
        named = part.text.startswith("diff --git ")
        if named and part.old is None and part.new is None:
            raise UnreadableDiff(f"not a git diff: no file is named by {part.text.partition(chr(10))[0][:200]!r}")
        body = [text for text in _BODY.split(part.text, maxsplit=1)[1:] if text.startswith("@@")]
        try:
            files = PatchSet("".join(("--- a/file\n+++ b/file\n", *body)) if named else part.text)
        except UnidiffParseError as error:
            raise UnreadableDiff(f"not a git diff: {str(error)[:200]}") from None
        for at, file in enumerate(files or ([PatchedFile()] if named else [])):
            yield (_changed_file(file, part) if named and at == 0 else _plain_file(file)), file


def _names(text: str) -> tuple[str | None, str | None]:
    """Return the paths of one file's diff before and after it, by the lines of its head; None where one is not there.

    ``rename``, ``---`` and ``+++`` name one side each. The line of both names quotes no blanks, so that it is read only
    where both are the same.
    """
    body = _BODY.search(text)
    head = text if body is None else text[: body.start()]
    first, _, rest = head.partition("\n")
    if not first.startswith("diff --git "):
        return None, None
    both = first.removeprefix("diff --git ").rstrip("\r")
    old, new = both[: len(both) // 2], both[len(both) // 2 + 1 :]
    same = _path(old, "a/") == _path(new, "b/")
    sides = []
    for side, pattern, prefix, absent in (
        (old, _OLD_NAME, "a/", "\nnew file mode "),
        (new, _NEW_NAME, "b/", "\ndeleted file mode "),
    ):
        found = pattern.search(rest)
        name = found[1].rstrip("\r") if found else side if same else "/dev/null"
        is_path = found is None or found[0].startswith(("---", "+++"))
        gone = name == "/dev/null" or absent in f"\n{rest}"
        sides.append(None if gone else _path(name, prefix if is_path else ""))
    return sides[0], sides[1]


def _changed_file(file: PatchedFile, part: DiffSection) -> ChangedFile:
    return _with_lines(file, part.old, part.new, binary=_BINARY.search(part.text) is not None and not file)


def _plain_file(file: PatchedFile) -> ChangedFile:
    """Return a file of a diff that names its files by ``---`` and ``+++`` alone."""
    old = None if file.is_added_file else _path(file.source_file, "a/")
    new = None if file.is_removed_file else _path(file.target_file, "b/")
    return _with_lines(file, old, new, binary=bool(file.is_binary_file))


def _with_lines(file: PatchedFile, old: str | None, new: str | None, *, binary: bool) -> ChangedFile:
    lines = [line for hunk in file for line in hunk]
    return ChangedFile(
        old=old,
        new=new,
        removed=frozenset(line.source_line_no for line in lines if line.is_removed and line.source_line_no),
        added=frozenset(line.target_line_no for line in lines if line.is_added and line.target_line_no),
        old_shown=frozenset(line.source_line_no for line in lines if line.source_line_no),
        new_shown=frozenset(line.target_line_no for line in lines if line.target_line_no),
        binary=binary,
    )


def _hunk(hunk: PatchedHunk) -> Hunk:
    return Hunk(
        start=hunk.target_start,
        end=hunk.target_start + hunk.target_length - 1,
        old_start=hunk.source_start,
        heading=hunk.section_header,
        lines=tuple(
            HunkLine(line.line_type, line.source_line_no, line.target_line_no, line.value.rstrip("\n"))
            for line in hunk
            if line.line_type in " +-"
        ),
    )


def _path(name: str, prefix: str) -> str:
    return _unquote(name).removeprefix(prefix)


def _unquote(name: str) -> str:
    """Undo git's C-style quoting of a path with unusual bytes."""
    if not (len(name) >= 2 and name.startswith('"') and name.endswith('"')):
        return name
    raw = name[1:-1].encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(_unescape, raw).decode("utf-8", "surrogateescape")


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8) & 0xFF]) if code.isdigit() else _LETTERS.get(code, code)
