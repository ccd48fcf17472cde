"""A run's baseline: read before anything is written, checked before anything runs, ruled on at the end."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_crab.adapters import AdapterSpec
from pytest_crab.errors import BadInput
from pytest_crab.errors import CrabError
from pytest_crab.gate.baseline import BaselineComparison
from pytest_crab.gate.comparable import Conditions
from pytest_crab.gate.comparable import differences
from pytest_crab.gate.comparable import refusal
from pytest_crab.gate.comparable import untrusted
from pytest_crab.gate.exit import Decision
from pytest_crab.gate.pairing import conditions
from pytest_crab.gate.pairing import contestants
from pytest_crab.gate.pairing import counterpart
from pytest_crab.gate.pairing import design
from pytest_crab.gate.pairing import flips
from pytest_crab.gate.pairing import pair
from pytest_crab.gate.power_statement import power_statement
from pytest_crab.gate.results import GateResult
from pytest_crab.instances import lock
from pytest_crab.instances.resolved import settings_digest
from pytest_crab.plugin.crew import Crews
from pytest_crab.plugin.options import Options
from pytest_crab.report.loading import load_summary
from pytest_crab.report.summary import Gate
from pytest_crab.report.summary import ReviewerSummary
from pytest_crab.report.summary import Summary
from pytest_crab.types import Instance


@dataclass(frozen=True)
class BaselineGate:
    """The earlier run that this one is compared with."""

    options: Options
    crews: Crews
    path: Path
    before: Summary

    @classmethod
    def of(cls, options: Options, crews: Crews) -> BaselineGate | None:
        """Read the baseline that was named, if one was. Raises pytest.UsageError if it is none."""
        if options.baseline is None:
            return None
        try:
            before = load_summary(options.baseline)
        except BadInput as error:
            raise pytest.UsageError(f"--crab-baseline: {error}") from error
        if not contestants(before):
            raise pytest.UsageError(f"--crab-baseline: {options.baseline} has no reviewer to compare with")
        return cls(options, crews, options.baseline, before)

    def check(self, instances: Iterable[Instance]) -> None:
        """Refuse before anything runs what can be told then: other instances, agent or runtime.

        Raises pytest.UsageError.
        """
        digests = {one.id: lock.digest(one)[:16] for one in instances}
        runtimes = () if self.options.runtime == "auto" else (self.options.runtime,)
        after = Conditions(agents=(self.crews.agent,), runtimes=runtimes, digests=digests)
        for own in self._opponents().values():
            before = conditions(self.before, own)
            sentence = untrusted(before) or refusal(differences(before, after), self.options.terms.allowed)
            if sentence is not None:
                raise pytest.UsageError(f"--crab-baseline: not comparable with {self.path}: {sentence}")

    def foresight(self, items: Sequence[tuple[str, Instance]]) -> list[str]:
        """What each reviewer's gate will be able to see, a line each."""
        lines = []
        for name, own in self._opponents().items():
            chosen = (instance.id for reviewer, instance in items if reviewer == name)
            ahead = design(own, chosen, repeats=self.options.repeat, terms=self.options.terms)
            if ahead is None:
                lines.append(f"crab: gate: {name}: the baseline knows nothing of what was selected")
                continue
            sentence = power_statement(
                ahead, margin=self.options.terms.margin, assumed=own.stability is None, flips=flips(own)
            )
            lines.append(f"crab: gate: {name}: {sentence}")
        return lines

    def header(self) -> list[str]:
        """The header's lines: what is compared with, and who is no longer what it was there."""
        allowed = self.options.terms.allowed
        rest = f"; the {allowed} may differ" if allowed else ""
        terms = self.options.terms
        margins = "".join(f", {name} {points:g} points" for name, points in terms.margins.items())
        looks = f"; one of at most {terms.looks} looks" if terms.looks > 1 else ""
        line = f"crab: baseline {self.path}; margin {terms.margin:g} points{margins}{looks}{rest}"
        return [line, *dict.fromkeys(f"crab: warning: not as in the baseline: {told}" for told in self._changes())]

    def _changes(self) -> Iterator[str]:
        """A sentence for each reviewer or agent whose client, model, prompt or settings are others by now."""
        for name, own in self._opponents().items():
            spec, crew = self.crews.by_reviewer[name].spec, self.crews.by_reviewer[name]
            if own.reviewer == name:
                yield from _changed(f"reviewer {name}", "reviewer", spec.reviewer_spec, crew.reviewer, own)
            if spec.agent in own.agents:
                yield from _changed(f"agent {spec.agent}", "agent", spec.agent_spec, crew.agent, own)

    def against(self, summary: Summary, planned: Mapping[str, Collection[str]]) -> tuple[BaselineComparison, ...]:
        """Compare every contestant with its baseline; ``planned`` are the instances that each was to be run on."""
        opponents = self._opponents()
        return tuple(
            pair(
                self.before,
                opponents.get(name),
                summary,
                own,
                path=self.path,
                terms=self.options.terms,
                planned=planned.get(name, ()),
                whole=True,
            )
            for name, own in contestants(summary).items()
        )

    def _opponents(self) -> dict[str, ReviewerSummary]:
        """The baseline's reviewer for each contestant of this run that has one."""
        before = contestants(self.before)
        names = [name for name, crew in self.crews.by_reviewer.items() if crew.spec.arm is None]
        pairs = {name: counterpart(name, list(before), names) for name in names}
        return {name: before[other] for name, other in pairs.items() if other is not None}


def _changed(who: str, part: str, spec: AdapterSpec, adapter: object, before: ReviewerSummary) -> Iterator[str]:
    """What of an adapter is not what the baseline has on record, as far as it can be told before it is asked."""
    identity = getattr(adapter, "identity", None)  # one that is bound to instances has none yet
    try:
        known = identity() if identity is not None else None
    except CrabError:  # it is said where it is asked
        return
    if known is None:
        return
    was = before.versions
    facts = (
        ("client", was.get(part, ()), known.get("version") if "client" in known else None),
        ("model", was.get(f"{part}-model", ()), known.get("model")),
    )
    found = [f"{noun} was {', '.join(old)} and is {new}" for noun, old, new in facts if old and new and new not in old]
    digests = was.get(f"{part}-identity", ())
    if not found and digests and settings_digest(spec.path, known, spec.settings) not in digests:
        found = ["prompt, settings or files are others"]
    if found:
        yield f"{who}: {'; '.join(found)}"


def gate_record(decision: Decision, options: Options, against: Sequence[BaselineComparison]) -> Gate | None:
    """What summary.json says of the gate; None: there was none."""
    if decision.verdict is GateResult.NO_GATE:
        return None
    return Gate(
        exit_code=decision.exit_code,
        ruling=str(decision.verdict),
        paragraph=decision.paragraph,
        fail_under=options.fail_under,
        baseline=None if options.baseline is None else str(options.baseline),
        margin=None if options.baseline is None else options.terms.margin,
        comparisons={one.reviewer: one.comparison for one in against if one.comparison is not None},
        labels={one.reviewer: one.labels for one in against if one.labels},
        warnings=tuple(f"{one.reviewer}: {remark}" for one in against for remark in one.remarks),
    )
