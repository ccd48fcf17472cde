"""Finds the list of findings in plain data, whatever it is called and however its entries are grouped."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from pytest_crab.parsing.finding_names import PLACES, Parts, has_text, is_list_name, normal

#: The keys of a JSON schema, which some models repeat before they answer.
_SCHEMA = {"properties", "$schema", "items"}
#: The keys of what is no review, though it may hold an empty list: an error, or a tool that should be called.
_NO_REVIEW = {"error", "errors", "arguments", "parameters", "toolcalls", "query"}
#: The words of a finding that little else has.
_OF_REVIEWS = {"body", "comment", "description", "issuecontent", "message", "content"}
#: Deeper than this lies no list of findings.
_DEEPEST = 8
_FILE = re.compile(r"[^\s{}]*[^\s{}/]\.\w{1,8}")


class FoundList(NamedTuple):
    """A list of findings."""

    items: list[Any]
    #: False: the list is empty, and nothing but its place says what it is a list of.
    sure: bool = True


def find_list(value: Any, files: Collection[str] = ()) -> FoundList | None:
    """Return the list of findings that a value is or holds, groups dissolved; None if there is none.

    Entries of a group get the path of the group. ``files`` are those of the diff.
    """
    return _find(value, None, files, 0)


def is_finding(value: Any) -> bool:
    """Return True if an object by itself is a finding: it has words, and a place or a title."""
    if not isinstance(value, Mapping) or _SCHEMA & value.keys():
        return False
    parts = Parts(value)
    title, body = has_text(parts, "title"), has_text(parts, "body")
    return (_is_placed(parts) and (title or body)) or (title and body)


def is_group(value: Any) -> bool:
    """Return True if an object holds the findings of one file: it has a path and a named list, and no words."""
    return isinstance(value, Mapping) and _path_of(value) is not None and bool(_named(value))


def _find(value: Any, path: Any, files: Collection[str], depth: int) -> FoundList | None:
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        flat = list(_flatten(value, path, depth))
        sure = any(isinstance(part, Mapping) for part in value)
        return FoundList(flat, sure) if not flat or any(map(_is_meant, flat)) else None
    if not isinstance(value, Mapping):
        return None
    if named := _named(value):
        own = _path_of(value) or path
        return FoundList([item for part in named for item in _flatten(part, own, depth)])
    return None if _SCHEMA & value.keys() or is_finding(value) else _further_in(value, path, files, depth)


def _further_in(value: Mapping[str, Any], path: Any, files: Collection[str], depth: int) -> FoundList | None:
    """The lists in an object under names of another kind: by severity, by file, or within something."""
    held: list[FoundList] = []
    others = False
    for key, part in value.items():
        if not isinstance(part, (list, Mapping)) or part == {}:
            continue
        is_file = key in files or _FILE.fullmatch(str(key)) is not None
        found = _find(part, key if is_file else path, files, depth + 1)
        if found is not None:
            held.append(FoundList(found.items, found.sure or is_file or is_list_name(key)))
        else:
            others = others or not isinstance(part, list) or any(isinstance(entry, Mapping) for entry in part)
    items = [item for found in held for item in found.items]
    if items or any(found.sure for found in held):
        return FoundList(items)
    told = held and not others and not _NO_REVIEW & {normal(key) for key in value}
    return FoundList([], sure=False) if told else None


def _named(value: Mapping[str, Any], *, of_file: bool = False) -> list[list[Any]]:
    """Return the lists in an object that are called so; beside others, lists of texts are none of findings.

    ``of_file``: the object is an entry of one file's group, so that its lines alone are a place.
    """
    parts = Parts(value)
    if has_text(parts, "body") and (_is_placed(parts) or (of_file and _has_lines(parts))):
        return []  # a finding, of which the list is a part
    named = [part for key, part in value.items() if is_list_name(key) and isinstance(part, list)]
    others = [part for part in named if not part or not all(isinstance(entry, str) for entry in part)]
    return others or named


def _flatten(values: list[Any], path: Any, depth: int) -> Iterator[Any]:
    for entry in values:
        if isinstance(entry, list) and depth < _DEEPEST:
            yield from _flatten(entry, path, depth + 1)
        elif not isinstance(entry, Mapping):
            yield entry
        elif depth < _DEEPEST and (named := _named(entry, of_file=path is not None)):
            for part in named:
                yield from _flatten(part, _path_of(entry) or path, depth + 1)
        else:
            yield entry if path is None or _path_of(entry) is not None else {"path": path, **entry}


def _path_of(value: Mapping[str, Any]) -> Any:
    found = Parts(value).first("path")
    return None if found is None else found[1]


def _is_placed(parts: Parts) -> bool:
    return parts.first("path") is not None or parts.first("location") is not None


def _has_lines(parts: Parts) -> bool:
    return any(parts.first(part) is not None for part in ("start", "line", "lines"))


def _is_meant(item: Any) -> bool:
    """Return True if an entry of a list is meant as a finding, and not as an example of data that code works on."""
    if not isinstance(item, Mapping):
        return False
    parts = Parts(item)
    if has_text(parts, "path") or has_text(parts, "title") or any(normal(key) in _OF_REVIEWS for key in item):
        return True
    return has_text(parts, "body") and any(parts.first(part) is not None for part in PLACES)
