"""A run as one comment on a pull request, and as annotations: the ruling, the table, and what was lost and gained."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_crab.formats import format_count
from pytest_crab.results.outcomes import CAUGHT, OracleRecord
from pytest_crab.results.summary import Summary
from pytest_crab.show.headline import gate_line
from pytest_crab.show.markdown import detail_lines, escape_markdown, folded, head_lines, table
from pytest_crab.statistics.comparison import Comparison
from pytest_crab.text import label_words, one_line

#: The most characters of a comment: GitHub takes 65,536, its marker and an end among them.
LONGEST = 60_000

#: How many oracles are listed on each side before the rest is only counted.
_LISTED = 30

#: How many annotations GitHub shows of one step and level.
_ANNOTATIONS = 10

_CUT = "The rest does not fit into a comment; it is in summary.md of the report."


class OracleChange(NamedTuple):
    """An oracle of a reviewer that was lost or gained."""

    reviewer: str
    change: str
    instance: str
    comment: str
    #: None: this run does not have it.
    record: OracleRecord | None


def comment_body(summary: Summary, comparisons: Mapping[str, Comparison], footer: Sequence[str]) -> str:
    """Return the Markdown of a comment of at most LONGEST characters.

    ``comparisons`` with the baseline are by reviewer; ``footer`` is our own Markdown. Nothing that records hold becomes
    markup, a mention or a link.
    """
    end = ["", " · ".join(footer)] if footer else []
    first = ["### pytest-crab", "", *head_lines(summary), *_change_lines(summary, comparisons)]
    details = ["", *detail_lines(summary)]
    for lines in ([*first, *details], [*first, "", _CUT]):
        text = "\n".join([*lines, *end])
        if len(text) <= LONGEST:
            return text
    kept, room = [], LONGEST - len("\n".join(["", _CUT, *end])) - 100
    for line in first:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    closed = ["", "</details>"] * (_open_details(kept))
    return "\n".join([*kept, *closed, "", _CUT, *end])


def changes(summary: Summary, comparisons: Mapping[str, Comparison]) -> Iterator[OracleChange]:
    """Yield every oracle that was lost, then every one that was gained, of each reviewer."""
    records = {own.reviewer: {oracle.key: oracle for oracle in own.oracles} for own in summary.reviewers}
    for reviewer, comparison in comparisons.items():
        for change, names in (("lost", comparison.lost), ("gained", comparison.gained)):
            for instance, _, comment in (name.rpartition("::") for name in names):
                record = records.get(reviewer, {}).get((instance, comment))
                yield OracleChange(reviewer, change, instance, comment, record)


def workflow_commands(
    summary: Summary, comparisons: Mapping[str, Comparison], files: Mapping[str, str]
) -> Iterator[str]:
    """Yield GitHub's workflow commands: an error for a gate that failed, and a warning for each lost oracle.

    ``files`` has the path of an instance's file by its id, where it is known.
    """
    if summary.gate is not None and summary.gate.exit_code:
        yield _command("error", {"title": "pytest-crab"}, gate_line(summary.gate))
    lost = [one for one in changes(summary, comparisons) if one.change == "lost"]
    listed = lost if len(lost) <= _ANNOTATIONS else lost[: _ANNOTATIONS - 1]
    for one in listed:
        place = {"file": files[one.instance], "line": "1"} if one.instance in files else {}
        said = f"{one.reviewer} caught {one.instance}::{one.comment} in the baseline and does not now{_labels(one)}"
        yield _command("warning", {**place, "title": f"pytest-crab: lost by {one.reviewer}"}, said)
    if len(lost) > len(listed):
        more = format_count(len(lost) - len(listed), "more oracle")
        yield _command("warning", {"title": "pytest-crab"}, f"{more} lost; the report names them")


def _change_lines(summary: Summary, comparisons: Mapping[str, Comparison]) -> Iterator[str]:
    """Yield what each reviewer lost and gained; nothing without a baseline."""
    for reviewer, own in itertools.groupby(changes(summary, comparisons), key=lambda one: one.reviewer):
        found = {change: list(some) for change, some in itertools.groupby(own, key=lambda one: one.change)}
        lost, gained = found.get("lost", []), found.get("gained", [])
        yield ""
        title = f"{reviewer}: {len(lost)} lost and {len(gained)} gained against the baseline"
        rows = [*_rows(lost), *_rows(gained)]
        yield from folded(title, table(("Oracle", "Change", "Labels", "Caught now"), rows))
    unchanged = [name for name, one in comparisons.items() if not one.lost and not one.gained]
    for name in unchanged:
        yield ""
        yield f"{escape_markdown(name)}: nothing lost and nothing gained against the baseline"


def _rows(found: Sequence[OracleChange]) -> Iterator[Sequence[str]]:
    for one in found[:_LISTED]:
        record = one.record
        now = "" if record is None else f"{record.verdicts.count(CAUGHT)} of {len(record.verdicts)}"
        labels = "" if record is None else label_words(record.labels)
        yield [escape_markdown(f"{one.instance}::{one.comment}"), one.change, escape_markdown(labels), now]
    if len(found) > _LISTED:
        yield [f"{len(found) - _LISTED} more", found[0].change, "", ""]


def _labels(one: OracleChange) -> str:
    words = "" if one.record is None else label_words(one.record.labels)
    return f" ({words})" if words else ""


def _open_details(lines: Iterable[str]) -> int:
    return sum(line.startswith("<details>") - line.startswith("</details>") for line in lines)


def _command(name: str, properties: Mapping[str, str], message: str) -> str:
    """Return a workflow command whose parts cannot end it or begin another one."""
    said = ",".join(f"{key}={_escape(value, ':,')}" for key, value in properties.items())
    return f"::{name} {said}::{_escape(message)}"


def _escape(text: str, also: str = "") -> str:
    escaped = one_line(text, 1000).replace("%", "%25")
    for char in also:
        escaped = escaped.replace(char, f"%{ord(char):02X}")
    return escaped
