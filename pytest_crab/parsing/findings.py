"""Reads the JSON that a reviewer prints or that was recorded of one: findings, usage, version."""

from __future__ import annotations

import dataclasses
import json
import posixpath
import re
from collections.abc import Collection, Mapping
from typing import Any

from pytest_crab import serialization
from pytest_crab.types import SCHEMA, Finding, Review, Usage

#: More than this is no review that anybody could act on.
MOST_FINDINGS = 1000
#: In bytes of UTF-8.
LONGEST_TEXT = 64 * 1024

#: Two lines in one text, such as 3-5 or L3-L5.
_SPAN = re.compile(r"(L?[0-9]{1,9})\s*[-\u2013:]\s*(L?[0-9]{1,9})")


def read_review(
    text: str, problems: list[str], *, root: str | None = None, files: Collection[str] = ()
) -> Review | None:
    """Read one review: {"schema": 1, "findings": [...], "usage": {...}, "version": "..."}; other keys are ignored.

    Paths are read as ``tree_path`` does; one that leaves the tree is a fault of its finding. A finding with a fault is
    set aside where another one has none. Every other fault is appended to ``problems``; the result is None if there was
    any.
    """
    before = len(problems)
    answer = read_answer(text, problems)
    if answer is None:
        return None
    findings, set_aside = _findings(answer, problems, root, files)
    usage = read_usage(answer.get("usage"), problems)
    version = answer.get("version")
    if version is not None and not isinstance(version, str):
        problems.append("version should be a text")
        version = None
    _check_text(version, "version", problems)
    if len(problems) > before:
        return None
    return Review(findings=findings, usage=usage, version=version, set_aside=set_aside)


def review_of(
    answer: Mapping[str, Any], problems: list[str], *, root: str | None = None, files: Collection[str] = ()
) -> Review | None:
    """The review in plain data that a client gave: {"findings": [...]}, other keys ignored, no schema asked for.

    What models get wrong beside the point is mended: lines below 1, an end before its start, lines of no file, and a
    path outside the tree, which is taken as one from its root. All else is as strict as ``read_review``.
    """
    values = answer.get("findings")
    if isinstance(values, list):
        answer = {"findings": [_mend(value, root, files) for value in values]}
    before = len(problems)
    findings, set_aside = _findings(answer, problems, None, files)
    return Review(findings=findings, set_aside=set_aside) if len(problems) == before else None


def _mend(value: object, root: str | None, files: Collection[str]) -> object:
    if not isinstance(value, Mapping):
        return value
    item = {key: part for key, part in with_lines(value).items() if part not in (None, "")}
    path, start, end = item.get("path"), item.get("start"), item.get("end")
    if isinstance(path, str):
        path = path.strip()
        inside = tree_path(path, root, files) or tree_path(posixpath.normpath("/" + path.lstrip("/"))[1:])
        item = {**item, "path": inside} if inside is not None else {k: v for k, v in item.items() if k != "path"}
    if "path" not in item or type(start) is not int or start < 1:
        item.pop("start", None)
        item.pop("end", None)
    elif type(end) is not int or end < start:
        item.pop("end", None)
    return item


def with_lines(item: Mapping[str, Any]) -> dict[str, Any]:
    """The finding with whole floats and digits in a text as line numbers, and ``start`` "3-5" or [3, 5] as both."""
    start, end = item.get("start"), item.get("end")
    if isinstance(start, str) and (span := _SPAN.fullmatch(start.strip())) is not None:
        start = list(span.groups())
    if isinstance(start, list) and len(start) == 2:
        start, end = start[0], start[1] if end is None else end
    numbers = {"start": _line(start), "end": _line(end)}
    return {**item, **{name: number for name, number in numbers.items() if name in item or number is not None}}


def _line(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\s*[Ll]?[0-9]{1,9}(\.0+)?\s*", value):
        return int(value.strip().lstrip("Ll").partition(".")[0])
    return value


def read_answer(text: str, problems: list[str]) -> Mapping[str, Any] | None:
    """The mapping that ``text`` is as JSON, if it is one of our schema; what is wrong is appended to ``problems``."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError) as error:
        problems.append(f"it is no JSON ({error})" if text.strip() else "it is empty")
        return None
    if not isinstance(answer, Mapping):
        problems.append(f'it should be one JSON mapping that starts with {{"schema": {SCHEMA}')
        return None
    if type(answer.get("schema")) is not int or answer["schema"] != SCHEMA:
        problems.append(f"schema should be {SCHEMA}")
        return None
    return answer


def read_usage(value: Any, problems: list[str]) -> Usage | None:
    """Return a step's usage from its plain data; None is "not measured"."""
    if value is None:
        return None
    return serialization.read(Usage, _known_keys(Usage, value), problems, "usage")


def _findings(
    answer: Mapping[str, Any], problems: list[str], root: str | None, files: Collection[str]
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """The findings, and what is wrong with those that are set aside; where none is left, all that is a problem."""
    values = answer.get("findings")
    if not isinstance(values, list):
        problems.append("findings should be a list; a review without findings has an empty one")
        return (), ()
    if len(values) > MOST_FINDINGS:
        problems.append(f"findings has {len(values)} entries; at most {MOST_FINDINGS} are read")
        return (), ()
    found: list[Finding] = []
    aside: list[str] = []
    faults: list[str] = []
    for number, value in enumerate(values):
        own: list[str] = []
        finding = _finding(value, own, f"findings[{number}]", root, files)
        if finding is not None and not own:
            found.append(finding)
        else:
            faults += own
            aside.append(one_line(own[0]))
    if not found:
        problems += faults
    return tuple(found), tuple(aside) if found else ()


def _finding(value: object, problems: list[str], at: str, root: str | None, files: Collection[str]) -> Finding | None:
    value = with_lines(value) if isinstance(value, Mapping) else value
    finding = serialization.read(Finding, _known_keys(Finding, value), problems, at)
    if finding is None:
        return None
    before = len(problems)
    for name in ("body", "path", "title", "severity", "rule"):
        _check_text(getattr(finding, name), f"{at}.{name}", problems)
    if not finding.body.strip():
        problems.append(f"{at}.body is empty; it should say what is wrong")
    if finding.path is None:
        if finding.start is not None:
            problems.append(f"{at}.start needs a path beside it")
        return finding
    path = tree_path(finding.path, root, files)
    if path is None:
        problems.append(f"{at}.path is {finding.path[:200]!r}; it should be a file's path relative to the tree")
    return dataclasses.replace(finding, path=path) if len(problems) == before else None


def tree_path(path: str, root: str | None = None, files: Collection[str] = ()) -> str | None:
    """``path`` as git names it, relative to the tree at ``root``; None if it does not lie below the tree.

    ``files`` are those of the diff. A path that names none of them as it stands is one of them if it does so without a
    diff's prefix (``a/``, ``b/``), with slashes for backslashes, or without the folders before the tree.
    """
    if root is not None and path.startswith(root.rstrip("/") + "/"):
        path = path[len(root.rstrip("/")) + 1 :]
    own = _relative(path)
    if own in files or not files or "\0" in path:
        return own
    slashed = path.replace("\\", "/")
    plainly = _relative(slashed)
    names = [] if plainly is None else [plainly, plainly[2:] if plainly.startswith(("a/", "b/")) else ""]
    if re.match(r"([A-Za-z]:)?/", slashed):
        parts = posixpath.normpath(slashed).split("/")
        names += ["/".join(parts[first:]) for first in range(1, len(parts))]
    return next((name for name in names if name in files), own)


def _relative(path: str) -> str | None:
    if path.startswith("/") or "\0" in path or ".." in path.split("/"):
        return None
    path = posixpath.normpath(path)
    return None if path == "." else path


def one_line(fault: str) -> str:
    """A fault as it goes on the record: one line, at most 300 characters."""
    return " ".join(fault.split())[:300].encode(errors="replace").decode()


def _known_keys(cls: type, value: object) -> object:
    """The keys that the record has; null stands for an absent key, and foreign keys are the reviewer's own business."""
    if not isinstance(value, Mapping):
        return value
    names = {serialization.key_of(field) for field in dataclasses.fields(cls)}
    return {key: item for key, item in value.items() if key in names and item is not None}


def _check_text(text: str | None, at: str, problems: list[str]) -> None:
    if text is None:
        return
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        problems.append(f"{at} holds half a surrogate pair, which is no text")
        return
    if size > LONGEST_TEXT:
        problems.append(f"{at} has {size} bytes; at most {LONGEST_TEXT} are read")
