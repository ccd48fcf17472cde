"""Comparisons of reviewers as sentences of plain ASCII, for a terminal or a pull request's comment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_crab.formats import (
    format_change_interval,
    format_count,
    format_decimal,
    format_dollars,
    format_points,
    format_whole_percent,
)
from pytest_crab.results.comparisons import Lift, Together
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import SIMULATED, Summary
from pytest_crab.show.summary_tables import label
from pytest_crab.text import ascii_line

#: What more money can be spent on, by its name in ``Stability.narrowing``.
_WAYS = {
    "instances": "instances of further repositories",
    "repeats": "repeats with reviews of their own",
    "revisions": "revisions of the same reviews",
}


def lift_line(own: ReviewerSummary) -> str | None:
    """Return a reviewer's net lift over the control; None where no control ran."""
    lift = own.lift
    if lift is None:
        return None
    difference, interval = lift.comparison.difference, lift.comparison.interval
    if difference is None:
        return f"no oracle has a verdict here and under the control {ascii_line(lift.control)}"
    scope = ""
    if interval is not None:
        same = own.overall.interval is not None and own.overall.interval.basis == interval.basis
        over = "" if same else f" over {interval.basis}"
        scope = f" (95% interval {format_change_interval(interval)}{over})"
        if interval.low == interval.high:
            scope = " (the same in every pull request, so that there is no interval)"
    return f"net lift {format_points(difference)} points{scope} over the control {ascii_line(lift.control)}"


def lift_note(summary: Summary) -> str | None:
    """Say why a net lift differs from the difference of the rates; None where none does."""
    rates = {own.reviewer: own.overall.micro for own in summary.reviewers}
    apart = [own for own in summary.reviewers if own.lift is not None and _differs(own.overall.micro, rates, own.lift)]
    if not apart:
        return None
    names = ", ".join(ascii_line(own.reviewer) for own in apart)
    return (
        f"the net lift of {names} is not the difference of the two rates: it is over the "
        " oracles known in both, and an empty review takes the control's verdict"
    )


def _differs(own: float | None, rates: Mapping[str, float | None], lift: Lift) -> bool:
    control, net = rates.get(lift.control), lift.comparison.difference
    return own is not None and control is not None and net is not None and abs(own - control - net) >= 5e-4


def note_lines(reviewers: Sequence[ReviewerSummary]) -> Iterator[str]:
    """Yield the notes on what changes the meaning of rates, each once with the names of those that it is about."""
    for note, names in names_by_text((label(own), note) for own in reviewers for note in own.notes).items():
        of_all = note == SIMULATED and len(names) == len(reviewers)
        yield note if of_all else f"{', '.join(names)}: {note}"


def names_by_text(said: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return each text once, in the order of first appearance, with the names that it is said of."""
    names: dict[str, list[str]] = {}
    for name, text in said:
        names.setdefault(text, []).append(name)
    return names


def together_lines(together: Together) -> Iterator[str]:
    """Yield how many oracles several contestants catch together, and each of them alone."""
    if len(together.reviewers) < 2 or not together.oracles:
        return
    alone = ", ".join(f"{ascii_line(name)} alone {count}" for name, count in together.unique.items())
    yield f"together: {together.union} of {together.oracles} {together.counted}s caught by any; {alone}"


def advice_line(reviewer: ReviewerSummary) -> str | None:
    """Say whether as much money again is better spent on instances, on repeats or on revisions of the same reviews.

    None where nothing varies, or nothing was repeated.
    """
    narrowing = None if reviewer.stability is None else reviewer.stability.narrowing
    if narrowing is None:
        return None
    priced = bool(reviewer.cost_usd) and not reviewer.unpriced
    money = f"{format_dollars(reviewer.cost_usd or 0.0)} USD more" if priced else "twice the money"
    ways = [
        f"{format_whole_percent(narrowing[name])} if spent on {way}" for name, way in _WAYS.items() if name in narrowing
    ]
    return f"with {money} the rate's interval narrows by {', by '.join(ways)}"


def clean_line(reviewer: ReviewerSummary) -> str | None:
    """Return the false alarms per clean pull request; None where the set has no clean one."""
    clean = reviewer.clean
    if clean is None:
        return None
    return (
        f"{format_decimal(clean.per_pull_request)} false alarms per clean pull request: "
        f"{format_count(clean.findings, 'finding')} in {format_count(clean.reviews, 'review')}, "
        f"{clean.alarmed} of them with any"
    )
