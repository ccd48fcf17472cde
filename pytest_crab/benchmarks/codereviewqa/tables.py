"""The results of answerers as tables and sentences, for a terminal and for probes.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_crab.benchmarks.codereviewqa.choice_statistics import LETTERS
from pytest_crab.benchmarks.codereviewqa.summary import AnswererSummary, ProbeSummary
from pytest_crab.formats import (
    NOTHING,
    format_count,
    format_dollars,
    format_interval,
    format_percent,
    format_points,
    format_table,
)
from pytest_crab.results.rates import Rate
from pytest_crab.show.headline import rate_sentence
from pytest_crab.show.markdown import escape_markdown, escaped_table
from pytest_crab.show.summary_tables import SummaryTable, rate_cell, rate_with_interval
from pytest_crab.show.summary_text import together_lines
from pytest_crab.show.terminal import Line, grid_lines, usage_lines
from pytest_crab.text import ascii_line, one_line

#: The most pairs of answerers that have a row; probes.json has all.
_PAIRS = 15


def probe_lines(summary: ProbeSummary, width: int = 80) -> list[Line]:
    """Return the results in lines of at most ``width`` columns; the headlines come last."""
    blocks = [
        grid_lines(tables(summary), width),
        [Line(text) for text in together_lines(summary.together)],
        usage_lines([(own.answerer, own.usage) for own in summary.answerers], width),
        [Line(text, "yellow") for text in _unknown(summary)],
        _rates(summary),
        [Line(rate_sentence(own.answerer, own.overall, "probe"), "bold") for own in summary.answerers],
    ]
    return [line for block in blocks if block for line in (Line(""), *block)][1:]


def probe_markdown(summary: ProbeSummary) -> Iterator[str]:
    """Yield the lines of probes.md."""
    yield "## Probes"
    yield ""
    yield "The rate is the share of probes that are answered correctly in every order of their options."
    yield ""
    for one in (rates_table(summary), *tables(summary)):
        yield from (*escaped_table(one), "")
    for text in sentences(summary):
        yield f"- {escape_markdown(text)}"


def rates_table(summary: ProbeSummary) -> SummaryTable:
    """Return the rates, a row for each answerer."""
    head, *rows = _rate_rows(summary)
    names, *columns = zip(head, *rows, strict=True)
    return SummaryTable("Probes", head[0], names[1:], columns)


def sentences(summary: ProbeSummary) -> Iterator[str]:
    """Yield how answerers compare, and what has no verdict."""
    yield from together_lines(summary.together)
    yield from _unknown(summary)


def _rates(summary: ProbeSummary) -> list[Line]:
    head, *lines = format_table(_rate_rows(summary), " ")
    return [Line(head, "bold"), *map(Line, lines)]


def _rate_rows(summary: ProbeSummary) -> list[tuple[str, ...]]:
    """Return the rows of the table of rates, the head first."""
    return [
        ("Answerer", "by", "Wording", "Overall", "95%", "Macro", "/known", "Unknown"),
        *(
            (
                ascii_line(own.answerer),
                own.measure or NOTHING,
                own.wording or NOTHING,
                format_percent(own.overall.micro),
                format_interval(own.overall.interval, "-"),
                format_percent(own.overall.macro),
                rate_cell(own.overall),
                str(own.overall.unknown),
            )
            for own in summary.answerers
        ),
    ]


def tables(summary: ProbeSummary) -> Iterator[SummaryTable]:
    """Yield the rates by label, the measures of answers, and the costs."""
    dimensions = dict.fromkeys(name for own in summary.answerers for name in own.by_label)
    for dimension in sorted(dimensions):
        words = list(dict.fromkeys(word for own in summary.answerers for word in own.by_label.get(dimension, {})))
        name = one_line(dimension, 40)
        title = f"Caught of known probes by {name}, with 95% intervals"
        columns = [
            [ascii_line(own.answerer), *(_cell(own.by_label.get(dimension, {}).get(word)) for word in words)]
            for own in summary.answerers
        ]
        yield SummaryTable(title, f"by {name}", words, columns)
    yield from filter(None, map(_answers, summary.answerers))
    yield from _details(summary)


def _cell(rate: Rate | None) -> str:
    return NOTHING if rate is None else rate_with_interval(rate)


def _answers(own: AnswererSummary) -> SummaryTable | None:
    """Return the measures of an answerer's probes beside their invariant accuracy, which the rates are."""
    measures = {probe: languages["all"] for probe, languages in own.probes.items()}
    if not measures:
        return None
    letters = sorted({*LETTERS, *(letter for each in measures.values() for letter in each.letters)})
    columns = [
        ["correct", *(f"{format_percent(each.mean)}%" for each in measures.values())],
        ["agreement", *(f"{format_percent(each.agreement)}%" for each in measures.values())],
        *([letter, *(str(each.letters.get(letter, 0)) for each in measures.values())] for letter in letters),
    ]
    title = f"Answers of {ascii_line(own.answerer)} ({own.measure}, {own.wording})"
    return SummaryTable(title, title, list(measures), columns)


def _details(summary: ProbeSummary) -> Iterator[SummaryTable]:
    """Yield the table of repeats and costs, without rows that no answerer has a number for, and that of pairs."""
    rows = {
        "Repeats": [str(own.repeats) if own.repeats > 1 else NOTHING for own in summary.answerers],
        "Cost (USD)": [_dollars(own.cost_usd) for own in summary.answerers],
        "Cost of failed attempts (USD)": [_dollars(own.failed_usd) for own in summary.answerers],
        "Records of unknown cost": [str(own.unpriced) if own.unpriced else NOTHING for own in summary.answerers],
        "Seconds": [f"{own.seconds:.1f}" for own in summary.answerers],
    }
    known = {name: cells for name, cells in rows.items() if set(cells) != {NOTHING}}
    names = [ascii_line(own.answerer) for own in summary.answerers]
    columns = [[name, *(cells[at] for cells in known.values())] for at, name in enumerate(names)]
    yield SummaryTable("Repeats and costs", "Details", list(known), columns)
    pairs = [pair for pair in summary.together.pairs if pair.comparison.difference is not None][:_PAIRS]
    if pairs:
        yield SummaryTable(
            "Pairs of answerers",
            "Pairs",
            [f"{ascii_line(pair.first)} to {ascii_line(pair.second)}" for pair in pairs],
            [
                ["Both", *(str(pair.both) for pair in pairs)],
                ["First", *(str(pair.only_first) for pair in pairs)],
                ["Second", *(str(pair.only_second) for pair in pairs)],
                ["Points", *(format_points(pair.comparison.difference) for pair in pairs)],
                ["p", *(f"{pair.p_holm:.3f}" for pair in pairs)],
            ],
        )


def _dollars(amount: float | None) -> str:
    return NOTHING if amount is None else format_dollars(amount)


def _unknown(summary: ProbeSummary) -> Iterator[str]:
    """Yield what has no verdict and why, and what was skipped."""
    for own in summary.answerers:
        name = ascii_line(own.answerer)
        for cause, count in own.unknown_causes.items():
            yield f"{name}: {format_count(count, 'probe')} without a verdict: {ascii_line(cause, 500)}"
        for reason, count in own.skipped.items():
            yield f"{name}: {format_count(count, 'instance')} skipped: {ascii_line(reason, 300)}"


def missed_text(missed: Sequence[object]) -> str:
    """Return how many items missed a probe."""
    return f"{format_count(len(missed), 'item')} missed a probe; -v shows each of them here"
