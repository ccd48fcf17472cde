"""The exit status of a run: one pure rule on counts, and the gates that are refused before a run starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from pytest_crab.gate.baseline import BaselineComparison, BaselineRuling, rule_on_baselines
from pytest_crab.gate.results import CODES, ORDER, PASSED, GateResult
from pytest_crab.gate.terms import WORSE, GateTerms
from pytest_crab.gate.wording import baseline_words
from pytest_crab.results.gate_record import Gate, GateRuling
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.types import Reason, Verdict

#: The statuses of pytest that a gate may replace; interrupted, internal error, usage error and the rest stay.
_REPLACEABLE = (0, 1)


#: What a floor is, said wherever one decides.
NO_TEST = "A floor is no test: it allows nothing for chance, which moves each rate."


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleCounts:
    """One reviewer's oracles: whole numbers, or multiples of 1/n with n repeats."""

    reviewer: str
    caught: float
    missed: float
    broken: float = 0
    #: Those without a verdict for another reason than that they are broken.
    unknown: float = 0
    is_control: bool = False
    #: The word for one of them.
    counted: str = "oracle"
    #: The reason why they measured nothing; None: they did.
    unmeasured: str | None = None

    def __post_init__(self) -> None:
        if min(self.caught, self.missed, self.broken, self.unknown) < 0:
            raise ValueError("a count of oracles should not be below 0")

    @classmethod
    def of(cls, own: ReviewerSummary, *, absent: int = 0, is_control: bool = False) -> OracleCounts:
        """Return the counts of a reviewer's summary; ``absent`` oracles were planned and have no record."""
        known = {Verdict.CAUGHT.value, Verdict.MISSED.value, Reason.BROKEN.value}
        return cls(
            reviewer=own.reviewer,
            caught=own.outcomes.get(Verdict.CAUGHT.value, 0),
            missed=own.outcomes.get(Verdict.MISSED.value, 0),
            broken=own.outcomes.get(Reason.BROKEN.value, 0),
            unknown=absent + sum(share for outcome, share in own.outcomes.items() if outcome not in known),
            is_control=is_control,
            counted=own.counted,
            unmeasured=own.unmeasured,
        )

    @property
    def total(self) -> Fraction:
        """All of the reviewer's oracles."""
        return sum((_exact(count) for count in (self.caught, self.missed, self.broken, self.unknown)), Fraction())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The facts of a run that the gate decides on, and its terms. With neither floor nor baseline there is no gate."""

    terms: GateTerms = field(default_factory=GateTerms)
    #: The status of pytest itself.
    status: int
    #: True if every failed or errored report is a trial's.
    only_trials_failed: bool
    counts: tuple[OracleCounts, ...] = ()
    #: The comparisons; None: there is no baseline.
    baselines: tuple[BaselineComparison, ...] | None = None
    #: The sentences of hooks, each of which fails the gate.
    objections: tuple[str, ...] = ()
    #: Sentences on reviewers whose trials were not all run, so that no gate passes.
    given_up: tuple[str, ...] = ()
    #: The name under which the caller could choose ``max_unknown``.
    max_unknown_option: str = "--crab-max-unknown"


def decide(outcome: RunOutcome) -> Gate:
    """Return the decision on a run, with its exit status.

    Without a gate pytest's status stays. A gate may replace 0 and 1 only, and 1 only if nothing but trials failed. Each
    reviewer that is no control is ruled on, and the worst ruling decides: broken (9), failed (1), inconclusive (8),
    passed (0). Where nothing was measured the gate is inconclusive, never passed. ``errors_as_misses`` lowers the upper
    bound to the lower one; what is broken is still broken. More than ``max_unknown`` unknown for another reason is
    inconclusive at best. With a baseline see rule_on_baselines; a floor and a baseline must both hold. Under
    ``fail_on`` worse inconclusive is 0, unless a reviewer was given up, too much is unknown, or nothing was measured
    or compared.
    """
    if outcome.terms.fail_under is None and outcome.baselines is None:
        return Gate(exit_code=outcome.status, ruling=GateResult.NO_GATE.value, sentence="")
    gated = [own for own in outcome.counts if not own.is_control]
    against = list(zip(outcome.baselines or (), rule_on_baselines(outcome.baselines or ()), strict=True))
    rulings = [_worst(own.reviewer, list(_rulings(own, outcome, against))) for own in gated]
    on_run = [_ruled(GateResult.FAILED, f"A hook objects: {text}") for text in outcome.objections]
    on_run += [_ruled(GateResult.INCONCLUSIVE, f"The run has {text}.") for text in outcome.given_up]
    if on_run or not rulings:
        rulings.append(_worst(None, on_run or [_ruled(GateResult.INCONCLUSIVE, "No reviewer was measured.")]))
    worst = min((GateResult(ruling.ruling) for ruling in rulings), key=ORDER.index)
    code, result, sentence = CODES[worst], worst, f"Gate {worst}, exit status {CODES[worst]}."
    forgiving = outcome.terms.fail_on == WORSE and not on_run and _measured_enough(gated, outcome)
    if worst is GateResult.INCONCLUSIVE and forgiving:
        code, sentence = PASSED, f"Gate {worst}, exit status {PASSED}, as it fails on worse alone."
    stands = _why_status_stands(outcome)
    if stands is not None:
        code, result = outcome.status, GateResult.NOT_APPLIED
        sentence = f"Gate not applied, exit status {code}: {stands}."
    comparable = [one for one in outcome.baselines or () if one.problem is None]
    return Gate(
        exit_code=code,
        ruling=result.value,
        sentence=sentence,
        fail_under=outcome.terms.fail_under,
        comparisons={one.name: one.comparison for one in comparable if one.comparison is not None},
        labels={one.name: one.labels for one in comparable if one.labels},
        rulings=tuple(rulings),
        account=outcome.terms.account,
        warnings=tuple(f"{one.reviewer}: {remark}" for one in outcome.baselines or () for remark in one.remarks),
    )


def _why_status_stands(outcome: RunOutcome) -> str | None:
    """Return why no gate may replace pytest's own status, or None."""
    if outcome.status not in _REPLACEABLE:
        return f"pytest itself ended with {outcome.status}"
    if outcome.status != 0 and not outcome.only_trials_failed:
        return "something besides the trials failed"
    return None


def _measured_enough(gated: Sequence[OracleCounts], outcome: RunOutcome) -> bool:
    """Return whether each reviewer has oracles, no more unknown ones than may be, and a baseline to compare with."""
    most = _exact(outcome.terms.max_unknown)
    measured = all(own.total and own.unmeasured is None and _exact(own.unknown) / own.total <= most for own in gated)
    return bool(gated) and measured and all(one.problem is None for one in outcome.baselines or ())


def refuse(
    terms: GateTerms,
    *,
    agent: str,
    privileged: bool = False,
    simulated: bool = False,
    defaulted: bool = False,
    runtime_named: bool = True,
    contested: bool = True,
    baseline: bool = False,
    sharded: bool = False,
    explained: bool = True,
) -> str | None:
    """Return the sentence of a usage error if this gate cannot be trusted, else None; ask before anything runs.

    The flags say of the agent that it is shown the answer, understands no finding, or was not chosen by the caller;
    ``runtime_named`` is whether the caller chose the runtime, ``contested`` whether any reviewer is a contestant, and
    ``explained`` whether what the gate decides on will be on record.
    """
    for name, share in (("broken", terms.max_broken), ("unknown", terms.max_unknown)):
        if not 0 <= share <= 1:
            return f"--crab-max-{name} is {share:g}; it should be a share between 0 and 1"
    if terms.fail_under is None and not baseline:
        return None
    if terms.fail_under is not None and not 0 <= terms.fail_under <= 1:
        return f"--crab-fail-under is {terms.fail_under:g}; it should be a rate between 0 and 1, such as 0.3"
    which = f"the agent {agent}, which is only the default," if defaulted else f"the agent {agent}"
    faults = {
        f"{which} only compares locations and understands nothing; name a real one with --agent": simulated,
        f"the agent {agent} was only the default; name one with --agent": defaulted,
        f"the agent {agent} is shown the answer; name another with --agent": privileged,
        "the runtime is not named, so it may differ between runs; add --crab-runtime": not runtime_named,
        "no reviewer but the control is named; add --reviewer": not contested,
        "--crab-gate-on=resolved needs every verdict explained; leave out --crab-explain": not explained,
        "a shard is only a part; merge all of them and use pytest-crab compare --margin": sharded,
    }
    option = "--crab-baseline" if terms.fail_under is None else "--crab-fail-under"
    return next((f"{option} cannot gate this run: {fault}" for fault, is_so in faults.items() if is_so), None)


def _exact(value: float) -> Fraction:
    """Return the small fraction that a float stands for, so that 3 of 10 is 0.3 and three thirds are one."""
    return Fraction(value).limit_denominator(100_000)


def _ruled(result: GateResult, line: str, *details: str) -> GateRuling:
    return GateRuling(ruling=result.value, lines=(line,), details=details)


def _worst(reviewer: str | None, several: Sequence[GateRuling]) -> GateRuling:
    """Return all rulings on a reviewer, or on the run, as one."""
    worst = min(several, key=lambda one: ORDER.index(GateResult(one.ruling)))
    return GateRuling(
        reviewer=reviewer,
        ruling=worst.ruling,
        word=next((one.word for one in (worst, *several) if one.word), ""),
        lines=tuple(line for one in several for line in one.lines),
        details=tuple(line for one in several for line in one.details),
    )


def _rulings(
    own: OracleCounts, outcome: RunOutcome, against: Sequence[tuple[BaselineComparison, BaselineRuling]]
) -> Iterator[GateRuling]:
    """Yield the rulings on one reviewer, each with the sentences that say why."""
    total, broken = own.total, _exact(own.broken)
    if not total:
        yield _ruled(GateResult.INCONCLUSIVE, f"{own.reviewer}: no {own.counted} was selected, so there is no rate.")
        return
    if broken / total > _exact(outcome.terms.max_broken):
        share = f"{_count(broken)} of {_count(total)} {own.counted}s are broken ({_percent(broken / total)})"
        most = f"at most {_percent(_exact(outcome.terms.max_broken))} may be"
        yield _ruled(GateResult.BROKEN, f"{own.reviewer}: {share}, and {most}.")
        return
    yield from (baseline_words(one, ruling) for one, ruling in against if one.reviewer == own.reviewer)
    if own.unmeasured is not None:
        yield _ruled(GateResult.INCONCLUSIVE, f"{own.reviewer}: {own.unmeasured}.")
    if outcome.terms.fail_under is not None:
        yield _rule(own, outcome, _exact(outcome.terms.fail_under))
    unknown = _exact(own.unknown)
    if unknown / total > _exact(outcome.terms.max_unknown) and not outcome.terms.errors_as_misses:
        share = f"{_count(unknown)} of {_count(total)} {own.counted}s are unknown ({_percent(unknown / total)})"
        most = f"at most {_percent(_exact(outcome.terms.max_unknown))} may be ({outcome.max_unknown_option})"
        yield _ruled(GateResult.INCONCLUSIVE, f"{own.reviewer}: {share}, and {most}.")


def _rule(own: OracleCounts, outcome: RunOutcome, floor: Fraction) -> GateRuling:
    """Return the ruling on one reviewer's rate with the sentence that says why."""
    total, caught = own.total, _exact(own.caught)
    low = caught / total
    high = low if outcome.terms.errors_as_misses else 1 - _exact(own.missed) / total
    ruling = GateResult.PASSED if low >= floor else GateResult.FAILED if high < floor else GateResult.INCONCLUSIVE
    return _ruled(ruling, f"{own.reviewer}: {_account(own, outcome, low, high)}; {_against(floor, ruling)}.", NO_TEST)


def _account(own: OracleCounts, outcome: RunOutcome, low: Fraction, high: Fraction) -> str:
    total, caught = own.total, _exact(own.caught)
    unknown = total - caught - _exact(own.missed)
    said = f"{_count(caught)} of {_count(total)} {own.counted}s caught"
    if not unknown:
        return f"{said}, a rate of {_percent(low)}"
    if outcome.terms.errors_as_misses:
        return f"{said}, a rate of {_percent(low)} with {_count(unknown)} unknown counted as missed"
    return f"{said} and {_count(unknown)} unknown, a rate from {_percent(low)} to {_percent(high)}"


def _against(floor: Fraction, ruling: GateResult) -> str:
    words = {
        GateResult.PASSED: "not below the floor of",
        GateResult.FAILED: "below the floor of",
        GateResult.INCONCLUSIVE: "on both sides of the floor of",
    }
    return f"{words[ruling]} {_percent(floor)}"


def _count(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.1f}"


def _percent(value: Fraction) -> str:
    """Write in percent, with as many digits as keep a rate apart from a floor that it just misses."""
    return f"{float(100 * value):.4g}%"
