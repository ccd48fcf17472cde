"""The numbers of the answerers of a run: rates of probes, measures of their answers, costs, and comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_crab.benchmarks.codereviewqa.choice_statistics import ProbeMeasures, probe_measures
from pytest_crab.benchmarks.codereviewqa.choices.questions import DIMENSION
from pytest_crab.benchmarks.codereviewqa.records import SCHEMA, ProbeReason, ProbeRecord
from pytest_crab.campaign.giving_up import without_own
from pytest_crab.formats import format_count
from pytest_crab.results import outcomes
from pytest_crab.results.comparisons import Entrant, Together, together
from pytest_crab.results.files import read_data
from pytest_crab.results.gate_record import Gate
from pytest_crab.results.model_usage import ModelUsage, sum_usages
from pytest_crab.results.outcomes import OracleRecord
from pytest_crab.results.rates import Rate, rate_of, rates_by_label
from pytest_crab.results.trial_rows import oracles_of
from pytest_crab.text import one_line
from pytest_crab.types import Reason, TrialId, Usage, Verdict
from pytest_crab.types.reviews import known_costs

#: The summary's file beside a report.
SUMMARY = "probes.json"

#: The letter of a verdict in the records of repeats.
_LETTERS = {
    Verdict.CAUGHT: outcomes.CAUGHT,
    Verdict.MISSED: outcomes.MISSED,
    Verdict.UNKNOWN: outcomes.CAUSES[Reason.NOT_RUN],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswererSummary:
    """The results of one answerer."""

    answerer: str
    #: The way of answering; None: nothing was asked.
    measure: str | None = None
    #: Whose words they were asked in.
    wording: str | None = None
    instances: int
    repeats: int
    #: How many instances were left out, by the reason.
    skipped: Mapping[str, int] = field(default_factory=dict)
    #: The share of probes that are right in every order: the paper's invariant accuracy.
    overall: Rate
    #: The same by dimension (the probe, and the labels of the comment) and label.
    by_label: Mapping[str, Mapping[str, Rate]] = field(default_factory=dict)
    #: What became of the probes, over all repeats: one repeat's is 1/n of a probe.
    outcomes: Mapping[str, float] = field(default_factory=dict)
    #: The measures of the answers by probe and language, ``all`` for all of them.
    probes: Mapping[str, Mapping[str, ProbeMeasures]] = field(default_factory=dict)
    #: US dollars of all answers, failed attempts included, and of these alone; None: none is known.
    cost_usd: float | None = None
    failed_usd: float | None = None
    #: How many costs are not known.
    unpriced: int = 0
    seconds: float = 0.0
    usage: tuple[ModelUsage, ...] = ()
    #: The number of probes without a verdict by cause, over all repeats.
    unknown_causes: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Every probe with its verdicts.
    results: tuple[OracleRecord, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSummary:
    """The results of the answerers of a run."""

    schema: int = SCHEMA
    errors_as_misses: bool = False
    #: The part of a run that this is, as in 2/4; None: it is a whole.
    shard: str | None = None
    #: What each instance was made of, where that is on record.
    digests: Mapping[str, str] = field(default_factory=dict)
    #: In the order of the run's records.
    answerers: tuple[AnswererSummary, ...] = ()
    #: The decision of the gate on them; None: there was none.
    gate: Gate | None = None
    #: Compares the answerers.
    together: Together = field(default_factory=Together)


def read_probe_summary(path: Path) -> ProbeSummary:
    """Return what a file holds. Raises BadInput."""
    return read_data(path, ProbeSummary)


def summarise_probes(
    records: Iterable[ProbeRecord], *, errors_as_misses: bool = False, shard: str | None = None
) -> ProbeSummary:
    """Sum up records. ``errors_as_misses``: in rates every unknown verdict counts as missed."""
    by_answerer: dict[str, list[ProbeRecord]] = {}
    digests = {}
    for record in {record.id: record for record in records}.values():
        by_answerer.setdefault(record.answerer, []).append(record)
        if "instance" in record.versions:
            digests[record.instance] = str(record.versions["instance"])
    found = tuple(_answerer(name, own, strict=errors_as_misses) for name, own in by_answerer.items())
    rivals = [
        Entrant(name=own.answerer, oracles=own.results, cost_usd=own.cost_usd, seconds=None, counted="probe")
        for own in found
        if own.results
    ]
    return ProbeSummary(
        errors_as_misses=errors_as_misses,
        shard=shard,
        digests=dict(sorted(digests.items())),
        answerers=found,
        together=together(rivals),
    )


def _answerer(name: str, records: Sequence[ProbeRecord], *, strict: bool) -> AnswererSummary:
    results = tuple(oracles_of((record.repeat, _oracles(record)) for record in records))
    repeats = Counter(record.instance for record in records)
    shares: dict[str, float] = dict.fromkeys((str(Verdict.CAUGHT), str(Verdict.MISSED), *_UNKNOWN), 0.0)
    for record in records:
        for result in record.results:
            word = result.reason if result.verdict is Verdict.UNKNOWN else result.verdict
            shares[str(word)] += 1 / repeats[record.instance]
    costs = [record.usage for record in records if record.answers] + [one.failed for one in records if one.failed]
    known_usd, failed = known_costs(costs), known_costs(one.failed for one in records)
    return AnswererSummary(
        answerer=name,
        measure=next((record.measure for record in records if record.measure is not None), None),
        wording=next((record.wording for record in records if record.wording is not None), None),
        instances=len(repeats),
        repeats=max(repeats.values()),
        skipped=dict(Counter(record.skipped for record in records if record.skipped is not None)),
        overall=rate_of(results, strict=strict),
        by_label=rates_by_label(results, strict=strict),
        outcomes={word: round(share, 9) for word, share in shares.items()},
        probes=_measures(records),
        cost_usd=sum(known_usd) if known_usd else None,
        failed_usd=sum(failed) if failed else None,
        unpriced=len(costs) - len(known_usd),
        seconds=sum(record.seconds for record in records),
        usage=sum_usages(_usages(records)),
        unknown_causes=_causes(records),
        versions=_versions(records),
        results=results,
    )


#: The words for what has no verdict.
_UNKNOWN = tuple(str(reason) for reason in ProbeReason if reason.verdict is Verdict.UNKNOWN)


def _oracles(record: ProbeRecord) -> Iterator[OracleRecord]:
    """Yield each probe of a record as the oracle that tables, comparisons and gates read."""
    for result in record.results:
        yield OracleRecord(
            instance=record.instance,
            comment=result.probe,
            repo=record.repo,
            labels={DIMENSION: result.probe, **record.labels},
            verdicts=_LETTERS[result.verdict],
        )


def _measures(records: Iterable[ProbeRecord]) -> dict[str, dict[str, ProbeMeasures]]:
    found: dict[str, dict[str, list[str]]] = {}
    for record in records:
        for result in record.results:
            if result.letters:
                for language in ("all", record.labels.get("language", "")):
                    found.setdefault(result.probe, {}).setdefault(language, []).append(result.letters)
    return {probe: {name: probe_measures(own) for name, own in by.items()} for probe, by in found.items()}


def _usages(records: Iterable[ProbeRecord]) -> Iterator[tuple[str, Usage]]:
    for record in records:
        for part, usage in (("answers", record.usage), ("failed", record.failed)):
            if usage is not None and (usage.models or usage.requests or usage.input_tokens):
                yield part, usage


def _causes(records: Iterable[ProbeRecord]) -> dict[str, int]:
    """Return the number of probes without a verdict by cause; of causes that differ in own names alone, the first."""
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    others: dict[str, set[TrialId]] = {}
    for record in records:
        for result in record.having(Verdict.UNKNOWN):
            cause = f"{result.reason}: {one_line(result.detail or '', 300)}"
            kind = without_own(cause, record.instance, record.repo)
            counts[kind] += 1
            shown.setdefault(kind, cause)
            others.setdefault(kind, set()).add(record.id)
    more = {
        kind: f" (and alike in {format_count(len(own) - 1, 'more item')})"
        for kind, own in others.items()
        if len(own) > 1
    }
    return {shown[kind] + more.get(kind, ""): count for kind, count in counts.most_common()}


def _versions(records: Iterable[ProbeRecord]) -> dict[str, tuple[str, ...]]:
    """Return the versions that were seen of the answerer's settings, its models and this package."""
    found: dict[str, dict[str, None]] = {}
    for record in records:
        for part in ("answerer-identity", "pytest_crab"):
            if part in record.versions:
                found.setdefault(part, {})[str(record.versions[part])] = None
        for model in (record.usage.models or ()) if record.usage else ():
            found.setdefault("answerer-model", {})[model] = None
    return {part: tuple(sorted(own)) for part, own in found.items()}
