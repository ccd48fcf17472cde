"""The page's pictures: SVG from pure functions, with lengths in percent, so that text stays readable at any width.

They are made by hand since a page has to work from disk without a network, and each picture is a few dozen lines; a
library would be most of the page. Every mark that can be asked for its number has the class ``mark`` and states it as
its label; the page's script shows labels on hover and lets arrow keys move between marks. Colours come from page.css.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from pytest_crab.formats import (
    format_change_interval,
    format_duration,
    format_interval,
    format_percent,
    format_points,
    format_whole_percent,
)
from pytest_crab.results.comparisons import Overlap
from pytest_crab.results.rates import Rate
from pytest_crab.statistics.comparison import Comparison
from pytest_crab.text import escape_controls
from pytest_crab.types import TrialId, Verdict

#: The height of a row of a picture, and of a bar of the timeline, in pixels.
ROW, LANE = 26, 10

#: The most bars and rows of a timeline; what starts when all rows are taken lies over others.
BARS, LANES = 2_000, 40

#: The number of colours for reviewers in one picture; further ones begin again.
SERIES = 6

#: The width of the names beside a heat map and of the dots beside bars, in percent.
NAMES, DOTS = 30.0, 40.0

#: So many characters fit above the columns of a heat map on a narrow screen; longer names are a list of numbers.
_HEADS = 36


def _svg(height: float, title: str, parts: Iterable[str], columns: int = 1) -> Markup:
    return Markup(
        '<svg class="chart" width="100%" height="{}" role="group" aria-label="{}" data-columns="{}">{}</svg>'
    ).format(round(height), title, columns, Markup("").join(parts))


def _mark(words: str, *parts: str) -> Markup:
    return Markup('<g class="mark" role="img" tabindex="-1" aria-label="{}">{}</g>').format(
        escape_controls(words), Markup("").join(parts)
    )


# Shapes are made with %: Markup's own ``format`` takes thrice as long, and a page may have thousands.
def _text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> Markup:
    shown = escape_controls(words)
    return Markup('<text x="%.2f%%" y="%.1f" text-anchor="%s" class="%s">%s</text>') % (x, y, anchor, kind, shown)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return Markup('<line x1="%.2f%%" y1="%.1f" x2="%.2f%%" y2="%.1f" class="%s"/>') % (x1, y1, x2, y2, kind)


def _rect(x: float, y: float, width: float, height: float, kind: str) -> Markup:
    place = (x, y, width, height)
    return Markup('<rect x="%.2f%%" y="%.1f" width="%.2f%%" height="%.1f" class="%s"/>') % (*place, kind)


def _dot(x: float, y: float, radius: float, kind: str) -> Markup:
    return Markup('<circle cx="%.2f%%" cy="%.1f" r="%g" class="%s"/>') % (x, y, radius, kind)


def rate_words(name: str, rate: Rate) -> str:
    """Return a rate with its interval and counts in words."""
    if rate.micro is None:
        return f"{name}: not measured"
    interval = f", 95% interval {format_interval(rate.interval, ' to ')}%" if rate.interval else ""
    return f"{name}: {format_percent(rate.micro)}%{interval}, {rate.caught:g} of {rate.known} caught"


def forest_plot(rates: Mapping[str, Rate]) -> Markup:
    """Return rates as dots on a line from 0 to 100%, each with its 95% interval, a name above each."""
    known = {name: rate for name, rate in rates.items() if rate.micro is not None}
    bottom = 44 * len(known)
    parts = [_line(_along(tick), 0, _along(tick), bottom, "grid") for tick in (0, 25, 50, 75, 100)]
    for at, (name, rate) in enumerate(known.items()):
        y = 44 * at + 32
        words = rate_words(name, rate)
        short = f"{name}  {format_percent(rate.micro)}% ({format_interval(rate.interval, ' to ')})"
        shape = [_rect(0, y - 28, 100, 40, "hit"), _text(_along(0), y - 14, short)]
        if rate.interval is not None:
            low, high = (_along(100 * end) for end in (rate.interval.low, rate.interval.high))
            shape += [_line(low, y, high, y, "whisker")]
            shape += [_line(end, y - 5, end, y + 5, "whisker") for end in (low, high)]
        parts.append(_mark(words, *shape, _dot(_along(100 * (rate.micro or 0)), y, 5, "point")))
    parts += [_tick(tick, bottom + 16) for tick in (0, 25, 50, 75, 100)]
    return _svg(bottom + 22, "Rates with their 95% intervals", parts)


def change_picture(comparison: Comparison, margin: float | None, words: str) -> Markup:
    """Return a difference with its interval in points against zero and, where there is a gate, its margin."""
    interval = comparison.interval
    if interval is None or comparison.difference is None:
        return Markup()
    low, middle, high = (100 * end for end in (interval.low, comparison.difference, interval.high))
    ends = (low, high, 0.0, *([] if margin is None else [-margin]))
    room = max(1.0, max(ends) - min(ends))
    first, last = min(ends) - 0.3 * room, max(ends) + 0.3 * room

    def place(points: float) -> float:
        return 100 * (points - first) / (last - first)

    y = 34
    parts = [_line(place(0), 18, place(0), 52, "zero"), _text(place(0), 66, "0", "start", "tick")]
    if margin is not None:
        parts += [_rect(0, 18, place(-margin), 34, "beyond"), _line(place(-margin), 18, place(-margin), 52, "margin")]
        parts += [_text(place(-margin), 66, f"margin {-margin:g}", "end", "tick")]
    shape = [_line(place(low), y, place(high), y, "whisker")]
    shape += [_line(place(end), y - 6, place(end), y + 6, "whisker") for end in (low, high)]
    number = f"{format_points(comparison.difference)} ({format_change_interval(interval)})"
    shape += [_dot(place(middle), y, 6, "verdict"), _text(50, 12, number, "middle")]
    parts += [_mark(words, *shape), _text(0, 84, "\u2190 worse", "start", "tick")]
    return _svg(90, words, [*parts, _text(100, 84, "better \u2192", "end", "tick")])


def _along(percent: float) -> float:
    """Return the place of a rate on an axis that leaves 2% free on both sides."""
    return 2 + 0.96 * percent


def _tick(tick: float, y: float) -> Markup:
    anchor = "start" if tick == 0 else "end" if tick == 100 else "middle"
    return _text(_along(tick), y, f"{tick:g}%", anchor, "tick")


def heat_map(reviewers: Sequence[str], rows: Sequence[tuple[str, Sequence[Rate | None]]]) -> Markup:
    """Return a row for each label and a column for each reviewer, darker where the rate is higher."""
    width = (100 - NAMES) / max(1, len(reviewers))
    narrow = max(map(len, reviewers), default=0) * len(reviewers) > _HEADS
    top = 16.0 * (len(reviewers) if narrow else 0) + 20
    parts = [_text(0, 16.0 * at + 12, f"{at + 1}: {name}", kind="head") for at, name in enumerate(reviewers) if narrow]
    for at, name in enumerate(reviewers):
        words = f"{at + 1}" if narrow else name
        parts.append(_text(NAMES + width * (at + 0.5), top - 6, words, "middle", "head"))
    for row, (word, cells) in enumerate(rows):
        y = top + ROW * row
        parts.append(_text(0, y + 17, word))
        for at, (name, rate) in enumerate(zip(reviewers, cells, strict=True)):
            x = NAMES + width * at
            measured = rate is not None and rate.micro is not None
            words = rate_words(f"{word}, {name}", rate) if rate is not None else f"{word}, {name}: not measured"
            step = f"heat heat-{round(10 * (rate.micro or 0))}" if rate is not None and measured else "heat none"
            shown = format_whole_percent(rate.micro or 0).removesuffix("%") if rate is not None and measured else "-"
            parts.append(
                _mark(words, _rect(x, y, width, ROW, step), _text(x + width / 2, y + 17, shown, "middle", "cell"))
            )
    return _svg(top + ROW * len(rows) + 2, "Rates in percent by label", parts, len(reviewers))


#: How many dots have their name beside them; all have it where the pointer rests on them.
_NAMED = 20


def cost_plot(priced: Sequence[tuple[str, float, Rate]]) -> Markup:
    """Return each reviewer as a dot: cost to the right, rate upwards, the interval of the rate as a line.

    A reviewer is its name, its mean cost per trial in dollars, and its rate.
    """
    most = max((cost for _, cost, _ in priced), default=0) or 1.0
    top, bottom = 12.0, 232.0
    parts = []
    for tick in (0, 25, 50, 75, 100):
        y = bottom - (bottom - top) * tick / 100
        parts += [_line(10, y, 98, y, "grid"), _text(9, y + 4, f"{tick}%", "end", "tick")]
    parts += [_text(10, bottom + 18, "0", "middle", "tick"), _text(98, bottom + 18, f"{most:.3g} USD", "end", "tick")]
    taken: list[tuple[float, float]] = []
    for who, cost, rate in sorted(priced, key=lambda one: -(one[2].micro or 0)):
        x = 10 + 86 * cost / most
        y = bottom - (bottom - top) * (rate.micro or 0)
        words = f"{rate_words(who, rate)}, {cost:.3g} USD per trial"
        ends = [bottom - (bottom - top) * end for end in _ends(rate)]
        whisker = [_line(x, ends[0], x, ends[1], "whisker")] if ends else []
        anchor, aside = ("end", -1.5) if x > 60 else ("start", 1.5)
        name = [_text(x + aside, _free(taken, x, y - 8), who, anchor)] if len(taken) < _NAMED else []
        parts.append(_mark(words, *whisker, _dot(x, y, 6, "point"), *name))
    return _svg(bottom + 24, "Cost per trial in dollars (to the right) against rate (upwards)", parts)


def _free(taken: list[tuple[float, float]], x: float, y: float) -> float:
    """Return the first place from ``y`` downwards where a name does not lie on another, and take it."""
    while any(abs(x - other) < 20 and abs(y - line) < 13 for other, line in taken):
        y += 14
    taken.append((x, y))
    return y


def history_plot(runs: Sequence[tuple[str, Mapping[str, Rate]]]) -> Markup:
    """Return the rates of each reviewer over several runs in their order, a line for each reviewer."""
    top, bottom, right = 22.0, 222.0, 96.0
    step = (right - 10) / max(1, len(runs) - 1)
    parts = []
    for tick in (0, 25, 50, 75, 100):
        y = bottom - (bottom - top) * tick / 100
        parts += [_line(8, y, right + 2, y, "grid"), _text(7, y + 4, f"{tick}%", "end", "tick")]
    taken: list[tuple[float, float]] = []
    for number, name in enumerate(dict.fromkeys(name for _, rates in runs for name in rates)):
        own = [
            (10 + step * at, bottom - (bottom - top) * (rates[name].micro or 0), run, rates[name])
            for at, (run, rates) in enumerate(runs)
            if name in rates and rates[name].micro is not None
        ]
        shapes = [_line(x1, y1, x2, y2, "trend") for (x1, y1, *_), (x2, y2, *_) in itertools.pairwise(own)]
        shapes += [_mark(rate_words(f"{run}, {name}", rate), _dot(x, y, 5, "point")) for x, y, run, rate in own]
        if own:
            x, y, *_ = own[-1]
            anchor, aside = ("end", -1.5) if x > 60 else ("start", 1.5)
            shapes.append(_text(x + aside, _free(taken, x, y + (4 if x <= 60 else -8)), name, anchor))
        parts.append(Markup('<g class="series-{}">{}</g>').format(number % SERIES, Markup("").join(shapes)))
    return _svg(bottom + 8, "Rate of each reviewer in each run, in the order of time", parts)


def _ends(rate: Rate) -> tuple[float, ...]:
    return () if rate.interval is None else (rate.interval.low, rate.interval.high)


def overlap_plot(reviewers: Sequence[str], overlaps: Sequence[Overlap]) -> Markup:
    """Return the sizes of sets of reviewers as an UpSet plot: a row for each set, dots for its reviewers, and a bar."""
    step = DOTS / max(1, len(reviewers))
    places = {name: step * (at + 0.5) for at, name in enumerate(reviewers)}
    most = max((one.oracles for one in overlaps), default=0) or 1
    top = 16.0 * len(reviewers) + 4
    parts = []
    for at, (name, x) in enumerate(places.items()):
        y = 16.0 * at + 12
        parts += [_text(x + 1.5, y, name), _line(x, y - 4, x, top + 4, "grid")]
    for row, one in enumerate(overlaps):
        y = top + ROW * row + ROW / 2
        who = " and ".join(one.reviewers) or "none of them"
        inside = [places[name] for name in one.reviewers]
        dots = [_dot(x, y, 5, "point" if name in one.reviewers else "empty") for name, x in places.items()]
        link = [_line(min(inside), y, max(inside), y, "whisker")] if len(inside) > 1 else []
        bar = 48 * one.oracles / most
        parts.append(
            _mark(
                f"caught by exactly {who}: {one.oracles}",
                _rect(0, y - ROW / 2, 100, ROW, "hit"),
                *link,
                *dots,
                _rect(DOTS + 2, y - 7, bar, 14, "bar-fill" if one.reviewers else "bar-none"),
                _text(DOTS + 3 + bar, y + 4, str(one.oracles)),
            )
        )
    return _svg(top + ROW * len(overlaps) + 4, "Caught by exactly which of them", parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One trial on the timeline."""

    trial: TrialId
    start: datetime
    seconds: float
    #: How often it has each verdict.
    counts: tuple[int, ...]
    #: The seconds of its steps in words.
    steps: str = ""

    @property
    def words(self) -> str:
        """Its name, verdicts and seconds in words."""
        counts = ", ".join(f"{count} {verdict}" for count, verdict in zip(self.counts, Verdict, strict=True))
        return f"{self.trial}: {counts}, {self.seconds:.1f} s ({self.steps or 'from the store'})"

    @property
    def outcome(self) -> str:
        """Its class: caught or missed if all known oracles are, some if they differ, else unknown."""
        caught, missed, _ = self.counts
        if not caught and not missed:
            return "unknown"
        return "some" if caught and missed else "caught" if caught else "missed"


def timeline(bars: Iterable[Bar]) -> Markup:
    """Return trials as bars from the first start to the last end, those that overlap in time in rows of their own."""
    ordered = sorted(bars, key=lambda one: (one.start, str(one.trial)))[:BARS]
    if not ordered:
        return Markup("")
    first = ordered[0].start
    span = max((one.start - first).total_seconds() + one.seconds for one in ordered) or 1.0
    free: list[float] = []
    parts = []
    for one in ordered:
        begin = (one.start - first).total_seconds()
        lane = next((at for at, end in enumerate(free) if end <= begin), len(free))
        lane = min(lane, LANES - 1)
        free[lane : lane + 1] = [begin + one.seconds]
        shape = _rect(
            _along(100 * begin / span),
            4 + LANE * lane,
            max(0.3, 96 * one.seconds / span),
            LANE - 2,
            f"bar-{one.outcome}",
        )
        parts.append(
            Markup('<a href="#t=%s" class="mark" tabindex="-1" aria-label="%s">%s</a>')
            % (quote(str(one.trial), safe=""), escape_controls(one.words), shape)
        )
    bottom = 4 + LANE * len(free)
    parts += [_text(2, bottom + 16, f"{first:%H:%M:%S} UTC", "start", "tick")]
    parts += [_text(98, bottom + 16, f"after {format_duration(span)}", "end", "tick")]
    return _svg(bottom + 22, "When each trial ran; a bar links to its trial", parts)


#: The ends of a candidate in a stage, in the order of a funnel's bar, each with the class of its part.
_ENDS = {"kept": "bar-caught", "failed": "funnel-failed", "waiting": "funnel-waiting", "rejected": "funnel-out"}


def funnel_plot(stages: Sequence[Mapping[str, Any]]) -> Markup:
    """Return a bar for each stage of curation, as long as what came in, with a part for each end.

    A stage has its name, and the counts of its pull requests under ``in`` and the names of the ends.
    """
    most = max((stage["pull_requests"]["in"] for stage in stages), default=0) or 1
    parts = []
    for row, stage in enumerate(stages):
        y, x = 44.0 * row, 0.0
        counts = stage["pull_requests"]
        words = ", ".join(f"{counts[end]} {end}" for end in _ENDS if counts[end])
        shapes = []
        for end, kind in _ENDS.items():
            width = 100 * counts[end] / most
            shapes.append(_rect(x, y + 20, width, 16, kind))
            x += width
        told = f"{stage['stage']}: {counts['in']} in, {words or 'none came'}"
        short = f"{stage['stage']}: {counts['kept']} of {counts['in']} kept"
        parts.append(_mark(told, _rect(0, y, 100, 40, "hit"), _text(0, y + 14, short), *shapes))
    return _svg(44 * len(stages) + 2, "Pull requests at each stage of curation, by their end", parts)
