"""A run's results as lines for a terminal: the details, headlines, table 5 of arXiv 2603.23448, and where to look."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_crab.formats import (
    NOTHING,
    format_count,
    format_dollars,
    format_one,
    format_percent,
    format_table,
)
from pytest_crab.results.explain import suggestion_words
from pytest_crab.results.model_usage import ModelUsage
from pytest_crab.results.recorded_rulers import ruler_lines
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import CAUSES, Summary
from pytest_crab.show.detail_tables import detail_tables
from pytest_crab.show.headline import gate_reasons, headlines, unmeasured_line
from pytest_crab.show.label_changes import change_tables
from pytest_crab.show.mediator_text import mediator_lines, mediator_tables
from pytest_crab.show.reviewer_numbers import terminal_table
from pytest_crab.show.summary_tables import (
    LONGEST_HEAD,
    SummaryTable,
    explained_tables,
    finding_tables,
    label,
    rate_tables,
    ruler_tables,
)
from pytest_crab.show.summary_text import (
    advice_line,
    lift_line,
    lift_note,
    names_by_text,
    note_lines,
    together_lines,
)
from pytest_crab.text import ascii_line, one_line

#: How many comments to look at next are shown with details; the page has more.
_LOOKS = 5

#: How many causes of unknown verdicts are shown for each reviewer; summary.json has all.
_CAUSES = 8


class Line(NamedTuple):
    """One line without its end."""

    text: str
    #: How the line looks (bold, yellow, red) or, of a trial, what it is (heading).
    style: str = ""


def summary_lines(summary: Summary, width: int = 80, *, details: bool = True, report: Path | None = None) -> list[Line]:
    """Return a run's results in lines of at most ``width`` columns (80 are needed); none if there was no trial.

    The answer comes last, where a terminal shows it: each reviewer's rate or what the gate says of it, the table, and
    what to look at next. Before it are the ``details``: tables, notes, and what was asked of models. ``report`` is
    where the report is, unless commands find it without that.
    """
    if not summary.reviewers:
        return []
    blocks = _details(summary, width) if details else []
    blocks.append(
        [
            *_headlines(summary, width, details=details),
            *([] if details else _brief_notes(summary, width)),
            *_table(summary, width),
            *(line for own in summary.reviewers if details or _is_compared(own, summary) for line in _lift(own, width)),
            *_look_next(summary, width, _LOOKS if details else 1, report),
        ]
    )
    return [line for block in blocks if block for line in (Line(""), *block)][1:]


def _details(summary: Summary, width: int) -> list[list[Line]]:
    return [
        grid_lines(change_tables(summary.gate), width),
        grid_lines(rate_tables(summary), width),
        grid_lines(finding_tables(summary), width),
        grid_lines(explained_tables(summary), width),
        _rulers(summary, width),
        _wrap_all(together_lines(summary.together), width),
        grid_lines(detail_tables(summary), width),
        [*grid_lines(mediator_tables(summary), width), *_wrap_all(mediator_lines(summary), width)],
        [line for text, style in remarks(summary) for line in _wrap(text, width, style)],
        usage_lines([(own.reviewer, own.usage) for own in summary.reviewers], width),
        _unknown(summary, width),
    ]


def _table(summary: Summary, width: int) -> list[Line]:
    table = terminal_table(summary)
    head, names = table.head, table.names
    heads = [column[0] for column in table.columns]
    rows = list(zip(*(column[1:] for column in table.columns), strict=True))
    widths = [max(len(cell) for cell in cells) for cells in zip(heads, *rows, strict=True)]
    room = width - sum(widths) - len(widths)
    first = max([min(len(head), room), *(len(name) for name in names if len(name) <= room)])
    lines = [Line(_row(head, heads, first, widths), "bold")]
    for name, row in zip(names, rows, strict=True):
        if len(name) > first:
            lines.append(Line(ascii_line(name, width)))
        lines.append(Line(_row("" if len(name) > first else name, row, first, widths)))
    return lines


def _row(name: str, cells: Sequence[str], first: int, widths: Sequence[int]) -> str:
    padded = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return " ".join((name.ljust(first), *padded)).rstrip()


def _rulers(summary: Summary, width: int) -> list[Line]:
    """Return the means by ruler, then each ruler with its version and how far judges can be trusted."""
    means = grid_lines(ruler_tables(summary), width)
    told = ruler_lines(summary.rulers.values()) if means else ()
    return [*means, *_wrap_all(map(ascii_line, told), width)]


def grid_lines(tables: Iterable[SummaryTable], width: int) -> list[Line]:
    """Return tables below each other, an empty line between them; columns that do not fit go below likewise."""
    lines: list[Line] = []
    for table in tables:
        names = [one_line(table.head, LONGEST_HEAD), *(one_line(word, 30) for word in table.names)]
        first = max(map(len, names))
        columns = [_align(column, width - first - 1) for column in table.columns]
        while columns:
            count = _fitting([len(column[0]) for column in columns], width - first)
            block, columns = columns[:count], columns[count:]
            widths = [len(column[0]) for column in block]
            rows = [
                _row(word, [column[at].strip() for column in block], first, widths) for at, word in enumerate(names)
            ]
            lines += [Line(""), Line(rows[0], "bold"), *map(Line, rows[1:])]
    return lines[1:]


def _align(column: Sequence[str], room: int) -> list[str]:
    cells = [ascii_line(column[0], room), *column[1:]]
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]


def _fitting(widths: Sequence[int], room: int) -> int:
    """Return how many columns, one at least, fit beside each other with a space before each."""
    count = 1
    while count < len(widths) and sum(widths[: count + 1]) + count + 1 <= room:
        count += 1
    return count


def _look_next(summary: Summary, width: int, most: int, report: Path | None) -> list[Line]:
    """Return at most so many comments, those that lead the page, each with the command that shows it."""
    place = "" if report is None else f" --report {ascii_line(shlex.quote(str(report)), 4000)}"
    lines = []
    for number, one in enumerate(summary.looks.comments[:most]):
        head = "            " if number else "Look next: "
        text = ascii_line(f"{one.comment}, {one.why}", 400)
        lines += _wrap(f"{head}{text}: pytest-crab show {ascii_line(one.trial)}{place}", width)
    return lines


def _is_compared(own: ReviewerSummary, summary: Summary) -> bool:
    """Return whether a reviewer is compared with others: it is no control, and is not shown the answer."""
    return own.reviewer in summary.together.reviewers


def _lift(own: ReviewerSummary, width: int) -> list[Line]:
    text = lift_line(own)
    return [] if text is None else _wrap(f"{label(own)}: {text}", width, "bold")


def _headlines(summary: Summary, width: int, *, details: bool) -> list[Line]:
    """Return what the gate says of each reviewer, else its rate.

    Without ``details`` of several that of the best, which is none that is shown the answer where there is another.
    """
    own = list(headlines(summary))
    if len(own) > 1 and not details and all(gate is None for _, _, gate in own):
        compared = [one for one in own if _is_compared(one[0], summary)] or own
        best = max(compared, key=lambda one: one[0].overall.micro or 0.0)
        own = [(best[0], f"{'most caught by ' if len(compared) > 1 else ''}{best[1]}", None)]
    reasons = [] if summary.gate is None else list(gate_reasons(summary.gate, details=details))
    lines = []
    for reviewer, rate, gate in own:
        said = rate if gate is None else f"{ascii_line(reviewer.reviewer)}: {gate}"
        lines += _wrap(said, width, "bold")
        is_said = any((reviewer.unmeasured or "") in one for one in (said, *reasons))
        lines += _wrap("" if is_said else unmeasured_line(reviewer) or "", width, "red")
    return [*lines, *_wrap_all((one_line(text, 5000) for text in reasons), width)]


def _brief_notes(summary: Summary, width: int) -> list[Line]:
    """Return what changes the meaning of rates, and what is unknown, a line each."""
    notes = [Line(ascii_line(note.partition(" (")[0], width), "yellow") for note in note_lines(summary.reviewers)]
    return [*notes, *_wrap_all(unknown_lines(summary), width, "red")]


def usage_lines(askers: Sequence[tuple[str, Sequence[ModelUsage]]], width: int) -> list[Line]:
    """Return what was asked of models, without the column of failed requests where none is known to have failed."""
    rows = list(usage_rows(askers))
    if not rows:
        return []
    table = [("Asked of models", "Requests", "Failed", "Input tokens", "Output tokens", "USD"), *rows]
    if not any(one.failed_requests for _, usages in askers for one in usages):
        table = [(*row[:2], *row[3:]) for row in table]
    head, *lines = format_table(table, " ", widest=max(20, width - 50))
    return [Line(head, "bold"), *map(Line, lines)]


def usage_rows(askers: Iterable[tuple[str, Sequence[ModelUsage]]]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each of those that asked models, part of its steps and model.

    It has its name, requests and how many of them failed, tokens both ways, and dollars.
    """
    for name, usages in askers:
        for one in usages:
            counts = (one.requests, one.failed_requests, one.input_tokens, one.output_tokens)
            shown = (NOTHING if count is None else f"{count:,}" for count in counts)
            yield (f"{name} {one.part}: {one.model or 'unknown model'}", *shown, format_dollars(one.cost_usd))


def _unknown(summary: Summary, width: int) -> list[Line]:
    lines = _wrap_all(unknown_lines(summary), width, "red")
    return [Line(unknown_head(summary), "bold"), *lines] if lines else []


def unknown_head(summary: Summary) -> str:
    """Return the heading of the unknown verdicts, with the rule that rates apply to them."""
    rule = "counted as missed" if summary.errors_as_misses else "not counted in any rate"
    return f"Unknown {summary.many_counted}, {rule}"


def unknown_lines(summary: Summary) -> Iterator[str]:
    """Yield the bounds of each rate, and how many verdicts are unknown for each cause."""
    texts = [(label(own), text) for own in summary.reviewers for text in _unknown_texts(own)]
    yield from (line for _, line in _merged(texts, summary))


def _unknown_texts(own: ReviewerSummary) -> Iterator[str]:
    if not sum(own.outcomes.get(cause, 0) for cause in CAUSES):
        return
    low, high = format_percent(own.overall.low), format_percent(own.overall.high)
    lacking = sum(oracle.value() is None for oracle in own.oracles)
    partly = sum(oracle.value() is not None and oracle.counts().unknown > 0 for oracle in own.oracles)
    texts = [
        f"{format_count(count, own.counted)} {'has' if count == 1 else 'have'} no verdict{where}"
        for count, where in ((lacking, ""), (partly, " in some of the repeats"))
        if count
    ]
    yield f"{' and '.join(texts)}; the rate lies between {low}% and {high}%"
    causes = [
        f"{format_count(count, 'verdict')} unknown, {ascii_line(cause, 400)}"
        for cause, count in own.unknown_causes.items()
    ]
    yield from causes[:_CAUSES]
    if len(causes) > _CAUSES:
        yield f"and {format_count(len(causes) - _CAUSES, 'more cause')}, in summary.json"


def _wrap(text: str, width: int, style: str = "") -> list[Line]:
    return [Line(part, style) for part in textwrap.wrap(text, width, subsequent_indent="    ")]


def _wrap_all(texts: Iterable[str], width: int, style: str = "") -> list[Line]:
    return [line for text in texts for line in _wrap(text, width, style)]


def remarks(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield what is to be said beside the numbers, and its style."""
    reviewers = summary.reviewers
    for note in note_lines(reviewers):
        yield ascii_line(note, 1000), "yellow"
    for text in _by_reviewer(
        summary, lambda reviewer: f"{format_count(reviewer.instances, 'instance')}: {_mix(reviewer)}"
    ):
        yield text, ""
    for text in _by_reviewer(summary, _deciding_rulers) if any(own.decided_by for own in reviewers) else ():
        yield text, "yellow"
    for text in _by_reviewer(summary, _interval_scope) if any(map(_interval_scope, reviewers)) else ():
        yield text, ""
    if summary.oracle_errors is not None and (errors := summary.oracle_errors.words()):
        yield f"oracles: {errors}", ""
    if summary.superseded:
        yield f"{format_count(summary.superseded, 'trial')} replaced by a later record of the same trial", ""
    yield from _notes_by_reviewer(summary)


def _notes_by_reviewer(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield the notes on reviewers, each text once, and its style."""
    if (note := lift_note(summary)) is not None:
        yield note, ""
    reviewers = summary.reviewers
    own = [(label(reviewer), text, style) for reviewer in reviewers for text, style in _own_remarks(reviewer)]
    styles = {text: style for _, text, style in own}
    for text, line in _merged([(name, text) for name, text, _ in own], summary):
        yield line, styles[text]


def _merged(notes: Iterable[tuple[str, str]], summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield each text once, and the line that names the reviewers whom it is about."""
    for text, own in names_by_text(notes).items():
        every = len(own) == len(summary.reviewers) > 1
        yield text, f"{'each reviewer' if every else ', '.join(own)}: {text}"


def _by_reviewer(summary: Summary, say: Callable[[ReviewerSummary], str]) -> list[str]:
    """Return the sentences that ``say`` has for reviewers, each once with their names; without if it is one for all."""
    said = names_by_text((label(own), text) for own in summary.reviewers if (text := say(own)))
    return list(said) if len(said) == 1 else [f"{', '.join(names)}: {text}" for text, names in said.items()]


def _deciding_rulers(reviewer: ReviewerSummary) -> str:
    if not reviewer.decided_by:
        return "rates are by oracles"
    said = ", ".join(f"{ascii_line(ruler)} {count}" for ruler, count in reviewer.decided_by.items())
    mixed = "rates mix rulers" if len(reviewer.decided_by) > 1 else "rates are not by oracles"
    return f"{mixed}, verdicts by each: {said}"


def _interval_scope(reviewer: ReviewerSummary) -> str:
    interval = reviewer.overall.interval
    return "" if interval is None else f"95% intervals over {interval.basis}"


def _mix(reviewer: ReviewerSummary) -> str:
    counts = (
        (reviewer.authored, "written for the set"),
        (reviewer.github, "from GitHub"),
        (reviewer.injected, "injected"),
    )
    return ", ".join(f"{count} {word}" for count, word in counts if count)


def _own_remarks(reviewer: ReviewerSummary) -> Iterator[tuple[str, str]]:
    if reviewer.repeats > 1:
        yield f"{reviewer.repeats} repeats; {format_one(reviewer.counted)} counts as the mean of its repeats", ""
    if (advice := advice_line(reviewer)) is not None:
        yield advice, ""
    if reviewer.resolvable is not None:
        yield (
            f"resolvable oracles: {', '.join(map(ascii_line, reviewer.agents))} resolves them from the human comment",
            "",
        )
    if len(reviewer.agents) > 1:
        yield f"its trials used different agents: {', '.join(map(ascii_line, reviewer.agents))}", "yellow"
    if reviewer.skipped:
        reasons = sorted(reviewer.skipped, key=lambda reason: -reviewer.skipped[reason])
        shown = "; ".join(map(ascii_line, reasons[:3])) + ("; and other reasons" if len(reasons) > 3 else "")
        yield f"{format_count(sum(reviewer.skipped.values()), 'trial')} skipped: {shown}", "yellow"
    for text in suggestion_words(reviewer.suggestions):
        yield text, ""
    if reviewer.regressions.broken:
        broken, trials = reviewer.regressions.broken, format_count(reviewer.regressions.measured, "trial")
        yield f"{broken} of {trials} broke passing tests", "red"
