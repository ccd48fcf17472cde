"""The numbers of a run: rates, bounds, counts and costs per reviewer (arXiv 2603.23448, section 5)."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from pytest_crab.campaign.giving_up import without_own
from pytest_crab.formats import format_count
from pytest_crab.lazy import lazy
from pytest_crab.results.comparisons import MAJORITY, Entrant, Lift, Together, lifts, together
from pytest_crab.results.explained import LookFirst, explained_rates, look_first
from pytest_crab.results.gate_record import Gate
from pytest_crab.results.labelled_findings import findings_by_label
from pytest_crab.results.look_first import Looks, find_looks
from pytest_crab.results.mediators import Mediators, mediators
from pytest_crab.results.model_usage import sum_usages
from pytest_crab.results.oracle_errors import MeasuredErrors, measured_errors
from pytest_crab.results.outcomes import OracleRecord, outcomes_of
from pytest_crab.results.provenance import INJECTED_NOTE, require_one_kind
from pytest_crab.results.rates import rate_of, rates_by_label
from pytest_crab.results.recorded_rulers import RecordedRuler, merge_rulers
from pytest_crab.results.review_cost import burden, clean_reviews
from pytest_crab.results.reviewer_summary import KIND, Regressions, ReviewerSummary
from pytest_crab.results.ruler_means import measured_by
from pytest_crab.results.stability import stability
from pytest_crab.results.trial_rows import TrialRow, comments_of, cost, oracles_of, per_run, review_price, row_of
from pytest_crab.results.unmeasured import reason_of
from pytest_crab.statistics.comparison import Key
from pytest_crab.types import (
    CONTROL,
    FIRST,
    LANGUAGE,
    NO_RUNTIME,
    Explanation,
    Provenance,
    Reason,
    Trial,
    TrialId,
    Verdict,
)
from pytest_crab.types.reviews import SuggestionCounts

#: The version of summary.json.
SUMMARY_SCHEMA = 2

#: The fixed sentence beside every number that an agent without understanding of findings took part in.
SIMULATED = (
    "simulated agent: location overlap only "
    "(it knows the fix of each human comment, and applies it where a finding overlaps the comment's lines)"
)

#: What is said of a reviewer or an agent that works on the public pull request.
LEAKY = "worked on the public pull request and could read its discussion"

#: Why an oracle can be unknown.
CAUSES = tuple(reason.value for reason in Reason if reason.verdict is Verdict.UNKNOWN)

#: Everything that can become of an oracle; the shares of these add up to the oracles.
OUTCOMES = (Verdict.CAUGHT.value, Verdict.MISSED.value, *CAUSES)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A run's reviewers as they come in the first instance."""

    schema: int = SUMMARY_SCHEMA
    errors_as_misses: bool = False
    #: The trials that a later record replaced.
    superseded: int = 0
    reviewers: tuple[ReviewerSummary, ...] = ()
    together: Together = field(default_factory=Together)
    #: The digest of each instance, where that is on record.
    digests: Mapping[str, str] = field(default_factory=dict)
    #: The part of a run that this is, as in 2/4; None: it is a whole.
    shard: str | None = None
    gate: Gate | None = None
    #: The scorers that trials name on record, with their versions.
    rulers: Mapping[str, RecordedRuler] = field(default_factory=dict)
    #: The agents that acted on the same reviews; None: there was one.
    mediators: Mediators | None = None
    #: The measured error rates of the oracles; None where no oracle gave a verdict.
    oracle_errors: MeasuredErrors | None = None
    #: The missed comments near which a finding lies, for a person to look at.
    look_first: tuple[LookFirst, ...] = ()

    @property
    def counted(self) -> str:
        """The word for one of what the rates count: oracle, comment, or both."""
        return " or ".join(dict.fromkeys(own.counted for own in self.reviewers)) or "oracle"

    @property
    def many_counted(self) -> str:
        """The same word for many."""
        return " and ".join(dict.fromkeys(f"{own.counted}s" for own in self.reviewers)) or "oracles"

    @property
    def contestants(self) -> dict[str, ReviewerSummary]:
        """The reviewers that are not controls, by name."""
        return {own.reviewer: own for own in self.reviewers if own.variant is None}

    @lazy
    def looks(self) -> Looks:
        """The comments to read first."""
        compared = self.together.reviewers or self.contestants or [own.reviewer for own in self.reviewers]
        return find_looks(self.reviewers, compared, self.gate, self.look_first, strict=self.errors_as_misses)

    def dimensions(self) -> dict[str, tuple[str, ...]]:
        """The labels of all comments by dimension; ``kind`` is left out, since tables show it as columns."""
        found = union_of_words(reviewer.by_label for reviewer in self.reviewers)
        return {dimension: words for dimension, words in found.items() if dimension != KIND}

    @property
    def is_complete(self) -> bool:
        """True if every trial was run."""
        return not any(own.outcomes.get(Reason.NOT_RUN.value) for own in self.reviewers)

    @property
    def instances(self) -> frozenset[str]:
        """The instances that have oracles, or whose make is on record."""
        return frozenset(self.digests) | {oracle.instance for own in self.reviewers for oracle in own.oracles}

    @property
    def measured(self) -> frozenset[tuple[Key, str | None]]:
        """Every oracle that was measured, with its digest; runs of the same ones can be compared."""
        return frozenset((oracle.key, oracle.digest) for own in self.reviewers for oracle in own.oracles)

    def labelled(self, dimension: str) -> tuple[ReviewerSummary, ...]:
        """The reviewers whose oracles have labels of this dimension."""
        return tuple(reviewer for reviewer in self.reviewers if dimension in reviewer.by_label)

    def finding_dimensions(self) -> dict[str, tuple[str, ...]]:
        """The labels of all findings by dimension."""
        return union_of_words(reviewer.findings_by_label for reviewer in self.reviewers)


def union_of_words(several: Iterable[Mapping[str, Iterable[str]]]) -> dict[str, tuple[str, ...]]:
    """Return the words of all by their dimension or part, these by name."""
    found: dict[str, dict[str, None]] = {}
    for one in several:
        for dimension, words in one.items():
            found.setdefault(dimension, {}).update(dict.fromkeys(words))
    return {dimension: tuple(found[dimension]) for dimension in sorted(found)}


def summarise(trials: Iterable[Trial], *, errors_as_misses: bool = False) -> Summary:
    """Sum up trials, read once and not kept.

    An oracle's value is the mean over its repeats with a known verdict; one without any is unknown, stays out of every
    rate and widens the bounds. ``errors_as_misses`` is the paper's rule: every unknown verdict counts as missed in the
    rates, while outcomes and bounds stay as they are. Of several records of one (instance, reviewer, repeat) the last
    one counts. Instances are taken by id, so that a run and the merged parts of it come to the same; those of one
    instance in the order that they are in. Raises BadInput where some are on injected faults and others are not.
    """
    summing = SummaryBuilder()
    for trial in trials:
        summing.add(trial)
    return summing.summary(errors_as_misses=errors_as_misses)


class SummaryBuilder:
    """A summary in the making, for who reads the trials for something else too; see ``summarise``."""

    def __init__(self) -> None:
        self._rows: dict[TrialId, TrialRow] = {}
        self._superseded = 0

    def add(self, trial: Trial) -> None:
        """Take a trial in; nothing of its texts is kept."""
        self._superseded += trial.id in self._rows
        self._rows[trial.id] = row_of(trial)

    def summary(self, *, errors_as_misses: bool = False, all_pairs: bool = False) -> Summary:
        """The numbers of the trials so far; ``all_pairs`` of reviewers are compared, however many there are.

        Raises BadInput where some are on injected faults and others on comments of people.
        """
        require_one_kind("the run", {row.instance: row.provenance for row in self._rows.values()})
        by_reviewer: dict[str, list[TrialRow]] = {}
        several = len({row.language for row in self._rows.values()} - {""}) > 1
        for trial in sorted(self._rows, key=lambda one: (one.instance, one.repeat)):
            row = self._rows[trial]
            by_reviewer.setdefault(trial.reviewer, []).append(_by_language(row) if several else row)
        unasked = _caught_by_control(by_reviewer.values())
        found = [_reviewer(name, own, unasked, strict=errors_as_misses) for name, own in by_reviewer.items()]
        compared = tuple(_with_comparisons(found))
        honest = [own for own in found if own.variant is None and own.reviewer not in (*own.privileged, *own.leaky)]
        rows = (row for own in by_reviewer.values() for row in own)
        return Summary(
            errors_as_misses=errors_as_misses,
            superseded=self._superseded,
            reviewers=compared,
            mediators=mediators(compared),
            together=together([_entrant(own) for own in honest], all_pairs=all_pairs),
            rulers=merge_rulers(row.rulers for row in self._rows.values()),
            oracle_errors=measured_errors(self._rows.values()),
            look_first=look_first(
                (str(trial), _missed(row))
                for trial, row in sorted(self._rows.items())
                if row.variant is None and trial.reviewer not in (*row.privileged, *row.leaky)
            ),
            digests={row.instance: row.digest for row in rows if row.digest is not None},
        )


def _by_language(row: TrialRow) -> TrialRow:
    """Return a row whose oracles have the language of their instance as one more label."""
    own = {LANGUAGE: row.language} if row.language else {}
    oracles = (dataclasses.replace(one, labels={**own, **one.labels}) for one in row.oracles)
    return row._replace(oracles=tuple(oracles))


def _missed(row: TrialRow) -> Mapping[str, Explanation]:
    """Return the explanations of a trial's missed comments."""
    missed = {oracle.comment for oracle in row.oracles if oracle.value() == 0}
    return {comment: one for comment, one in row.explanations.items() if comment in missed}


def _caught_by_control(reviewers: Iterable[Sequence[TrialRow]]) -> dict[str, AbstractSet[Key]]:
    """Return, by agent, the oracles that it caught without a review in at least half of its known repeats."""
    return {
        rows[0].agent: {oracle.key for oracle in _oracles(rows) if (oracle.value() or 0) >= MAJORITY}
        for rows in reviewers
        if rows[0].variant == CONTROL
    }


def _reviewer(
    name: str, rows: Sequence[TrialRow], unasked: Mapping[str, AbstractSet[Key]], *, strict: bool
) -> ReviewerSummary:
    oracles = _oracles(rows)
    privileged = _distinct(word for row in rows for word in row.privileged)
    leaky = _distinct(word for row in rows for word in row.leaky)
    simulated = any(row.simulated for row in rows)
    resolvable = [oracle for oracle in oracles if oracle.resolvable]
    comments, reviewed = comments_of(rows)
    spared = unasked.get(rows[0].agent, next(iter(unasked.values()), frozenset()))
    return ReviewerSummary(
        reviewer=name,
        agents=tuple(dict.fromkeys(row.agent for row in rows)),
        runtimes=_distinct(row.runtime for row in rows if row.runtime != NO_RUNTIME),
        privileged=privileged,
        leaky=leaky,
        simulated=simulated,
        notes=(
            *([INJECTED_NOTE] if any(row.provenance is Provenance.INJECTED for row in rows) else ()),
            *_notes(name, privileged, leaky, simulated=simulated),
            *_cuts(rows),
        ),
        trials=len(rows),
        repeats=max(Counter(row.instance for row in rows).values()),
        skipped=dict(Counter(row.skipped for row in rows if row.skipped is not None)),
        comments=float(comments) if reviewed else None,
        comments_per_pull_request=float(comments / reviewed) if reviewed else None,
        overall=rate_of(oracles, strict=strict),
        resolvable=rate_of(resolvable, strict=strict) if resolvable else None,
        by_label=rates_by_label(oracles, strict=strict),
        outcomes=outcomes_of(oracles),
        regressions=_regressions(rows),
        suggestions=_suggestions(rows),
        variant=rows[0].variant,
        unmeasured=None if privileged else reason_of(rows),
        versions=_versions(rows),
        burden=burden((row.load for row in rows), spared),
        clean=clean_reviews(row.load for row in rows if row.clean),
        stability=stability(oracles, review_price=review_price(rows)),
        findings_by_label=findings_by_label(
            ((row.load, sum(one.value() is not None for one in row.oracles), row.finding_labels) for row in rows),
            spared,
        ),
        seconds_per_review=_mean([row.review_seconds for row in rows if row.review_seconds is not None]),
        usage=sum_usages(usage for row in rows for usage in row.usages),
        unknown_causes=_unknown_causes(rows),
        **_origins(rows),
        **_costs(rows),
        oracles=tuple(oracles),
        explained=explained_rates((row.instance, row.repo, row.explanations) for row in rows),
        review_by=rows[0].review_by,
        **measured_by(rows),
    )


def _oracles(rows: Iterable[TrialRow]) -> list[OracleRecord]:
    return oracles_of((row.repeat, row.oracles) for row in rows)


def _unknown_causes(rows: Iterable[TrialRow]) -> dict[str, int]:
    """Return the number of unknown verdicts by cause; of causes that differ in a trial's own names alone, the first."""
    kinds: dict[str, str] = {}
    shown: dict[str, str] = {}
    counts: Counter[str] = Counter()
    alike: Counter[str] = Counter()
    for row in rows:
        for cause, count in Counter(row.causes).items():
            kind = kinds.setdefault(cause, without_own(cause, row.instance, row.repo))
            counts[kind] += count
            alike[kind] += shown.setdefault(kind, cause) != cause
    more = {kind: f" (and alike in {format_count(count, 'more trial')})" for kind, count in alike.items() if count}
    return {shown[kind] + more.get(kind, ""): count for kind, count in counts.most_common()}


def _regressions(rows: Iterable[TrialRow]) -> Regressions:
    measured = [row.regressions for row in rows if row.regressions is not None]
    return Regressions(broken=sum(measured), measured=len(measured))


def _suggestions(rows: Iterable[TrialRow]) -> SuggestionCounts | None:
    counts = [row.suggestions for row in rows if row.suggestions is not None]
    names = [part.name for part in dataclasses.fields(SuggestionCounts)]
    return SuggestionCounts(**{name: sum(getattr(one, name) for one in counts) for name in names}) if counts else None


def _with_comparisons(found: Sequence[ReviewerSummary]) -> Iterator[ReviewerSummary]:
    """Yield the reviewers with their lift over the control, and with the curve of their first findings."""
    lift: dict[str, Lift] = {}
    controls = [own for own in found if own.variant == CONTROL]
    for control in controls:
        others = [own for own in found if own.variant != CONTROL]
        beside = [own for own in others if len(controls) == 1 or own.agents == control.agents]
        lift |= lifts([_entrant(own) for own in beside], _entrant(control))
    for own in found:
        curve = {
            other.reviewer.rpartition("@")[2]: other.overall.micro
            for other in found
            if other.variant == FIRST and other.reviewer.rpartition("@")[0] == own.reviewer
        }
        points = {**curve, "all": own.overall.micro} if curve else {}
        yield dataclasses.replace(
            own,
            lift=lift.get(own.reviewer),
            curve={name: rate for name, rate in points.items() if rate is not None},
        )


def _entrant(own: ReviewerSummary) -> Entrant:
    return Entrant(
        name=own.reviewer,
        oracles=own.oracles,
        cost_usd=own.cost_per_run,
        seconds=own.seconds_per_run,
        variant=own.variant,
        counted=own.counted,
    )


def _origins(rows: Iterable[TrialRow]) -> dict[str, Any]:
    """Return the fields that count instances, by where their pull requests come from."""
    origins = {row.instance: row.provenance for row in rows}
    counts = Counter(origins.values())
    return {
        "instances": len(origins), "authored": counts[Provenance.AUTHORED], "github": counts[Provenance.GITHUB],
        "injected": counts[Provenance.INJECTED],
    }  # fmt: skip


def _costs(rows: Sequence[TrialRow]) -> dict[str, Any]:
    """Return the fields in dollars and seconds, and how many costs are unknown; a shared review is paid once."""
    costs = [cost for row in rows for cost in row.costs]
    known = [cost for cost in costs if cost is not None]
    failed = [cost for row in rows for cost in row.failed_costs if cost is not None]
    return {
        "cost_usd": sum(known) - sum(row.shared_cost for row in rows) if known else None,
        "failed_usd": sum(failed) if failed else None,
        "unpriced": len(costs) - len(known),
        "cost_per_run": per_run(rows, cost) if known else None,
        "seconds": sum(row.seconds for row in rows),
        "seconds_per_run": per_run(rows, lambda row: row.own_seconds),
    }


def _versions(rows: Sequence[TrialRow]) -> dict[str, tuple[str, ...]]:
    return {
        part: tuple(sorted({version for row in rows for name, version in row.versions if name == part}))
        for part in _distinct(name for row in rows for name, _ in row.versions)
    }


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _cuts(rows: Sequence[TrialRow]) -> Iterator[str]:
    """Yield in how many trials a prompt did not hold all of the pull request."""
    for who, count in Counter(who for row in rows for who in row.cut).items():
        yield f"the {who} was not shown all of the pull request in {count} of {format_count(len(rows), 'trial')}"


def _notes(name: str, privileged: Sequence[str], leaky: Sequence[str], *, simulated: bool) -> Iterator[str]:
    """Yield what changes the meaning of a reviewer's rate: what it is shown or could read, and what its agent is.

    A simulated agent is shown the answer too: SIMULATED says it.
    """
    if name in privileged:
        yield "shown the answer (*), so read the rate as an upper bound"
    if name in leaky:
        yield f"{LEAKY} (~)"
    if simulated:
        yield SIMULATED
    else:
        yield from (f"the agent {agent} is shown the answer" for agent in privileged if agent != name)
    yield from (f"the agent {agent} {LEAKY}" for agent in leaky if agent != name)
