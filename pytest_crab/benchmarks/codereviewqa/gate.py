"""The gate on answerers: a floor or a baseline for their rates of probes, by the rules of reviewers' gates."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crab.benchmarks.codereviewqa.context import NamedAnswerer
from pytest_crab.benchmarks.codereviewqa.summary import SUMMARY, AnswererSummary, ProbeSummary, read_probe_summary
from pytest_crab.errors import BadInput
from pytest_crab.gate.exit import OracleCounts, RunOutcome, decide, refuse
from pytest_crab.gate.pairing import pair
from pytest_crab.gate.references import Reference, load_reference
from pytest_crab.gate.resolved import RATE
from pytest_crab.plugin.foreign_failures import ForeignFailures
from pytest_crab.plugin.kinds import Run
from pytest_crab.results.gate_record import Gate
from pytest_crab.results.loading import report_file
from pytest_crab.results.reviewer_summary import Regressions, ReviewerSummary
from pytest_crab.results.summary import Summary


class ProbeGate(ForeignFailures):
    """Decides the exit status by the answerers of a run; registered on the controller if a gate is asked for."""

    def __init__(self, run: Run, answerers: Mapping[str, NamedAnswerer]) -> None:
        self.decision: Gate | None = None
        self._options = options = run.options
        self._answerers = answerers
        sentence = refuse(
            options.terms,
            agent="",
            baseline=bool(options.baselines),
            sharded=options.shard is not None,
        )
        if sentence:
            raise pytest.UsageError(sentence)
        self._reference = self._load() if options.baselines else None

    def _load(self) -> Reference:
        try:
            return load_reference(self._options.baselines, allowed=self._options.terms.allowed, load=_load_answerers)
        except BadInput as error:
            raise pytest.UsageError(f"--crab-baseline: {error}") from error

    def decide(
        self,
        status: int,
        summary: ProbeSummary,
        planned: Mapping[str, Collection[str]],
        *,
        problems: Collection[str] = (),
    ) -> Gate:
        """Decide. ``status`` is pytest's own, and ``planned`` has the instances that were selected, by answerer.

        ``problems`` are records that could not be written: no gate passes with any.
        """
        terms, now = replace(self._options.terms, on=RATE), as_reviewers(summary)
        reference = self._reference
        against = None
        if reference is not None:
            before = reference.summary.contestants
            against = tuple(
                pair(
                    reference.summary,
                    before.get(name),
                    now,
                    own,
                    name=reference.name,
                    terms=terms,
                    planned=set(planned.get(name, ())),
                    whole=True,
                )
                for name, own in now.contestants.items()
            )
        self.decision = decide(
            RunOutcome(
                terms=terms,
                status=status,
                only_trials_failed=self.foreign_failures == 0 and not problems,
                counts=tuple(map(OracleCounts.of, now.reviewers)),
                baselines=against,
            )
        )
        return self.decision

    def lines(self, width: int) -> list[str]:
        """Return the decision in words."""
        return [] if self.decision is None else textwrap.wrap(self.decision.paragraph, width)


def as_reviewers(summary: ProbeSummary) -> Summary:
    """Return what the gate reads of a summary, as it reads reviewers."""
    return Summary(
        errors_as_misses=summary.errors_as_misses,
        shard=summary.shard,
        digests=summary.digests,
        reviewers=tuple(map(_as_reviewer, summary.answerers)),
    )


def _as_reviewer(own: AnswererSummary) -> ReviewerSummary:
    names = {"answerer-model": "reviewer-model", "pytest_crab": "pytest_crab"}
    return ReviewerSummary(
        reviewer=own.answerer,
        agents=(),
        runtimes=(),
        trials=own.instances * own.repeats,
        instances=own.instances,
        authored=0,
        github=own.instances,
        repeats=own.repeats,
        overall=own.overall,
        by_label=own.by_label,
        outcomes=own.outcomes,
        regressions=Regressions(broken=0, measured=0),
        cost_usd=own.cost_usd,
        unpriced=own.unpriced,
        seconds=own.seconds,
        versions={name: own.versions[part] for part, name in names.items() if part in own.versions},
        oracles=own.results,
        counted="probe",
    )


def _load_answerers(path: Path) -> Summary:
    summary = as_reviewers(read_probe_summary(report_file(path, SUMMARY)))
    if not summary.reviewers:
        raise BadInput(str(path), ["it has no answerer to compare with"])
    return summary
