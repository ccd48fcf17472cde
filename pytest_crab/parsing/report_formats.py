"""Reads the reports that linters and review tools write in a format of their own, by a table of its fields.

docs/reference/command.md has the same table, and a test compares the two.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

from pytest_crab.text import split_lines
from pytest_crab.types import StrEnum

_STEP = re.compile(r"(?P<name>[^.\[\]]+)|\[(?P<index>\d*)\]")
#: A command to the runner of GitHub Actions, as linters print it: ::error file=NAME,line=3::message.
_COMMAND = re.compile(r"::(?P<severity>error|warning|notice)(?: (?P<fields>[^\n]*?))?::(?P<message>[^\r\n]*)")
_ESCAPED = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}


class ReportFormat(StrEnum):
    """The format of what a reviewer prints; crab is this project's own, with the names of other tools."""

    CRAB = "crab"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    RDJSON = "rdjson"
    CHECKSTYLE = "checkstyle"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLayout:
    """The places of a report's findings, and of the parts of each; of several places the first that is there counts.

    A place is made of keys, with [] for all entries of a list and [0] for the first.
    """

    items: tuple[str, ...]
    path: tuple[str, ...]
    start: tuple[str, ...]
    end: tuple[str, ...] = ()
    side: tuple[str, ...] = ()
    body: tuple[str, ...]
    severity: tuple[str, ...] = ()
    rule: tuple[str, ...] = ()
    #: The places of what makes an entry no finding.
    left_out: tuple[str, ...] = ()
    #: What a file of such a report may end with beside .json.
    suffix: str = ".json"
    #: Reads a file's text into data that has these places.
    read: Callable[[str], Any]


#: The parts of a finding that a layout has places for.
PARTS = ("path", "start", "end", "side", "body", "severity", "rule")


class _NoReport(ValueError):
    """Says why a text is no report."""


def read_report(text: str, kind: ReportFormat, problems: list[str]) -> list[Any] | None:
    """Return the findings of a report under our own names; a fault of it is appended to ``problems``.

    An entry that has none of the layout's places is returned as it is: it may have the names of other tools.
    """
    layout = LAYOUTS[kind]
    try:
        data = layout.read(text.removeprefix("\ufeff"))
    except _NoReport as why:
        problems.append(f"it is no report in the format {kind}: {why}")
        return None
    found = next((items for place in layout.items if (items := _entries(data, _steps(place))) is not None), None)
    if found is None:
        problems.append(f"it is no report in the format {kind}: it has no {' and no '.join(layout.items)}")
        return None
    return [_finding(item, layout) for item in found if not any(_value(item, place) for place in layout.left_out)]


def _finding(item: Any, layout: ReportLayout) -> Any:
    parts = {part: _first(item, getattr(layout, part)) for part in PARTS}
    found = {part: value for part, value in parts.items() if value is not None}
    if "body" not in found and "path" not in found:
        return item
    return found


def _first(item: Any, places: tuple[str, ...]) -> Any:
    return next((value for place in places if (value := _value(item, place)) is not None), None)


def _value(item: Any, place: str) -> Any:
    """Return what is at a place; None if there is nothing."""
    for step in _steps(place):
        if isinstance(step, str):
            item = item.get(step) if isinstance(item, Mapping) else None
        else:
            item = item[step or 0] if isinstance(item, list) and len(item) > (step or 0) else None
    return item


def _entries(data: Any, steps: list[str | int | None]) -> list[Any] | None:
    """Return all that is at a place with [] in it; None if the data has no such place."""
    if not steps:
        return [data]
    step, *rest = steps
    if isinstance(step, str):
        return _entries(data[step], rest) if isinstance(data, Mapping) and step in data else None
    if not isinstance(data, list):
        return None
    each = [found for entry in data if (found := _entries(entry, rest)) is not None]
    return [entry for found in each for entry in found] if each or not data else None


def _steps(place: str) -> list[str | int | None]:
    """Return the keys and indices of a place; None stands for all entries of a list."""
    found: list[str | int | None] = []
    for match in _STEP.finditer(place):
        index = match["index"]
        found.append(match["name"] if index is None else int(index) if index else None)
    return found


def _json(text: str) -> Any:
    """Return the data of JSON, or of lines of JSON as a list. Raises _NoReport."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = [line for line in split_lines(text) if line.strip()]
        if len(lines) > 1:
            with contextlib.suppress(ValueError, RecursionError):
                return [json.loads(line) for line in lines]
        raise _NoReport(f"it is no JSON ({error})" if lines else "it is empty") from None


def _sarif(text: str) -> Any:
    """Return the data with its paths as they are on a disk, since in SARIF they are addresses."""
    data = _json(text)
    for result in _entries(data, _steps("runs[].results[]")) or ():
        for location in _entries(result, _steps("locations[].physicalLocation.artifactLocation")) or ():
            if isinstance(location, dict) and isinstance(location.get("uri"), str):
                location["uri"] = unquote(location["uri"])
        if isinstance(result, dict) and result.get("kind", "fail") in _NO_FAULTS:
            result["suppressions"] = [result["kind"]]
    return data


def _comments_or_commands(text: str) -> Any:
    """Return the comments of a review, or what a linter tells GitHub's runner, line by line; no output is none."""
    if text.lstrip().startswith(("[", "{")):
        return _json(text)
    found = [_command(match) for match in _COMMAND.finditer(text)]
    if text.strip() and not found:
        raise _NoReport("it has neither JSON nor a line such as ::error file=NAME,line=3::message")
    return found


def _command(match: re.Match[str]) -> dict[str, str]:
    pairs = (field.partition("=") for field in (match["fields"] or "").split(","))
    fields = {name.strip(): _unescape(value) for name, _, value in pairs if value}
    return {**fields, "severity": match["severity"], "message": _unescape(match["message"])}


def _unescape(text: str) -> str:
    return re.sub("|".join(_ESCAPED), lambda match: _ESCAPED[match[0].upper()], text, flags=re.IGNORECASE)


def _checkstyle(text: str) -> list[dict[str, str]]:
    """Return the errors of Checkstyle's XML, each with its file. Raises _NoReport; no entity is ever made."""
    if "<!DOCTYPE" in text:
        raise _NoReport("it has a DOCTYPE, which may hold anything")
    try:
        root = ElementTree.fromstring(text.strip())  # noqa: S314 - without a DOCTYPE there is nothing to expand
    except (ElementTree.ParseError, ValueError) as error:
        raise _NoReport(f"it is no XML ({error})") from None
    if root.tag != "checkstyle":
        raise _NoReport(f"its root is <{str(root.tag)[:40]}> and not <checkstyle>")
    files = ((file.get("name", ""), error) for file in root.iter("file") for error in file.iterfind("error"))
    return [{**error.attrib, "file": name} for name, error in files]


#: What a tool of SARIF has checked and found to be well.
_NO_FAULTS = {"pass", "notApplicable", "informational"}

LAYOUTS: Mapping[ReportFormat, ReportLayout] = {
    ReportFormat.SARIF: ReportLayout(
        items=("runs[].results[]",),
        path=("locations[0].physicalLocation.artifactLocation.uri",),
        start=("locations[0].physicalLocation.region.startLine",),
        end=("locations[0].physicalLocation.region.endLine",),
        body=("message.markdown", "message.text"),
        severity=("level",),
        rule=("ruleId", "rule.id"),
        left_out=("suppressions[0]",),
        suffix=".sarif",
        read=_sarif,
    ),
    ReportFormat.GITHUB: ReportLayout(
        items=("comments[]", "[]"),
        path=("path", "file"),
        start=("start_line", "line", "original_start_line", "original_line"),
        end=("endLine", "line", "original_line"),
        side=("side",),
        body=("body", "message"),
        severity=("severity",),
        rule=("title",),
        left_out=("in_reply_to_id",),
        suffix=".txt",
        read=_comments_or_commands,
    ),
    ReportFormat.GITLAB: ReportLayout(
        items=("[].notes[]", "[]"),
        path=("location.path",),
        start=("location.lines.begin", "location.positions.begin.line"),
        end=("location.lines.end", "location.positions.end.line"),
        body=("description",),
        severity=("severity",),
        rule=("check_name",),
        left_out=("system",),
        read=_json,
    ),
    ReportFormat.RDJSON: ReportLayout(
        items=("diagnostics[]", "[]"),
        path=("location.path",),
        start=("location.range.start.line",),
        end=("location.range.end.line",),
        body=("message",),
        severity=("severity",),
        rule=("code.value",),
        suffix=".rdjsonl",
        read=_json,
    ),
    ReportFormat.CHECKSTYLE: ReportLayout(
        items=("[]",),
        path=("file",),
        start=("line",),
        body=("message",),
        severity=("severity",),
        rule=("source",),
        suffix=".xml",
        read=_checkstyle,
    ),
}  # fmt: skip
