"""A gate's ruling on a baseline in words: the change, what it shows, and what would settle it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from pytest_crab.formats import (
    format_change_interval,
    format_count,
    format_dollars,
    format_names,
    format_percent,
    format_points,
)
from pytest_crab.gate.baseline import BaselineComparison, BaselineRuling
from pytest_crab.gate.power_statement import spread
from pytest_crab.gate.results import GateResult
from pytest_crab.statistics.comparison import REPOSITORY, Comparison
from pytest_crab.statistics.labels import LabelComparison
from pytest_crab.statistics.power import POWER, Design, oracles_needed, oracles_to_pass

#: How many oracles a gate names on each side before the rest is only counted.
_SHOWN = 20

#: With fewer repositories an interval is wide however many oracles they hold.
_FEW = 6


def explain_baseline(one: BaselineComparison, ruling: BaselineRuling) -> str:
    """Return the sentences that say how a reviewer compares with its baseline, and why the gate rules as it does."""
    return one.problem if one.problem is not None else " ".join(_sentences(one, ruling))


def _sentences(one: BaselineComparison, ruling: BaselineRuling) -> Iterator[str]:
    comparison = one.comparison
    assert comparison is not None
    rates = f"from {format_percent(comparison.before)}% to {format_percent(comparison.after)}%"
    yield (
        f"{one.reviewer}: {_change(comparison)} against {one.baseline}, {rates} of "
        f"{format_count(comparison.known, one.counted)}; {_interval(comparison)}."
    )
    if one.gated:
        yield _verdict(comparison, one.margin, ruling.overall)
    shown = _SHOWN if one.gated else max(comparison.pairs, 1)
    lost, gained = _names(comparison.lost, shown), _names(comparison.gained, shown)
    yield f"Lost {lost}; gained {gained} (exact McNemar p = {comparison.p:.3g})."
    if one.gated:
        yield from (_label_sentence(label, result, ruling.overall, one.counted) for label, result in ruling.labels)
        yield from (f"No {one.counted} has the label {label}, so its margin says nothing." for label in one.absent)
        if ruling.overall is GateResult.INCONCLUSIVE:
            yield from _remedies(one, comparison)
    yield from _loads(one)
    yield from _not_compared(one, comparison)
    yield from (f"Note: {remark}." for remark in one.remarks)


def _not_compared(one: BaselineComparison, comparison: Comparison) -> Iterator[str]:
    if comparison.unmeasured:
        yield f"{format_count(comparison.unmeasured, one.counted)} measured in neither run count as unknown in both."
    left = [
        f"{comparison.only_before} only in the baseline" if comparison.only_before and not one.whole else "",
        f"{comparison.only_after} only in this run" if comparison.only_after else "",
    ]
    if any(left):
        yield f"Not compared: {', '.join(filter(None, left))}."
    if one.whole and comparison.only_before:
        missing = format_count(comparison.only_before, one.counted)
        yield f"{missing} of the baseline are missing here and taken as unknown."


def _change(comparison: Comparison) -> str:
    change = comparison.difference or 0.0
    return (
        "unchanged" if abs(change) < 5e-4 else f"{'up' if change > 0 else 'down'} {format_percent(abs(change))} points"
    )


def _verdict(comparison: Comparison, margin: float, result: GateResult) -> str:
    if result is GateResult.PASSED and comparison.high is not None and comparison.high < 0:
        return f"The drop is real and smaller than the margin of {margin:g} points."
    if result is GateResult.PASSED:
        return f"A drop of more than the margin of {margin:g} points is ruled out."
    if result is GateResult.FAILED:
        return "The drop is more than chance."
    if comparison.p_drop < (1 - comparison.level) / 2:
        return (
            "Alone the drop would be more than chance; of all reviewers and labels that this gate rules on, one falls "
            f"so far more easily (Holm). A drop of more than {margin:g} points is not ruled out."
        )
    return f"This shows no drop, and does not rule out a drop of more than {margin:g} points."


def _label_sentence(label: LabelComparison, result: GateResult, overall: GateResult, counted: str) -> str:
    own = label.comparison
    lost, gained = f"{len(own.lost)} lost", f"{len(own.gained)} gained"
    name = f"{label.dimension} {label.label}"
    if label.margin is None:
        so = ", so the gate does not pass" if overall is GateResult.PASSED else ""
        return (
            f"{name}: {lost} and {gained} of {format_count(own.known, counted)} (exact p = {own.p:.2g}), which taken "
            f"alone is a drop{so}; --crab-margin {label.label}=POINTS says how much it may fall."
        )
    if not own.known:
        return f"{name}: no {counted} has a verdict in both runs."
    return f"{name}: {_change(own)}, {lost} and {gained}; {_interval(own)}. {_verdict(own, label.margin, result)}"


def _interval(comparison: Comparison) -> str:
    interval = comparison.interval
    assert interval is not None
    assert comparison.low is not None
    assert comparison.high is not None
    level = f"{100 * comparison.level:.4g}%"
    text = f"{level} interval {format_change_interval(interval)} points over {interval.basis}"
    if not comparison.doubtful and abs(comparison.low - interval.low) + abs(comparison.high - interval.high) < 1e-9:
        return text
    bounds = f"{format_points(comparison.low)} to {format_points(comparison.high)}"
    return f"{text}, and {bounds} whatever the unknown verdicts are"


def _remedies(one: BaselineComparison, comparison: Comparison) -> Iterator[str]:
    interval = comparison.interval
    assert interval is not None
    if 100 * interval.low >= -one.margin or interval.high < 0:
        if one.whole and comparison.only_before:
            yield "The missing ones would settle it: run them too, or say --part if they were left out on purpose."
            return
        doubtful = format_count(comparison.doubtful, one.counted)
        yield f"Verdicts for {doubtful} with unknown repeats would settle it: run again, finished steps are kept."
        return
    few = interval.by == REPOSITORY and interval.clusters < _FEW
    more = f"more repositories than these {interval.clusters}, or --crab-gate-unit=pull-request for these alone; "
    sizes = f"{more if few else ''}{', '.join(_sizes(one, comparison, interval.by))}"
    yield f"To settle it: {sizes}; or repeats (--crab-repeat) against the noise, or a wider --crab-margin."
    yield "To look again after more repeats, let --crab-gate-looks be the number of all looks, from the first one on."
    if comparison.smallest_drop is not None:
        drop = f"a {format_percent(comparison.smallest_drop)}-point drop"
        yield f"A comparison like this one has {POWER:.0%} power to detect {drop}."


def _sizes(one: BaselineComparison, comparison: Comparison, unit: str) -> Iterator[str]:
    """Yield how many oracles would pass, and show a drop, each with the repositories or pull requests for them."""
    margin, design = f"{one.margin:g} points", one.design
    enough = None if design is None else _oracles_enough(design, one.margin, comparison)
    needed = oracles_needed(design, one.margin / 100) if design is not None and one.margin > 0 else None
    if design is not None and enough is not None:
        where = spread(design, enough)
        yield f"about {enough} {one.counted}s with results like these, {where}, would rule out a drop of {margin}"
    if design is not None and needed is not None:
        noun, drop = ("", "such a drop") if enough is not None else (f" {one.counted}s", f"a drop of {margin}")
        yield f"about {needed}{noun} {spread(design, needed)} would have {POWER:.0%} power to detect {drop}"
    if enough is None and needed is None:
        yield f"far more {one.counted}s{', in more repositories' if unit == REPOSITORY else ''}"


def _oracles_enough(design: Design, margin: float, comparison: Comparison) -> int | None:
    """Return how many oracles would pass with this difference, this noise and as much unknown."""
    change = comparison.difference or 0.0
    if 100 * change <= -margin:
        return None
    alike = dataclasses.replace(
        design,
        noise=max(0.0, (comparison.discordance or 0.0) - abs(change)),
        unknown=max(0.0, comparison.doubtful / comparison.pairs - design.unknown_before),
    )
    return oracles_to_pass(alike, margin / 100, chance=0.5, shift=change)


def _loads(one: BaselineComparison) -> Iterator[str]:
    before, after, parts = one.before, one.after, []
    if before.comments is not None and after.comments is not None:
        parts.append(f"comments per {one.instance} {before.comments:.1f} before, {after.comments:.1f} now")
    if before.cost_usd is not None and after.cost_usd is not None:
        was, now = format_dollars(before.cost_usd, 3), format_dollars(after.cost_usd, 3)
        parts.append(f"{was} USD per {one.instance} before, {now} now")
    if parts:
        text = "; ".join(parts)
        yield f"{text[:1].upper()}{text[1:]}."


def _names(names: Sequence[str], shown: int) -> str:
    return f"{len(names)}: {format_names(names, shown)}" if names else "none"
