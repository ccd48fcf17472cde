"""Reads the review that a command prints, or that was recorded of a reviewer: findings, usage, version."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pytest_crab.parsing.answers import read_usage
from pytest_crab.parsing.finding_names import as_text
from pytest_crab.parsing.findings import check_text, review_of
from pytest_crab.parsing.findings_in_text import read_findings
from pytest_crab.parsing.report_formats import ReportFormat, read_report
from pytest_crab.text import split_lines
from pytest_crab.types import SCHEMA, Review

#: A line that begins a list or an object; programs print other lists behind words.
_OWN_LINE = re.compile(r"^[ \t`]*[\[{]", re.MULTILINE)


def read_review(
    text: str,
    problems: list[str],
    *,
    kind: ReportFormat = ReportFormat.CRAB,
    root: str | None = None,
    files: Collection[str] = (),
) -> Review | None:
    """Read one review in the format ``kind``.

    Our own is {"schema": 1, "findings": [...], "usage": {...}, "version": "..."}; other keys are ignored.

    The findings are read as ``read_findings`` does, so they may also be lines of JSON or stand under other names, and
    the schema may be left out; an empty list begins a line. Every fault is appended to ``problems``; the result is None
    if there was any.
    """
    before = len(problems)
    if kind is not ReportFormat.CRAB:
        items = read_report(text, kind, problems)
        return None if items is None else review_of(items, problems, root=root, files=files)
    text = text.removeprefix("\ufeff")
    facts = _facts(text)
    if not _is_of_schema(facts.get("schema")):
        problems.append(f"schema should be {SCHEMA}")
        return None
    usage = read_usage(facts.get("usage"), problems)
    version = None if facts.get("version") is None else as_text(facts["version"])
    if facts.get("version") is not None and version is None:
        problems.append("version should be a text")
    check_text(version, "version", problems)
    review = read_findings(text, problems, root=root, files=files)
    if review is not None and not review.findings and _OWN_LINE.search(text) is None:
        problems.append("its empty list stands in words, so it may be of anything")
    if review is None or len(problems) > before:
        return None
    return dataclasses.replace(review, usage=usage, version=version)


def _facts(text: str) -> Mapping[str, Any]:
    """Return what the output says beside its findings: of lines of JSON the last that says it."""
    facts: dict[str, Any] = {}
    for value in _values(text):
        if isinstance(value, Mapping):
            facts |= {name: value[name] for name in ("schema", "usage", "version") if value.get(name) is not None}
    return facts


def _values(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
    except (ValueError, RecursionError):
        for line in split_lines(text):
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                continue


def _is_of_schema(schema: Any) -> bool:
    """Return whether the number of a schema, if it is there, is ours; other tools write an address there."""
    return schema is None or isinstance(schema, str) or (type(schema) is int and schema == SCHEMA)
