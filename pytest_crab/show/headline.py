"""The first thing to read of a run: each reviewer's rate, and the gate's verdict on it in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_crab.formats import format_count, format_number, format_percent
from pytest_crab.results.gate_record import Gate, GateRuling
from pytest_crab.results.rates import Rate
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import Summary
from pytest_crab.show.summary_tables import label
from pytest_crab.text import ascii_line, one_line

#: The most characters of a gate's sentence.
LONGEST = 300


def headlines(summary: Summary) -> Iterator[tuple[ReviewerSummary, str, str | None]]:
    """Yield each reviewer with its rate and interval, and the gate's sentence on it, or None without one.

    Controls are left out, unless nothing else ran.
    """
    rulings = {ruling.reviewer: ruling for ruling in summary.gate.rulings} if summary.gate is not None else {}
    for own in summary.contestants.values() or summary.reviewers:
        ruling = rulings.get(own.reviewer)
        sentence = None if ruling is None else gate_sentence(ruling)
        yield own, rate_sentence(label(own), own.overall, own.counted), sentence


def unmeasured_line(own: ReviewerSummary) -> str | None:
    """Return the line that says that a reviewer's rate measured nothing; None if it did."""
    return None if own.unmeasured is None else f"{ascii_line(own.reviewer)}: {own.unmeasured}"


def rate_sentence(reviewer: str, rate: Rate, counted: str) -> str:
    """Return a rate with its interval, as in ``mine: 50.0% (5 of 10 oracles caught; 95% ...)``."""
    name = ascii_line(reviewer)
    if not rate.known:
        return f"{name}: no rate, since none of {format_count(rate.oracles, counted)} has a verdict"
    parts = [f"{format_number(rate.caught)} of {format_count(rate.known, counted)} caught"]
    if rate.interval is not None:
        low, high = format_percent(rate.interval.low), format_percent(rate.interval.high)
        parts.append(f"95% interval {low}% to {high}%, {rate.interval.speaks_for}")
    if rate.unknown:
        parts.append(f"{rate.unknown} more without a verdict")
    return f"{name}: {format_percent(rate.micro)}% ({'; '.join(parts)})"


def gate_line(gate: Gate) -> str:
    """Return the gate's decision with its exit status and what is said of the whole run, not of a reviewer."""
    on_run = (one_line(line, 1000) for each in gate.rulings if each.reviewer is None for line in each.lines)
    return " ".join([gate.sentence, *on_run])


def gate_sentence(ruling: GateRuling) -> str:
    """Return the verdict on one reviewer with the numbers that it rests on, at most LONGEST characters."""
    said = ruling.lines[0].removeprefix(f"{ruling.reviewer}: ")
    return ascii_line(said if ruling.word else f"gate {ruling.ruling}: {said.removesuffix('.')}", LONGEST)


def gate_reasons(gate: Gate, *, details: bool = False) -> Iterator[str]:
    """Yield the lines behind the verdicts on reviewers, and with ``details`` all that is known."""
    for ruling in gate.rulings:
        if ruling.reviewer is not None:
            yield from ruling.lines[1:]
            yield from ruling.details if details else ()
