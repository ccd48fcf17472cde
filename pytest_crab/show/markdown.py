"""summary.md: a run's numbers for a CI job summary or a comment on a pull request."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pytest_crab.results.files import write_report_file
from pytest_crab.results.recorded_rulers import ruler_lines
from pytest_crab.results.summary import Summary
from pytest_crab.show.detail_tables import detail_tables
from pytest_crab.show.headline import gate_line, gate_reasons, headlines, unmeasured_line
from pytest_crab.show.label_changes import change_tables
from pytest_crab.show.mediator_text import mediator_lines, mediator_tables
from pytest_crab.show.reviewer_numbers import markdown_rows
from pytest_crab.show.summary_tables import (
    SummaryTable,
    explained_tables,
    finding_tables,
    rate_tables,
    ruler_tables,
)
from pytest_crab.show.summary_text import lift_line, together_lines
from pytest_crab.show.terminal import remarks, unknown_head, unknown_lines
from pytest_crab.text import one_line

#: The file's name in a report's folder.
FILE = "summary.md"

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>#|~@!&"})

#: A forge makes mentions, references and links of what Markdown has become, so that a backslash does not keep it from
#: that; a space without width does.
_LIVE = re.compile(r"(@|[#!$%&~](?=\d)|(?<=GH)-(?=\d)|:(?=//)|(?<=\bwww)\.)", re.IGNORECASE)
_APART = "&#8203;"


def write_markdown(path: Path, summary: Summary) -> None:
    """Write summary.md. Raises OSError."""
    write_report_file(path, ["\n".join(markdown_lines(summary)).encode() + b"\n"])


def markdown_lines(summary: Summary) -> Iterator[str]:
    """Yield the lines of summary.md; what names and reasons hold cannot become markup or mention anyone."""
    yield "## Results"
    yield ""
    yield from head_lines(summary)
    yield from detail_lines(summary)


def head_lines(summary: Summary) -> Iterator[str]:
    """Yield what is to be read first: the gate's decision, each reviewer's rate, and the table."""
    if summary.gate is not None:
        yield f"**{escape_markdown(gate_line(summary.gate))}**"
        yield ""
    for own, rate, gate in headlines(summary):
        yield "<br>".join(
            [
                f"- **{escape_markdown(rate)}**",
                *(f"**{escape_markdown(line)}**" for line in filter(None, [unmeasured_line(own)])),
                *map(escape_markdown, filter(None, (gate, lift_line(own)))),
            ]
        )
    yield ""
    if summary.gate is not None:
        reasons = gate_reasons(summary.gate, details=True)
        yield from folded("The gate's reasons", [f"- {escape_markdown(line, 5000)}" for line in reasons])
        for one in change_tables(summary.gate):
            yield from folded(one.title, escaped_table(one))
    heads, *rows = markdown_rows(summary)
    yield from table(heads, [[escape_markdown(name), *numbers] for name, *numbers in rows])


def detail_lines(summary: Summary) -> Iterator[str]:
    """Yield what is behind that: rates by label, rulers, unknown verdicts, and remarks."""
    tables = (rate_tables, finding_tables, explained_tables, detail_tables)
    for one in [table for of in tables for table in of(summary)]:
        yield ""
        yield from folded(one.title, escaped_table(one))
    for one in ruler_tables(summary):
        yield from ("", *escaped_table(one), "")
        yield from (f"- {escape_markdown(text)}" for text in ruler_lines(summary.rulers.values()))
    for one in mediator_tables(summary):
        yield from ("", *escaped_table(one), "")
        yield from (f"- {escape_markdown(text)}" for text in mediator_lines(summary))
    unknown = list(unknown_lines(summary))
    if unknown:
        yield ""
        yield from folded(unknown_head(summary), (f"- {escape_markdown(text)}" for text in unknown))
    said = [*together_lines(summary.together), *(text for text, _ in remarks(summary))]
    if said:
        yield ""
        yield from (f"- {escape_markdown(text, 1000)}" for text in said)


def escape_markdown(text: str, limit: int = 200) -> str:
    """Return foreign text on one line that is no markup, and that no forge makes a mention, reference or link of."""
    return _LIVE.sub(rf"\1{_APART}", one_line(text, limit).translate(_SPECIAL))


def folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines that are shown once their title, which may be foreign text, is clicked."""
    inside = _LIVE.sub(rf"\1{_APART}", html.escape(one_line(title)))  # Markdown is not read within HTML
    yield f"<details><summary>{inside}</summary>"
    yield ""
    yield from lines
    yield ""
    yield "</details>"
    yield ""


def escaped_table(one: SummaryTable) -> Iterator[str]:
    """Yield a table whose heads and names are escaped."""
    heads, *rows = zip((one.head, *one.names), *one.columns, strict=True)
    return table([escape_markdown(head) for head in heads], [(escape_markdown(name), *row) for name, *row in rows])


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table of cells that are escaped."""
    yield f"| {' | '.join(heads)} |"
    yield f"|---|{'---:|' * (len(heads) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
