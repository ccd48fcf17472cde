"""Results that show themselves: as text where they are printed, as HTML in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.gate.baseline import BaselineComparison, BaselineRuling
from pytest_crab.gate.results import Word
from pytest_crab.gate.wording import baseline_words
from pytest_crab.results.gate_record import GateRuling
from pytest_crab.results.kept_runs import named_report
from pytest_crab.results.summary import Summary
from pytest_crab.show.reviewer_numbers import markdown_rows
from pytest_crab.show.terminal import remarks, summary_lines


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a run: its folder, and its numbers."""

    folder: Path
    summary: Summary

    def __str__(self) -> str:
        """The tables that a run prints."""
        return "\n".join(line.text for line in summary_lines(self.summary, report=named_report(self.folder)))

    def _repr_html_(self) -> str:
        """The rates as a table, with the remarks on them."""
        notes = [text for text, _ in remarks(self.summary)]
        heads, *rows = markdown_rows(self.summary)
        return _table(heads, rows) + _list(notes)


@dataclass(frozen=True, slots=True)
class RunComparison:
    """An earlier run beside a later one."""

    #: The comparison of each reviewer.
    comparisons: tuple[BaselineComparison, ...]
    #: What each comparison shows by the gate's rule.
    rulings: tuple[BaselineRuling, ...]

    @property
    def words(self) -> dict[str, Word]:
        """The word on each reviewer: worse, better, no worse, or cannot tell."""
        return {one.reviewer: ruling.word for one, ruling in zip(self.comparisons, self.rulings, strict=True)}

    def __str__(self) -> str:
        """The lines that ``pytest-crab compare`` prints."""
        return "\n".join("\n  ".join(words.lines) for words in self._several())

    def _repr_html_(self) -> str:
        """Each reviewer's headline, with its lines and details below."""
        return "".join(
            f"<p><strong>{html.escape(words.lines[0])}</strong></p>{_list((*words.lines[1:], *words.details))}"
            for words in self._several()
        )

    def _several(self) -> list[GateRuling]:
        return [baseline_words(*pair) for pair in zip(self.comparisons, self.rulings, strict=True)]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def cells(kind: str, texts: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{kind}>{html.escape(text)}</{kind}>" for text in texts) + "</tr>"

    body = "".join(cells("td", row) for row in rows)
    return f"<table><thead>{cells('th', heads)}</thead><tbody>{body}</tbody></table>"


def _list(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{html.escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""
