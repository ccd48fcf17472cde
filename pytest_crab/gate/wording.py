"""A comparison with a baseline in words: the verdict, the change, and what would settle what is not told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_crab.formats import (
    format_change_interval,
    format_count,
    format_dollars,
    format_names,
    format_p,
    format_percent,
    format_points,
)
from pytest_crab.gate.baseline import BaselineComparison, BaselineRuling
from pytest_crab.gate.remedies import remedies
from pytest_crab.gate.results import RESULTS, GateResult, Word
from pytest_crab.results.gate_record import GateRuling
from pytest_crab.results.provenance import INJECTED_NOTE
from pytest_crab.results.rates import Rate
from pytest_crab.statistics.comparison import Comparison, Interval
from pytest_crab.statistics.labels import LabelComparison

#: How many oracles are named on each side in the details.
_SHOWN = 50


def baseline_words(one: BaselineComparison, ruling: BaselineRuling) -> GateRuling:
    """Return the ruling on a reviewer beside its baseline in words; without a gate it is that of what is shown."""
    comparison = one.comparison
    if one.problem is not None or comparison is None:
        return GateRuling(reviewer=one.reviewer, ruling=ruling.result.value, lines=(one.problem or "",))
    shown = ruling.word if one.gated else _shown(comparison)
    return GateRuling(
        reviewer=one.reviewer,
        ruling=ruling.result.value if one.gated else "" if shown is None else RESULTS[shown].value,
        word="no change shown" if shown is None else shown.value,
        lines=(_headline(one, comparison, ruling.word), *_lines(one, comparison, ruling)),
        details=tuple(_details(one, comparison, ruling)),
    )


def change_words(comparison: Comparison, counted: str) -> str:
    """Return what was lost and gained, as in ``8 more of 39 oracles caught, none lost``."""
    lost, gained, all_of_them = len(comparison.lost), len(comparison.gained), format_count(comparison.known, counted)
    if not lost and not gained:
        return f"the same verdict on {'the one' if comparison.known == 1 else 'all'} {all_of_them.removeprefix('1 ')}"
    if not lost:
        return f"{gained} more of {all_of_them} caught, none lost"
    return f"{lost} of {all_of_them} lost, {gained or 'none'} gained"


def _headline(one: BaselineComparison, comparison: Comparison, word: Word) -> str:
    interval = comparison.interval
    assert interval is not None
    rates = f"{format_percent(comparison.before)}% to {format_percent(comparison.after)}%"
    change = f"{format_points(comparison.difference)} points ({_interval(comparison, interval)})"
    phrase = _phrase(one, comparison, word)
    return f"{one.reviewer}: {phrase}: {change_words(comparison, one.counted)}; {rates}, {change}"


def _phrase(one: BaselineComparison, comparison: Comparison, word: Word) -> str:
    phrases = {
        Word.WORSE: f"worse than {one.baseline}",
        Word.WITHIN: f"worse, within the margin of {one.margin:g} points, than {one.baseline}",
        Word.NO_WORSE: f"no worse than {one.baseline}",
        Word.BETTER: f"better than {one.baseline}",
        Word.CANNOT_TELL: f"cannot tell whether it is worse than {one.baseline}",
    }
    if one.gated:
        return phrases[word]
    shown = _shown(comparison)
    return f"beside {one.baseline}, no change is shown" if shown is None else phrases[shown]


def _shown(comparison: Comparison) -> Word | None:
    """Return the word for a change that is shown, without a gate."""
    return Word.WORSE if comparison.drop_shown else Word.BETTER if comparison.gain_shown else None


def _interval(comparison: Comparison, interval: Interval) -> str:
    level, p = f"{100 * comparison.level:.4g}%", format_p(comparison.p_clusters)
    chance = p.replace("<", "< ") if p.startswith("<") else f"= {p}"
    return f"{level} {format_change_interval(interval)}, {interval.speaks_for}; p {chance}"


def _lines(one: BaselineComparison, comparison: Comparison, ruling: BaselineRuling) -> Iterator[str]:
    if one.injected:
        yield f"Measured {INJECTED_NOTE}."
    if one.gated:
        yield from _no_word_reasons(one, comparison, ruling.word)
    if one.whole and comparison.only_before:
        missing = format_count(comparison.only_before, one.counted)
        yield f"{missing} of the baseline are missing here and taken as unknown."
    if comparison.doubtful:
        bounds = f"{format_points(comparison.low)} to {format_points(comparison.high)}"
        yield f"Whatever the unknown verdicts of {format_count(comparison.doubtful, one.counted)} are: {bounds} points."
    if one.gated:
        for label, word in ruling.labels:
            if RESULTS[word] is not GateResult.PASSED:
                yield _label_sentence(label, word, ruling.word, one.counted)
        yield from (f"No {one.counted} has the label {label}, so its margin says nothing." for label in one.absent)
        if ruling.word is Word.CANNOT_TELL:
            yield from remedies(one, comparison)


def _no_word_reasons(one: BaselineComparison, comparison: Comparison, word: Word) -> Iterator[str]:
    """Yield why no word was found though the test shows a change."""
    if word is Word.CANNOT_TELL and comparison.drop_shown:
        yield (
            "Alone the drop would be more than chance; of all reviewers and labels that this gate rules on, one falls "
            "so far more easily (Holm)."
        )
    elif word is Word.CANNOT_TELL and comparison.gain_shown:
        ruled_out = f"a drop of more than the margin of {one.margin:g} points is ruled out"
        yield f"It is better, and {ruled_out} only if the unknown verdicts allow it."


def _details(one: BaselineComparison, comparison: Comparison, ruling: BaselineRuling) -> Iterator[str]:
    if one.gated and ruling.word is Word.BETTER:
        yield f"So it is no worse either: a drop of more than the margin of {one.margin:g} points is ruled out."
    if comparison.lost or comparison.gained:
        yield changed_line(comparison, _SHOWN)
    if comparison.elsewhere is not None:
        other = comparison.elsewhere
        yield f"For {other.speaks_for}: {format_change_interval(other)} points over {other.basis}."
    yield f"Each {one.counted} taken alone: p = {comparison.p:.3g} (exact McNemar)."
    for label, word in ruling.labels if one.gated else ():
        if RESULTS[word] is GateResult.PASSED:
            yield _label_sentence(label, word, ruling.word, one.counted)
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


def _label_sentence(label: LabelComparison, word: Word, overall: Word, counted: str) -> str:
    own = label.comparison
    lost, gained = f"{len(own.lost)} lost", f"{len(own.gained)} gained"
    name = f"{label.dimension} {label.label}"
    if label.margin is None:
        so = ", so the gate does not pass" if RESULTS[overall] is GateResult.PASSED else ""
        return (
            f"{name}: {lost} and {gained} of {format_count(own.known, counted)} (exact p = {own.p:.2g}), which taken "
            f"alone is a drop{so}; --crab-margin {label.label}=POINTS says how much it may fall."
        )
    if own.interval is None:
        return f"{name}: no {counted} has a verdict in both runs."
    change = f"{format_points(own.difference)} points ({_interval(own, own.interval)}), margin {label.margin:g}"
    return f"{name}: {word}: {change_words(own, counted)}; {change}."


def _loads(one: BaselineComparison) -> Iterator[str]:
    before, after, parts = one.before, one.after, []
    if before.comments is not None and after.comments is not None:
        parts.append(f"comments per {one.instance} {before.comments:.1f} before, {after.comments:.1f} now")
    if before.cost_usd is not None and after.cost_usd is not None:
        was, now = format_dollars(before.cost_usd, 3), format_dollars(after.cost_usd, 3)
        parts.append(f"{was} USD per {one.instance} before, {now} now")
    if before.explained is not None and after.explained is not None:
        earlier, later = before.explained.rates(), after.explained.rates()
        parts += [f"{name} {_share(rate)} before, {_share(later[name])} now" for name, rate in earlier.items()]
    if parts:
        text = "; ".join(parts)
        yield f"{text[:1].upper()}{text[1:]}."


def _share(rate: Rate) -> str:
    """Return a rate in percent; of one that has bounds alone these."""
    low, high = rate.low or 0.0, rate.high or 0.0
    return f"{format_percent(low)}%" if high - low < 1e-9 else f"{format_percent(low)} to {format_percent(high)}%"


def changed_line(comparison: Comparison, shown: int) -> str:
    """Return what was lost and gained, with the names of at most so many oracles on each side."""
    lost, gained = _names(comparison.lost, shown), _names(comparison.gained, shown)
    return f"Lost {lost}; gained {gained}."


def _names(names: Sequence[str], shown: int) -> str:
    return f"{len(names)}: {format_names(names, shown)}" if names else "none"
