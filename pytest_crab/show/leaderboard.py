"""A leaderboard in Markdown, and a badge, from the summaries of runs."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping

from pytest_crab.formats import NOTHING, format_decimal, format_interval, format_percent
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import Summary
from pytest_crab.show.markdown import escape_markdown, table
from pytest_crab.show.summary_tables import label, rate_cell
from pytest_crab.show.summary_text import note_lines

_HEADS = ("Reviewer", "Agent", "Pass rate %", "95% interval", "Caught / known", "Unknown", "Comments per PR", "USD")
#: Badges are green from the first rate on, yellow from the second, else red; grey without a rate.
_GREEN, _YELLOW = 0.6, 0.3
_COLORS = {"brightgreen": "#3a7d1f", "yellow": "#8a6d00", "red": "#b3261e", "lightgrey": "#6b6b6b"}


def leaderboard_lines(summaries: Mapping[str, Summary]) -> Iterator[str]:
    """Yield a Markdown table of all reviewers that are no controls, the highest rate first, and notes on its marks.

    ``summaries`` are by the names of their reports, which are shown where there are several.
    """
    found = [(name, own) for name, summary in summaries.items() for own in summary.contestants.values()]
    found.sort(key=lambda one: -1.0 if one[1].overall.micro is None else one[1].overall.micro, reverse=True)
    if len(summaries) == 1:
        yield from table(_HEADS, [_cells(own) for _, own in found])
    else:
        yield from table((*_HEADS, "Report"), [[*_cells(own), escape_markdown(name)] for name, own in found])
    notes = dict.fromkeys(note_lines([own for _, own in found]))
    if len({tuple(sorted(summary.digests.items())) for summary in summaries.values()}) > 1:
        notes["the reports are on different instances, so their rates cannot be compared"] = None
    if notes:
        yield ""
        yield from (f"- {escape_markdown(note)}" for note in notes)


def _cells(own: ReviewerSummary) -> list[str]:
    return [
        escape_markdown(label(own)),
        escape_markdown(", ".join(own.agents)),
        format_percent(own.overall.micro),
        _bounds(own),
        rate_cell(own.overall),
        str(own.overall.unknown),
        format_decimal(own.comments_per_pull_request, 1),
        format_decimal(own.cost_usd),
    ]


def _bounds(own: ReviewerSummary) -> str:
    interval = own.overall.interval
    return NOTHING if interval is None else f"{format_interval(interval, ' to ')} over {interval.basis}"


def badge(own: ReviewerSummary) -> dict[str, object]:
    """Return the JSON of a shields.io endpoint: a rate with its interval, and whether faults or agent are made up."""
    rate = own.overall.micro
    color = "lightgrey" if rate is None else "brightgreen" if rate >= _GREEN else "yellow" if rate >= _YELLOW else "red"
    message = "no rate" if rate is None else f"{format_percent(rate)}% ({_bounds(own)})"
    said = ", ".join(
        [message, *(["injected faults"] if own.injected else []), *(["simulated agent"] if own.simulated else [])]
    )
    return {"schemaVersion": 1, "label": f"crab: {own.reviewer}", "message": said, "color": color}


def badge_svg(told: dict[str, object]) -> str:
    """Return a badge as an SVG that needs no network, with its text as its accessible name."""
    left, right = str(told["label"]), str(told["message"])
    widths = [round(6.6 * len(text)) + 12 for text in (left, right)]
    name, whole = html.escape(f"{left}: {right}"), sum(widths)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" aria-label="{name}">'
        f"<title>{name}</title>"
        f'<rect width="{whole}" height="20" rx="3" fill="#444"/>'
        f'<rect x="{widths[0]}" width="{widths[1]}" height="20" rx="3" fill="{_COLORS[str(told["color"])]}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{widths[0] / 2:g}" y="14" textLength="{widths[0] - 12}">{html.escape(left)}</text>'
        f'<text x="{widths[0] + widths[1] / 2:g}" y="14" textLength="{widths[1] - 12}">{html.escape(right)}</text>'
        "</g></svg>\n"
    )
