"""The exit status of a run: one pure rule on counts, and the gates that are refused before a run starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_crab.gate.baseline import BaselineComparison, BaselineRuling, rule_on_baselines
from pytest_crab.gate.results import CODES, ORDER, PASSED, GateResult
from pytest_crab.gate.wording import explain_baseline
from pytest_crab.types import Reason, Verdict

#: The share of a reviewer's oracles that may be broken before its numbers stand for nothing.
MAX_BROKEN = 0.05

#: The share of a reviewer's oracles that may be unknown for another reason before no gate passes.
MAX_UNKNOWN = 0.05

#: The statuses of pytest that a gate may replace; interrupted, internal error, usage error and the rest stay.
_REPLACEABLE = (0, 1)


#: What a floor is, said wherever one decides.
NO_TEST = "A floor is no test: it allows nothing for chance, which moves each rate."


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleCounts:
    """One reviewer's oracles: whole numbers, or multiples of 1/n with n repeats; ``unknown`` leaves out the broken.

    ``counted`` is the word for one of them. ``unmeasured`` says why they measured nothing; None: they did.
    """

    reviewer: str
    caught: float
    missed: float
    broken: float = 0
    unknown: float = 0
    is_control: bool = False
    counted: str = "oracle"
    unmeasured: str | None = None

    def __post_init__(self) -> None:
        if min(self.caught, self.missed, self.broken, self.unknown) < 0:
            raise ValueError("a count of oracles should not be below 0")

    @classmethod
    def of(
        cls,
        reviewer: str,
        outcomes: Mapping[str, float],
        *,
        absent: int = 0,
        is_control: bool = False,
        counted: str = "oracle",
        unmeasured: str | None = None,
    ) -> OracleCounts:
        """Return the counts of a summary's ``outcomes``; ``absent`` oracles were planned and have no record."""
        broken = outcomes.get(Reason.BROKEN.value, 0)
        known = {Verdict.CAUGHT.value, Verdict.MISSED.value, Reason.BROKEN.value}
        return cls(
            reviewer=reviewer,
            caught=outcomes.get(Verdict.CAUGHT.value, 0),
            missed=outcomes.get(Verdict.MISSED.value, 0),
            broken=broken,
            unknown=absent + sum(share for outcome, share in outcomes.items() if outcome not in known),
            is_control=is_control,
            counted=counted,
            unmeasured=unmeasured,
        )

    @property
    def total(self) -> Fraction:
        """All of the reviewer's oracles."""
        return sum((_exact(count) for count in (self.caught, self.missed, self.broken, self.unknown)), Fraction())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The facts of a run that the gate decides on; rates and shares lie between 0 and 1.

    ``status`` is pytest's own; ``only_trials_failed`` is whether every failed or errored report is a trial's.
    ``fail_under`` None means that there is no floor, ``baselines`` None that there is no baseline; with neither there
    is no gate. ``objections`` are sentences of hooks, each of which fails the gate; ``given_up``
    are those on reviewers whose trials were not all run, so that no gate passes. ``account`` is said of the whole.
    ``shown_drop_only``: a gate that measured enough and is inconclusive ends with 0. ``max_unknown_option`` is the
    name under which the caller could choose ``max_unknown``.
    """

    status: int
    only_trials_failed: bool
    fail_under: float | None = None
    max_broken: float = MAX_BROKEN
    max_unknown: float = MAX_UNKNOWN
    errors_as_misses: bool = False
    counts: tuple[OracleCounts, ...] = ()
    baselines: tuple[BaselineComparison, ...] | None = None
    objections: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()
    account: str = ""
    shown_drop_only: bool = False
    max_unknown_option: str = "--crab-max-unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The ruling on one reviewer, or on the run (``reviewer`` None), with the sentences that say why."""

    reviewer: str | None
    result: GateResult
    paragraph: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The exit status, the ruling behind it, and the account in plain words (empty without a gate)."""

    exit_code: int
    verdict: GateResult
    paragraph: str
    rulings: tuple[Ruling, ...] = ()


def decide(outcome: RunOutcome) -> Decision:
    """Return the exit status of a run.

    Without a gate pytest's status stays. A gate may replace 0 and 1 only, and 1 only if nothing but trials failed. Each
    reviewer that is no control is ruled on, and the worst ruling decides: broken (9), failed (1), inconclusive (8),
    passed (0). Where nothing was measured the gate is inconclusive, never passed. ``errors_as_misses`` lowers the upper
    bound to the lower one; what is broken is still broken. More than ``max_unknown`` unknown for another reason is
    inconclusive at best. With a baseline see rule_on_baselines; a floor and a baseline must both hold. Under
    ``shown_drop_only`` inconclusive is 0, unless a reviewer was given up, too much is unknown, or nothing was measured
    or compared.
    """
    if outcome.fail_under is None and outcome.baselines is None:
        return Decision(exit_code=outcome.status, verdict=GateResult.NO_GATE, paragraph="")
    gated = [own for own in outcome.counts if not own.is_control]
    against = list(zip(outcome.baselines or (), rule_on_baselines(outcome.baselines or ()), strict=True))
    rulings = [_worst(own.reviewer, list(_rulings(own, outcome, against))) for own in gated]
    on_run = [(GateResult.FAILED, f"A hook objects: {text}") for text in outcome.objections]
    on_run += [(GateResult.INCONCLUSIVE, f"The run has {text}.") for text in outcome.given_up]
    if on_run or not rulings:
        rulings.append(_worst(None, on_run or [(GateResult.INCONCLUSIVE, "No reviewer was measured.")]))
    worst = min((ruling.result for ruling in rulings), key=ORDER.index)
    no_test = "" if outcome.fail_under is None else NO_TEST
    account = " ".join(filter(None, (outcome.account, *(ruling.paragraph for ruling in rulings), no_test)))
    if outcome.status not in _REPLACEABLE:
        return _stands(outcome, f"pytest itself ended with {outcome.status}", account, rulings)
    if outcome.status != 0 and not outcome.only_trials_failed:
        return _stands(outcome, "something besides the trials failed", account, rulings)
    code, why = CODES[worst], ""
    if worst is GateResult.INCONCLUSIVE and outcome.shown_drop_only and not on_run and _measured_enough(gated, outcome):
        code, why = PASSED, " as only a shown drop fails it"
    paragraph = f"Gate {worst}, exit status {code}{why}. {account}"
    return Decision(exit_code=code, verdict=worst, paragraph=paragraph, rulings=tuple(rulings))


def _measured_enough(gated: Sequence[OracleCounts], outcome: RunOutcome) -> bool:
    """Return whether each reviewer has oracles, no more unknown ones than may be, and a baseline to compare with."""
    most = _exact(outcome.max_unknown)
    measured = all(own.total and own.unmeasured is None and _exact(own.unknown) / own.total <= most for own in gated)
    return bool(gated) and measured and all(one.problem is None for one in outcome.baselines or ())


def refuse(
    *,
    fail_under: float | None,
    max_broken: float = MAX_BROKEN,
    max_unknown: float = MAX_UNKNOWN,
    agent: str,
    privileged: bool = False,
    simulated: bool = False,
    defaulted: bool = False,
    runtime_named: bool = True,
    gated: bool = True,
    baseline: bool = False,
    sharded: bool = False,
    explained: bool = True,
) -> str | None:
    """Return the sentence of a usage error if this gate cannot be trusted, else None; ask before anything runs.

    The flags say of the agent that it is shown the answer, understands no finding, or was not chosen by the caller;
    ``runtime_named`` is whether the caller chose the runtime, ``gated`` whether any reviewer is no control, and
    ``explained`` whether what the gate decides on will be on record.
    """
    for name, share in (("broken", max_broken), ("unknown", max_unknown)):
        if not 0 <= share <= 1:
            return f"--crab-max-{name} is {share:g}; it should be a share between 0 and 1"
    if fail_under is None and not baseline:
        return None
    if fail_under is not None and not 0 <= fail_under <= 1:
        return f"--crab-fail-under is {fail_under:g}; it should be a rate between 0 and 1, such as 0.3"
    which = f"the agent {agent}, which is only the default," if defaulted else f"the agent {agent}"
    faults = {
        f"{which} only compares locations and understands nothing; name a real one with --agent": simulated,
        f"the agent {agent} was only the default; name one with --agent": defaulted,
        f"the agent {agent} is shown the answer; name another with --agent": privileged,
        "the runtime is not named, so it may differ between runs; add --crab-runtime": not runtime_named,
        "no reviewer but the control is named; add --reviewer": not gated,
        "--crab-gate-on=resolved needs every verdict explained; leave out --crab-explain": not explained,
        "a shard is only a part; merge all of them and use pytest-crab compare --margin": sharded,
    }
    option = "--crab-baseline" if fail_under is None else "--crab-fail-under"
    return next((f"{option} cannot gate this run: {fault}" for fault, is_so in faults.items() if is_so), None)


def _exact(value: float) -> Fraction:
    """Return the small fraction that a float stands for, so that 3 of 10 is 0.3 and three thirds are one."""
    return Fraction(value).limit_denominator(100_000)


def _worst(reviewer: str | None, several: Sequence[tuple[GateResult, str]]) -> Ruling:
    result = min((ruling for ruling, _ in several), key=ORDER.index)
    return Ruling(reviewer=reviewer, result=result, paragraph=" ".join(sentence for _, sentence in several))


def _stands(outcome: RunOutcome, reason: str, account: str, rulings: Sequence[Ruling]) -> Decision:
    paragraph = f"Gate not applied, exit status {outcome.status}: {reason}. {account}"
    return Decision(
        exit_code=outcome.status, verdict=GateResult.NOT_APPLIED, paragraph=paragraph, rulings=tuple(rulings)
    )


def _rulings(
    own: OracleCounts, outcome: RunOutcome, against: Sequence[tuple[BaselineComparison, BaselineRuling]]
) -> Iterator[tuple[GateResult, str]]:
    """Yield the rulings on one reviewer, each with the sentences that say why."""
    total, broken = own.total, _exact(own.broken)
    if not total:
        yield GateResult.INCONCLUSIVE, f"{own.reviewer}: no {own.counted} was selected, so there is no rate."
        return
    if broken / total > _exact(outcome.max_broken):
        share = f"{_count(broken)} of {_count(total)} {own.counted}s are broken ({_percent(broken / total)})"
        yield GateResult.BROKEN, f"{own.reviewer}: {share}, and at most {_percent(_exact(outcome.max_broken))} may be."
        return
    if own.unmeasured is not None:
        yield GateResult.INCONCLUSIVE, f"{own.reviewer}: {own.unmeasured}."
    if outcome.fail_under is not None:
        yield _rule(own, outcome, _exact(outcome.fail_under))
    unknown = _exact(own.unknown)
    if unknown / total > _exact(outcome.max_unknown) and not outcome.errors_as_misses:
        share = f"{_count(unknown)} of {_count(total)} {own.counted}s are unknown ({_percent(unknown / total)})"
        most = f"at most {_percent(_exact(outcome.max_unknown))} may be ({outcome.max_unknown_option})"
        yield GateResult.INCONCLUSIVE, f"{own.reviewer}: {share}, and {most}."
    yield from (
        (ruling.result, explain_baseline(one, ruling)) for one, ruling in against if one.reviewer == own.reviewer
    )


def _rule(own: OracleCounts, outcome: RunOutcome, floor: Fraction) -> tuple[GateResult, str]:
    """Return the ruling on one reviewer's rate and the sentence that says why."""
    total, caught = own.total, _exact(own.caught)
    low = caught / total
    high = low if outcome.errors_as_misses else 1 - _exact(own.missed) / total
    ruling = GateResult.PASSED if low >= floor else GateResult.FAILED if high < floor else GateResult.INCONCLUSIVE
    return ruling, f"{own.reviewer}: {_account(own, outcome, low, high)}; {_against(floor, ruling)}."


def _account(own: OracleCounts, outcome: RunOutcome, low: Fraction, high: Fraction) -> str:
    total, caught = own.total, _exact(own.caught)
    unknown = total - caught - _exact(own.missed)
    said = f"{_count(caught)} of {_count(total)} {own.counted}s caught"
    if not unknown:
        return f"{said}, a rate of {_percent(low)}"
    if outcome.errors_as_misses:
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
