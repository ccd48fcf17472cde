"""Reads the JSON that a reviewer prints or that was recorded of one: findings, usage, version."""

from __future__ import annotations

import dataclasses
import json
import posixpath
from collections.abc import Mapping
from typing import Any

from pytest_crab import plain
from pytest_crab.types import SCHEMA
from pytest_crab.types import Finding
from pytest_crab.types import Review
from pytest_crab.types import Usage

#: More than this is no review that anybody could act on.
MOST_FINDINGS = 1000
#: In bytes of UTF-8.
LONGEST_TEXT = 64 * 1024


def read_review(text: str, problems: list[str], *, root: str | None = None) -> Review | None:
    """Read one review: {"schema": 1, "findings": [...], "usage": {...}, "version": "..."}; other keys are ignored.

    Absolute paths below ``root`` become relative to it; any other path that leaves the tree is a fault. Every fault is
    appended to ``problems``; the result is None if there was any.
    """
    before = len(problems)
    answer = read_answer(text, problems)
    if answer is None:
        return None
    findings = _findings(answer, problems, root)
    usage = read_usage(answer.get("usage"), problems)
    version = answer.get("version")
    if version is not None and not isinstance(version, str):
        problems.append("version should be a text")
        version = None
    _check_text(version, "version", problems)
    return Review(findings=findings, usage=usage, version=version) if len(problems) == before else None


def review_of(answer: Mapping[str, Any], problems: list[str], *, root: str | None = None) -> Review | None:
    """The review in plain data that a client gave: {"findings": [...]}, other keys ignored, no schema asked for.

    What models get wrong beside the point is mended: lines below 1, an end before its start, lines of no file, and a
    path outside the tree, which leaves a remark on the whole. All else is as strict as ``read_review``.
    """
    values = answer.get("findings")
    if isinstance(values, list):
        answer = {"findings": [_mended(value, root) for value in values]}
    before = len(problems)
    findings = _findings(answer, problems, root)
    return Review(findings=findings) if len(problems) == before else None


def _mended(value: object, root: str | None) -> object:
    if not isinstance(value, Mapping):
        return value
    item = {key: part for key, part in value.items() if part not in (None, "")}
    path, start, end = item.get("path"), item.get("start"), item.get("end")
    if isinstance(path, str) and tree_path(path.strip(), root) is None:
        item.pop("path")
    elif isinstance(path, str):
        item["path"] = path.strip()
    if "path" not in item or not isinstance(start, int) or start < 1:
        item.pop("start", None)
        item.pop("end", None)
    elif not isinstance(end, int) or end < start:
        item.pop("end", None)
    return item


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
    """What a step used, from its plain data; None is "not measured"."""
    if value is None:
        return None
    return plain.read(Usage, _known(Usage, value), problems, "usage")


def _findings(answer: Mapping[str, Any], problems: list[str], root: str | None) -> tuple[Finding, ...]:
    values = answer.get("findings")
    if not isinstance(values, list):
        problems.append("findings should be a list; a review without findings has an empty one")
        return ()
    if len(values) > MOST_FINDINGS:
        problems.append(f"findings has {len(values)} entries; at most {MOST_FINDINGS} are read")
        return ()
    read = (_finding(value, problems, f"findings[{n}]", root) for n, value in enumerate(values))
    return tuple(finding for finding in read if finding is not None)


def _finding(value: object, problems: list[str], at: str, root: str | None) -> Finding | None:
    finding = plain.read(Finding, _known(Finding, value), problems, at)
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
    path = tree_path(finding.path, root)
    if path is None:
        problems.append(f"{at}.path is {finding.path[:200]!r}; it should be a file's path relative to the tree")
    return dataclasses.replace(finding, path=path) if len(problems) == before else None


def tree_path(path: str, root: str | None = None) -> str | None:
    """``path`` as git names it, relative to the tree at ``root``; None if it does not lie below the tree."""
    if root is not None and path.startswith(root.rstrip("/") + "/"):
        path = path[len(root.rstrip("/")) + 1 :]
    if path.startswith("/") or "\0" in path or ".." in path.split("/"):
        return None
    path = posixpath.normpath(path)
    return None if path == "." else path


def _known(cls: type, value: object) -> object:
    """The keys that the record has; null stands for an absent key, and foreign keys are the reviewer's own business."""
    if not isinstance(value, Mapping):
        return value
    names = {plain.key_of(field) for field in dataclasses.fields(cls)}
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
