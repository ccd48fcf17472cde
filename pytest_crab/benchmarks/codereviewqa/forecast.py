"""The plan of the probes of a run: which answers the store has, and what the others may cost."""

from __future__ import annotations

import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from pytest_crab.benchmarks.codereviewqa.asking import chosen_probes, steps_of
from pytest_crab.benchmarks.codereviewqa.context import NamedAnswerer, ProbeContext
from pytest_crab.benchmarks.codereviewqa.runner import ProbeItem
from pytest_crab.campaign.access import keys_missing
from pytest_crab.errors import CrabError
from pytest_crab.formats import format_count, format_dollars
from pytest_crab.plugin.kinds import Run
from pytest_crab.runtimes.hidden_paths import hide_set
from pytest_crab.types import TrialId
from pytest_crab.types.reviews import known_costs


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """The steps of one item."""

    answerer: str
    #: How many there are.
    steps: int = 0
    #: How many of them the store lacks.
    missing: int = 0
    #: What each of the stored ones costs.
    costs: tuple[float, ...] = ()
    problem: str | None = None

    @property
    def text(self) -> str:
        """The plan in words."""
        if self.problem is not None:
            return self.problem
        return f"answers would run ({self.missing} of {self.steps})" if self.missing else "answers stored"


class ProbeForecaster:
    """Says what the selected probes need, and refuses a run without its keys; registered on the controller."""

    def __init__(
        self, run: Run, answerers: Mapping[str, NamedAnswerer], probes: Sequence[str], config: pytest.Config
    ) -> None:
        self._run = run
        self._answerers = answerers
        self._probes = probes
        self._config = config
        self._plans: dict[TrialId, ProbePlan] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Look the answers up. Raises pytest.UsageError where a key is missing for one that is not stored."""
        items = [item for item in session.items if isinstance(item, ProbeItem)]
        for instance in {item.instance.id: item.instance for item in items}.values():
            hide_set(instance)
        self._plans = {item.trial_id: self._plan(item) for item in items}
        options, models = self._run.options, self._run.settings.models
        if options.plan or options.replay:
            return
        asking = dict.fromkeys(plan.answerer for plan in self._plans.values() if plan.missing)
        needed = [one for name in asking for one in keys_missing(self._answerers[name].asker, models, os.environ)]
        if needed:
            raise pytest.UsageError("\n".join(needed))

    def _plan(self, item: ProbeItem) -> ProbePlan:
        _, name, repeat = item.trial_id
        named = self._answerers[name]
        try:
            context = ProbeContext(item.instance, named, self._run.resources.run_context, repeat=repeat)
            seen: dict[str, object] = {}
            for probe in chosen_probes(item.instance, self._probes):
                for step in steps_of(context, probe):
                    seen.update(dict.fromkeys(step.keys().values(), context.cache.find(step).get(probe)))
        except CrabError as error:
            return ProbePlan(answerer=name, problem=str(error))
        stored = [one for one in seen.values() if one is not None]
        return ProbePlan(
            answerer=name,
            steps=len(seen),
            missing=len(seen) - len(stored),
            costs=tuple(known_costs(getattr(one, "usage", None) for one in stored)),
        )

    def pytest_report_collectionfinish(self) -> list[str]:
        """Print what is to be asked before anything is."""
        if not self._plans or self._config.get_verbosity() < 0:
            return []
        made = sum(bool(plan.missing) for plan in self._plans.values())
        stored = len(self._plans) - made
        return [f"crab: probes: the answers of {format_count(made, 'item')} to be made, {stored:,} stored"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Under --crab-plan print the plan of every item; the core's plan runs nothing."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if not self._run.options.plan or reporter is None:
            return
        for trial, plan in self._plans.items():
            reporter.write_line(f"{trial}  {plan.text}")
        for name in self._answerers:
            reporter.write_line(f"{name}: {_need([one for one in self._plans.values() if one.answerer == name])}")


def _need(plans: Sequence[ProbePlan]) -> str:
    """Return what an answerer's items need, in words."""
    items, missing = sum(bool(plan.missing) for plan in plans), sum(plan.missing for plan in plans)
    costs = [cost for plan in plans for cost in plan.costs]
    text = f"would run the answers of {format_count(items, 'item')}"
    if not missing:
        return text
    if not costs:
        return f"{text}; cost not known: the store has no priced answers"
    return f"{text}; about {format_dollars(missing * statistics.fmean(costs))} USD by what stored ones cost"
