"""A run against an earlier one: not worse by more than a margin, worse, or not to be told; and why, in plain words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_crab.gate.rulings import Ruling
from pytest_crab.money import dollars
from pytest_crab.report.text import counted
from pytest_crab.statistics.comparison import Comparison
from pytest_crab.statistics.power_simulation import PowerSimulation
from pytest_crab.statistics.power_simulation import simulate_power
from pytest_crab.statistics.power import POWER
from pytest_crab.statistics.power import Design
from pytest_crab.statistics.power import oracles_needed
from pytest_crab.statistics.power import oracles_to_pass
from pytest_crab.statistics.power import smallest_margin

#: How many points a rate may fall before a gate minds, unless another number is named.
MARGIN = 5.0

#: How many oracles a gate names on each side before the rest is only counted.
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a run cost and how much it said: dollars per pull request, and findings per pull request; None: unknown."""

    cost_usd: float | None = None
    comments: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """One reviewer beside its baseline; ``comparison`` None: the baseline has none of it.

    ``margin`` is in points. ``refusal`` says why the two cannot be compared, ``remarks`` what else differs. ``whole``
    is whether oracles that only the baseline has count as unknown; ``gated`` whether anybody asked for a ruling.
    """

    reviewer: str
    baseline: str
    margin: float = MARGIN
    comparison: Comparison | None = None
    design: Design | None = None
    before: Load = Load()
    after: Load = Load()
    refusal: str | None = None
    remarks: tuple[str, ...] = ()
    whole: bool = False
    gated: bool = True


def rule_against(against: Against) -> tuple[Ruling, str]:
    """Return the ruling on one reviewer and the sentences that say why.

    Passed: the whole interval of the difference lies above minus the margin, with every unknown taken as the worst.
    Failed: the whole interval lies below 0, with every unknown taken as the best. Inconclusive: neither is shown, or
    the runs cannot be compared. Where both hold the drop is real and within the margin, which is passed.
    """
    comparison = against.comparison
    if against.refusal is not None:
        return Ruling.INCONCLUSIVE, f"{against.reviewer}: not comparable with {against.baseline}: {against.refusal}."
    if comparison is None:
        return Ruling.INCONCLUSIVE, f"{against.reviewer}: {against.baseline} has no reviewer to compare it with."
    if comparison.low is None or comparison.high is None or not comparison.known:
        return Ruling.INCONCLUSIVE, f"{against.reviewer}: no oracle has a verdict here and in {against.baseline}."
    if 100 * comparison.low >= -against.margin - 1e-9:
        ruling = Ruling.PASSED
    elif comparison.high < 0:
        ruling = Ruling.FAILED
    else:
        ruling = Ruling.INCONCLUSIVE
    return ruling, " ".join(_sentences(against, comparison, ruling))


def foresight(design: Design, *, margin: float, assumed: bool, flips: float | None = None) -> str:
    """Say before a run what its gate will be able to see, in one sentence.

    ``flips`` is the share of verdicts that change between single runs; None: the design's noise is of single runs.
    """
    count, ahead = sum(design.sizes), simulate_power(design)
    smallest = ahead.smallest_drop()
    how = "assuming that" if assumed else "since in the baseline's own repeats"
    noise = f"{how} {_points(design.noise if flips is None else flips)}% of verdicts change from run to run"
    if smallest is None:
        seen = f"{_oracles(count)} cannot show even a fall to nothing, {noise}"
    else:
        seen = f"{_oracles(count)} show a drop of {_points(smallest)} points in four of five runs, {noise}"
    if smallest is not None and 100 * smallest > margin > 0:
        needed = oracles_needed(design, margin / 100)
        chance = ahead.power(margin / 100)
        lack = "" if needed is None else f", and about {max(needed, count + 1)} oracles would show it in four of five"
        seen += f"; a drop as small as the margin of {margin:g} points is seen in {100 * chance:.0f}% of runs{lack}"
    return f"{seen}; {_chance_to_pass(design, ahead, margin)}"


def _chance_to_pass(design: Design, ahead: PowerSimulation, margin: float) -> str:
    least = smallest_margin(design) or 0.0
    needed = oracles_to_pass(design, margin / 100)
    size = "" if needed is None else f"about {max(needed, sum(design.sizes) + 1)} oracles"
    if 100 * least > margin:
        lack = f", or {size} to pass in four of five runs" if size else ""
        return (
            f"even with every verdict unchanged this gate cannot pass at a margin of {margin:g} points: "
            f"it needs at least {_points(least)} points{lack}"
        )
    chance = ahead.chance_unchanged(margin / 100)
    lack = f", and in four of five with {size}" if size and chance < POWER else ""
    return f"an unchanged reviewer passes in {100 * chance:.0f}% of runs{lack}"


def _sentences(against: Against, comparison: Comparison, ruling: Ruling) -> Iterator[str]:
    change = comparison.difference or 0.0
    word = "unchanged" if abs(change) < 5e-4 else f"{'up' if change > 0 else 'down'} {_points(abs(change))} points"
    yield (
        f"{against.reviewer}: {word} against {against.baseline}, from {_points(comparison.before)}% to "
        f"{_points(comparison.after)}% of {_oracles(comparison.known)}; {_interval(comparison)}."
    )
    if against.gated:
        yield _verdict(against, comparison, ruling)
    shown = _SHOWN if against.gated else max(comparison.pairs, 1)
    lost, gained = _names(comparison.lost, shown), _names(comparison.gained, shown)
    yield f"Lost {lost}; gained {gained} (exact McNemar p = {comparison.p:.3g})."
    if against.gated and ruling is Ruling.INCONCLUSIVE:
        yield from _remedies(against, comparison)
    yield from _loads(against.before, against.after)
    left = [
        f"{comparison.unmeasured} measured in neither run" if comparison.unmeasured else "",
        f"{comparison.only_before} only in the baseline" if comparison.only_before and not against.whole else "",
        f"{comparison.only_after} only in this run" if comparison.only_after else "",
    ]
    if any(left):
        yield f"Not compared: {', '.join(filter(None, left))}."
    if against.whole and comparison.only_before:
        yield f"{_oracles(comparison.only_before)} of the baseline are missing here and taken as unknown."
    yield from (f"Note: {remark}." for remark in against.remarks)


def _verdict(against: Against, comparison: Comparison, ruling: Ruling) -> str:
    assert comparison.low is not None
    assert comparison.high is not None
    margin = f"{against.margin:g} points"
    if ruling is Ruling.PASSED and comparison.high < 0:
        return f"The drop is real and smaller than the margin of {margin}."
    if ruling is Ruling.PASSED:
        return f"A drop of more than the margin of {margin} is ruled out."
    if ruling is Ruling.FAILED:
        return "The drop is more than chance."
    return f"Neither a drop of more than {margin} is ruled out, nor is a drop shown."


def _interval(comparison: Comparison) -> str:
    interval = comparison.interval
    assert interval is not None
    assert comparison.low is not None
    assert comparison.high is not None
    clusters = counted(interval.clusters, interval.by)
    text = f"95% interval {_signed(interval.low)} to {_signed(interval.high)} points over {clusters}"
    if not comparison.doubtful and abs(comparison.low - interval.low) + abs(comparison.high - interval.high) < 1e-9:
        return text
    return f"{text}, and {_signed(comparison.low)} to {_signed(comparison.high)} whatever the unknown verdicts are"


def _remedies(against: Against, comparison: Comparison) -> Iterator[str]:
    interval = comparison.interval
    assert interval is not None
    if 100 * interval.low >= -against.margin or interval.high < 0:
        if against.whole and comparison.only_before:
            yield "The missing ones would settle it: run them too, or say --part if they were left out on purpose."
            return
        doubtful = _oracles(comparison.doubtful)
        yield f"Verdicts for {doubtful} with unknown repeats would settle it: run again, finished steps are kept."
        return
    sizes = []
    enough = _enough(against, comparison)
    if enough is not None:
        sizes.append(f"about {enough} oracles that go as these did would rule out a drop of {against.margin:g} points")
    if against.design is not None and against.margin > 0:
        needed = oracles_needed(against.design, against.margin / 100)
        if needed is not None:
            what = (
                "would show one that is there" if sizes else f"oracles would show a drop of {against.margin:g} points"
            )
            sizes.append(f"about {needed} {what} in four of five runs")
    if not sizes:
        sizes = ["far more oracles"]
    yield f"To settle it: {', '.join(sizes)}; or repeats (--crab-repeat) against the noise, or a wider --crab-margin."
    if comparison.smallest_drop is not None:
        yield f"A comparison like this one shows a drop of {_points(comparison.smallest_drop)} points in four of five."


def _enough(against: Against, comparison: Comparison) -> int | None:
    """How many oracles would pass with this difference, this noise and as much unknown."""
    change = comparison.difference or 0.0
    if against.design is None or 100 * change <= -against.margin:
        return None
    alike = dataclasses.replace(
        against.design,
        noise=max(0.0, (comparison.discordance or 0.0) - abs(change)),
        unknown=max(0.0, comparison.doubtful / comparison.pairs - against.design.unknown_before),
    )
    return oracles_to_pass(alike, against.margin / 100, chance=0.5, shift=change)


def _loads(before: Load, after: Load) -> Iterator[str]:
    parts = []
    if before.comments is not None and after.comments is not None:
        parts.append(f"comments per pull request {before.comments:.1f} before, {after.comments:.1f} now")
    if before.cost_usd is not None and after.cost_usd is not None:
        parts.append(f"{dollars(before.cost_usd, 3)} USD per pull request before, {dollars(after.cost_usd, 3)} now")
    if parts:
        text = "; ".join(parts)
        yield f"{text[:1].upper()}{text[1:]}."


def _oracles(count: int) -> str:
    return counted(count, "oracle")


def _names(names: Sequence[str], shown: int) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f"{len(names)}: {', '.join(names[:shown])}{more}"


def _points(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}"
