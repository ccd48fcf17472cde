"""The numbers of a run: rates, bounds, counts and costs per reviewer (arXiv 2603.23448, section 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from fractions import Fraction

from pytest_crab.types import SCHEMA
from pytest_crab.types import Category
from pytest_crab.types import Kind
from pytest_crab.types import Provenance
from pytest_crab.types import Reason
from pytest_crab.types import Trial
from pytest_crab.types import Verdict

#: The fixed sentence beside every number that an agent without understanding of findings took part in.
SIMULATED = "simulated agent: location overlap only"

#: Why an oracle can be unknown.
CAUSES = tuple(reason.value for reason in Reason if reason.verdict is Verdict.UNKNOWN)

#: Everything that can become of an oracle; the shares of these add up to the oracles.
OUTCOMES = (Verdict.CAUGHT.value, Verdict.MISSED.value, *CAUSES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Oracles of one reviewer, of all or of one kind or category.

    ``oracles`` counts all, ``known`` those with a known repeat, ``caught`` adds up the values of the known ones.
    ``micro`` is caught / known, ``macro`` the mean of s_i = caught_i / known_i over the instances where any is known.
    ``low`` and ``high`` are the micro rate over all oracles had everything unknown been missed, or caught. Rates lie
    between 0 and 1; None is "not measured".
    """

    oracles: int
    known: int
    caught: float
    micro: float | None = None
    macro: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Of ``measured`` trials, how many revisions broke a test of pass_to_pass."""

    damaged: int
    measured: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerSummary:
    """What one reviewer came to.

    ``outcomes`` are shares of oracles under every word of OUTCOMES, adding up to ``overall.oracles``: with n repeats,
    one repeat's outcome is 1/n of an oracle. ``comments`` adds up the mean number of findings over instances.
    ``cost_usd`` adds up what is known; ``unpriced`` counts the reviews and revisions whose cost is not.
    """

    reviewer: str
    agents: tuple[str, ...]
    runtimes: tuple[str, ...]
    privileged: tuple[str, ...] = ()
    simulated: bool = False
    notes: tuple[str, ...] = ()
    trials: int
    instances: int
    authored: int
    github: int
    repeats: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    comments: float | None = None
    comments_per_pull_request: float | None = None
    overall: Score
    by_kind: Mapping[str, Score]
    by_category: Mapping[str, Score]
    outcomes: Mapping[str, float]
    damage: Damage
    cost_usd: float | None = None
    unpriced: int
    seconds: float

    @property
    def unknown(self) -> float:
        """The share of oracles that is unknown, whatever the cause."""
        return sum(self.outcomes[cause] for cause in CAUSES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A run's reviewers in order of first appearance; ``superseded`` counts trials that a later record replaced."""

    schema: int = SCHEMA
    errors_as_misses: bool = False
    superseded: int = 0
    reviewers: tuple[ReviewerSummary, ...] = ()


def summarise(trials: Iterable[Trial], *, errors_as_misses: bool = False) -> Summary:
    """Sum up trials, read once and not kept.

    An oracle's value is the mean over its repeats with a known verdict; one without any is unknown, stays out of every
    rate and widens the bounds. ``errors_as_misses`` is the paper's rule: every unknown verdict counts as missed in the
    rates, while outcomes and bounds stay as they are. Of several records of one (instance, reviewer, repeat) the last
    one counts.
    """
    rows: dict[tuple[str, str, int], _Row] = {}
    superseded = 0
    for trial in trials:
        key = (trial.reviewer, trial.instance, trial.repeat)
        superseded += key in rows
        rows[key] = _row(trial)
    by_reviewer: dict[str, list[_Row]] = {}
    for (reviewer, _, _), row in rows.items():
        by_reviewer.setdefault(reviewer, []).append(row)
    return Summary(
        errors_as_misses=errors_as_misses,
        superseded=superseded,
        reviewers=tuple(_reviewer(name, own, strict=errors_as_misses) for name, own in by_reviewer.items()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """What is kept of a trial: no text and no diff."""

    instance: str
    provenance: Provenance
    agent: str
    runtime: str
    privileged: tuple[str, ...]
    simulated: bool
    skipped: str | None
    findings: int | None
    costs: tuple[float | None, ...]
    damage: bool | None
    seconds: float
    results: tuple[tuple[str, Category, Kind, Reason], ...]


def _row(trial: Trial) -> _Row:
    steps = [step for step in (trial.review, trial.revision) if step is not None]
    return _Row(
        instance=trial.instance,
        provenance=trial.provenance,
        agent=trial.agent,
        runtime=trial.runtime,
        privileged=trial.privileged,
        simulated=trial.simulated,
        skipped=trial.skipped,
        findings=None if trial.review is None else trial.review.size,
        costs=tuple(None if step.usage is None else step.usage.cost_usd for step in steps),
        damage=trial.damage,
        seconds=trial.seconds,
        results=tuple((result.comment, result.category, result.kind, result.reason) for result in trial.results),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Oracle:
    """One oracle and how often each outcome came of it."""

    instance: str
    category: Category
    kind: Kind
    runs: Counter[str] = field(default_factory=Counter)

    def share(self, outcome: str) -> Fraction:
        return Fraction(self.runs[outcome], self.runs.total())

    def value(self, *, strict: bool) -> Fraction | None:
        caught = self.runs[Verdict.CAUGHT.value]
        known = self.runs.total() if strict else caught + self.runs[Verdict.MISSED.value]
        return Fraction(caught, known) if known else None


def _reviewer(name: str, rows: Sequence[_Row], *, strict: bool) -> ReviewerSummary:
    oracles = _oracles(rows)
    instances = {row.instance: row.provenance for row in rows}
    per_instance = Counter(row.instance for row in rows)
    privileged = _distinct(word for row in rows for word in row.privileged)
    simulated = any(row.simulated for row in rows)
    comments, reviewed = _comments(rows)
    costs = [cost for row in rows for cost in row.costs]
    known_costs = [cost for cost in costs if cost is not None]
    return ReviewerSummary(
        reviewer=name,
        agents=_distinct(row.agent for row in rows),
        runtimes=_distinct(row.runtime for row in rows),
        privileged=privileged,
        simulated=simulated,
        notes=_notes(privileged, simulated=simulated),
        trials=len(rows),
        instances=len(instances),
        authored=sum(provenance is Provenance.AUTHORED for provenance in instances.values()),
        github=sum(provenance is Provenance.GITHUB for provenance in instances.values()),
        repeats=max(per_instance.values()),
        skipped=dict(Counter(row.skipped for row in rows if row.skipped is not None)),
        comments=float(comments) if reviewed else None,
        comments_per_pull_request=float(comments / reviewed) if reviewed else None,
        overall=_score(oracles, strict=strict),
        by_kind={kind.value: _score(_of(oracles, kind), strict=strict) for kind in Kind if _of(oracles, kind)},
        by_category={word.value: _score(_of(oracles, word), strict=strict) for word in Category if _of(oracles, word)},
        outcomes={outcome: float(sum(oracle.share(outcome) for oracle in oracles)) for outcome in OUTCOMES},
        damage=Damage(
            damaged=sum(row.damage is True for row in rows), measured=sum(row.damage is not None for row in rows)
        ),
        cost_usd=sum(known_costs) if known_costs else None,
        unpriced=len(costs) - len(known_costs),
        seconds=sum(row.seconds for row in rows),
    )


def _oracles(rows: Iterable[_Row]) -> list[_Oracle]:
    """Return the oracles of all rows, each once, with the outcomes of its repeats."""
    oracles: dict[tuple[str, str], _Oracle] = {}
    for row in rows:
        for comment, category, kind, reason in row.results:
            key = (row.instance, comment)
            if key not in oracles:
                oracles[key] = _Oracle(instance=row.instance, category=category, kind=kind)
            known = reason.verdict is not Verdict.UNKNOWN
            oracles[key].runs[reason.verdict.value if known else reason.value] += 1
    return list(oracles.values())


def _of(oracles: Iterable[_Oracle], word: Kind | Category) -> list[_Oracle]:
    return [oracle for oracle in oracles if word in (oracle.kind, oracle.category)]


def _score(oracles: Sequence[_Oracle], *, strict: bool) -> Score:
    values: dict[str, list[Fraction]] = {}
    for oracle in oracles:
        value = oracle.value(strict=strict)
        if value is not None:
            values.setdefault(oracle.instance, []).append(value)
    caught = sum((sum(own, Fraction()) for own in values.values()), Fraction())
    return Score(
        oracles=len(oracles),
        known=sum(map(len, values.values())),
        caught=float(caught),
        micro=_mean([value for own in values.values() for value in own]),
        macro=_mean([sum(own, Fraction()) / len(own) for own in values.values()]),
        low=_mean([oracle.share(Verdict.CAUGHT.value) for oracle in oracles]),
        high=_mean([1 - oracle.share(Verdict.MISSED.value) for oracle in oracles]),
    )


def _mean(values: Sequence[Fraction]) -> float | None:
    """Return the mean, exact until the end, so that 7 of 10 is what a person types as 0.7; None of nothing."""
    return float(sum(values, Fraction()) / len(values)) if values else None


def _comments(rows: Iterable[_Row]) -> tuple[Fraction, int]:
    """Return the findings, averaged over each instance's reviews, and the number of instances that have a review."""
    findings: dict[str, list[int]] = {}
    for row in rows:
        if row.findings is not None:
            findings.setdefault(row.instance, []).append(row.findings)
    means = [Fraction(sum(own), len(own)) for own in findings.values()]
    return sum(means, Fraction()), len(means)


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _notes(privileged: Sequence[str], *, simulated: bool) -> tuple[str, ...]:
    notes = [f"privileged, shown the answer: {', '.join(privileged)}"] if privileged else []
    return (*notes, SIMULATED) if simulated else tuple(notes)
