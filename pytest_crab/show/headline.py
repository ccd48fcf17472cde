"""The first thing to read of a run: each reviewer's rate, and the gate's verdict on it in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_crab.formats import format_change_interval, format_count, format_number, format_percent, format_points
from pytest_crab.results.gate_record import Gate, GateRuling
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import Summary
from pytest_crab.statistics.comparison import Comparison
from pytest_crab.text import ascii_line, one_line

#: The most characters of a gate's sentence: two lines of 80 columns with their indent.
LONGEST = 150


def headlines(summary: Summary) -> Iterator[tuple[ReviewerSummary, str, str | None]]:
    """Yield each reviewer with its rate and interval, and the gate's sentence on it, or None without one.

    Controls are left out, unless nothing else ran.
    """
    rulings = {ruling.reviewer: ruling for ruling in summary.gate.rulings} if summary.gate is not None else {}
    contestants = [own for own in summary.reviewers if own.variant is None] or summary.reviewers
    for own in contestants:
        ruling = rulings.get(own.reviewer)
        sentence = None if summary.gate is None or ruling is None else gate_sentence(summary.gate, ruling)
        yield own, rate_sentence(own), sentence


def unmeasured_line(own: ReviewerSummary) -> str | None:
    """Return the line that says that a reviewer's rate measured nothing; None if it did."""
    return None if own.unmeasured is None else f"{ascii_line(own.reviewer)}: {own.unmeasured}"


def rate_sentence(own: ReviewerSummary) -> str:
    """Return a reviewer's rate with its interval, as in ``mine: 50.0% (5 of 10 oracles caught; 95% ...)``."""
    rate, name = own.overall, ascii_line(own.reviewer)
    if not rate.known:
        return f"{name}: no rate, since none of {format_count(rate.oracles, own.counted)} has a verdict"
    parts = [f"{format_number(rate.caught)} of {format_count(rate.known, own.counted)} caught"]
    if rate.interval is not None:
        low, high = format_percent(rate.interval.low), format_percent(rate.interval.high)
        parts.append(f"95% interval {low}% to {high}% over {rate.interval.basis}")
    if rate.unknown:
        parts.append(f"{rate.unknown} more without a verdict")
    return f"{name}: {format_percent(rate.micro)}% ({'; '.join(parts)})"


def gate_line(gate: Gate) -> str:
    """Return the gate's decision with its exit status and what is said of the whole run, not of a reviewer."""
    decision = f"{gate.paragraph.partition('. ')[0].removesuffix('.')}."
    return " ".join([decision, *(one_line(each.paragraph, 1000) for each in gate.rulings if each.reviewer is None)])


def gate_sentence(gate: Gate, ruling: GateRuling) -> str:
    """Return the ruling on one reviewer with the numbers that it rests on, at most LONGEST characters."""
    comparison = _comparison(gate, ruling)
    if comparison is None:
        reason = ruling.paragraph.removeprefix(f"{ruling.reviewer}: ").partition(". ")[0].removesuffix(".")
    else:
        interval = format_change_interval(comparison.interval)
        reason = f"{format_points(comparison.difference)} points against the baseline (interval {interval})"
        reason += "" if gate.margin is None else f", margin {gate.margin:g} points"
        reason += "" if gate.fail_under is None else f"; at least {format_percent(gate.fail_under)}% asked for"
    return ascii_line(f"gate {ruling.ruling}: {reason}", LONGEST)


def says_all(gate: Gate, ruling: GateRuling) -> bool:
    """Return whether ``gate_sentence`` leaves nothing of the ruling's paragraph out; numbers stand for its reasons."""
    return _comparison(gate, ruling) is None and ". " not in ruling.paragraph


def _comparison(gate: Gate, ruling: GateRuling) -> Comparison | None:
    """Return the comparison with the baseline whose numbers the sentence on a ruling tells; None: it tells none."""
    found = gate.comparisons.get(ruling.reviewer or "")
    return None if found is None or found.difference is None else found
