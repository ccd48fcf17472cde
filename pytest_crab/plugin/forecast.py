"""The forecast: what the run will need is said before it, or with --crab-plan in place of it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pytest

from pytest_crab.campaign.access import missing_keys
from pytest_crab.campaign.forecast import (
    PAID,
    SECONDS,
    DiskNeed,
    Forecast,
    PlannedTrial,
    ReviewerNeed,
    contestants_plan,
    forecast,
    lack_of_disk,
)
from pytest_crab.errors import BadInput, CrabError
from pytest_crab.formats import format_count, format_dollars, format_duration, format_names, format_size
from pytest_crab.instances import lock
from pytest_crab.option_table import Options
from pytest_crab.plugin.contestants import Contestants
from pytest_crab.plugin.items import Planned, TrialItem
from pytest_crab.plugin.recorder import RunRecorder
from pytest_crab.plugin.resources import Resources
from pytest_crab.runtimes.environment_stock import Stock, engine_stock, folder_stock, free_at
from pytest_crab.runtimes.hidden_paths import hide_set
from pytest_crab.scoring.judges.votes import JUDGEMENT
from pytest_crab.store import FileStore
from pytest_crab.trial.plan import TrialPlan
from pytest_crab.types import Instance, TrialId

#: With less space than this on the store's disk nothing can be kept.
LEAST_FREE = 16 * 1024**2


class Forecaster:
    """Says what the selected trials will need, and refuses a run that cannot work; registered on the controller."""

    def __init__(
        self,
        options: Options,
        contestants: Contestants,
        resources: Resources,
        recorder: RunRecorder | None,
        config: pytest.Config,
    ) -> None:
        self._options = options
        self._contestants = contestants
        self._resources = resources
        self._recorder = recorder
        self._config = config
        self._forecast: Forecast | None = None
        self._unaudited: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Make the forecast of this process's items, before the terminal asks for its lines."""
        self._look_ahead([item.planned for item in session.items if isinstance(item, TrialItem)])

    def pytest_report_collectionfinish(self) -> list[str]:
        """Print the forecast before anything runs."""
        return self._lines()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Make and print the forecast of what the first worker collected; the others collect the same."""
        if self._forecast is not None or self._recorder is None:
            return
        self._look_ahead([one for one in map(self._recorder.find_plan, ids) if one is not None])
        self._write(self._lines())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool | None:
        """Under --crab-plan print the plan of every trial, and run nothing."""
        if not self._options.plan:
            return None
        if self._forecast is not None:
            self._write(plan_lines(self._forecast.plans))
            self._write([f"{name}: {_need_text(need)}" for name, need in self._forecast.reviewers.items()])
        return True

    def _look_ahead(self, selected: Sequence[Planned]) -> None:
        """Make the forecast. Raises pytest.UsageError where the run cannot work."""
        if not selected:
            return
        crews = self._contestants.by_reviewer
        trials = [(instance, crews[trial_id.reviewer], trial_id.repeat) for instance, trial_id in selected]
        if not self._options.plan:
            self._refuse_store()
            self._refuse_keys(trials)
        instances = {instance.id: instance for instance, _, _ in trials}
        for instance in instances.values():  # each trial's sandboxes hide the answers of all others too
            hide_set(instance)
        self._unaudited = list(unaudited_lines(instances.values()))
        runtime = self._resources.chosen.runtime
        stock = self._stock(runtime, [one for one in instances.values() if one.environment is not None])
        self._forecast = forecast(
            trials,
            self._resources.run_context,
            stock=stock,
            records=self._options.report / "trials.jsonl",
            runtime=runtime,
            jobs=self._options.jobs,
            whole=self._options.plan,
        )
        if stock is not None and self._forecast.disk is not None:
            lack = lack_of_disk(stock, self._forecast.disk, self._options.disk_budget)
            if lack is not None:
                raise pytest.UsageError(lack)

    def _refuse_store(self) -> None:
        self._resources.resume  # noqa: B018 - writes to the store, or raises
        free = free_at(self._options.store)
        if free is not None and free < LEAST_FREE:
            raise pytest.UsageError(
                f"only {format_size(free)} are free where the store {self._options.store} lies, so no step could be"
                " kept: free some space, or name another place with --crab-store"
            )

    def _refuse_keys(self, trials: Sequence[PlannedTrial]) -> None:
        """Raise pytest.UsageError if a key is missing that some trial will need; stored steps need none."""
        models, by_reviewer = self._contestants.settings.models, self._contestants.by_reviewer
        missing = {name: missing_keys(crew, models, os.environ) for name, crew in by_reviewer.items()}
        if self._options.replay or not any(any(steps.values()) for steps in missing.values()):
            return
        needed: dict[str, None] = {}
        until = time.monotonic() + SECONDS
        for trial in trials:
            steps = missing[trial[1].spec.reviewer]
            lacking = {sentence for sentences in steps.values() for sentence in sentences}
            if lacking <= needed.keys() or time.monotonic() > until:
                continue
            plan = contestants_plan(trial, self._resources.run_context)
            for step, sentences in steps.items():
                needed.update(dict.fromkeys(sentences if plan.runs(step) else []))
        if needed:
            raise pytest.UsageError("\n".join(needed))

    def _stock(self, runtime: str, instances: Sequence[Instance]) -> Stock | None:
        """Return what is built of these; None where nothing is to be built, or by a runtime that a hook makes.

        Raises pytest.UsageError without an engine.
        """
        if not instances:
            return None
        if runtime == "local":
            return folder_stock(FileStore(self._options.store).cache)
        if runtime != "docker":
            return None
        try:
            return engine_stock(instances, self._options.base_image)
        except CrabError as error:
            raise pytest.UsageError(f"{error}; start the engine, or use --crab-runtime=local") from error

    def _lines(self) -> list[str]:
        if self._forecast is None or self._config.get_verbosity() < 0:
            return []
        images = "images" if self._resources.chosen.runtime == "docker" else "environments"
        return [*forecast_lines(self._forecast, images, self._options.disk_budget), *self._unaudited]

    def _write(self, lines: Iterable[str]) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            for line in lines:
                reporter.write_line(line)


def plan_lines(plans: Mapping[TrialId, TrialPlan]) -> Iterator[str]:
    """Yield a line for each trial that can run, with its steps, and one for each reason for which others cannot."""
    faulty: dict[str, list[TrialId]] = {}
    for trial, plan in plans.items():
        if plan.problem is None:
            yield f"{trial}  {'; '.join(f'{step} {state}' for step, state in plan.steps.items())}"
        else:
            faulty.setdefault(plan.problem, []).append(trial)
    for problem, trials in faulty.items():
        names = list(dict.fromkeys(trial.instance for trial in trials))
        yield f"{format_count(len(trials), 'trial')} cannot run ({format_names(names, 2)}): {problem}"


def forecast_lines(told: Forecast, environments: str, disk_budget: int | None) -> Iterator[str]:
    """Yield a forecast in one or two lines; ``environments`` is what the runtime calls them."""
    about = "" if told.exact else "about "
    text = f"crab: {format_count(told.trials, 'trial')} of {format_count(told.instances, 'instance')}: "
    reviews = f"{format_count(told.reviews, 'review')} and at most {format_count(told.revisions, 'revision')}"
    text += f"{about}{reviews} to be made, {told.stored:,} stored"
    text += "" if told.seconds is None else f"; about {format_duration(told.seconds)} by what earlier ones took"
    yield text + _money_text(told.reviewers)
    if told.disk is not None:
        yield f"crab: {environments}: {_disk_text(told, told.disk, disk_budget)}"


def _money_text(reviewers: Mapping[str, ReviewerNeed]) -> str:
    usd = sum(need.usd or 0.0 for need in reviewers.values())
    unpriced = [name for name, need in reviewers.items() if need.unpriced]
    if not usd:
        return ""
    if not unpriced:
        return f"; {_about(*reviewers.values())} {format_dollars(usd)} USD by what stored ones cost"
    return f"; at least {format_dollars(usd)} USD by what stored ones cost, not known for {format_names(unpriced, 3)}"


def unaudited_lines(instances: Iterable[Instance]) -> Iterator[str]:
    """Yield a line for each set with oracles whose accepts and rejects crab.lock does not say to hold."""
    try:
        for folder, count in sorted(lock.count_unaudited(instances).items()):
            place = os.path.relpath(folder)
            yield (
                f"crab: {place}: {format_count(count, 'oracle')} not audited since the last change; "
                f"pytest-crab set check --audit {place} audits and records"
            )
    except BadInput as error:
        yield f"crab: {error}"


def _disk_text(told: Forecast, disk: DiskNeed, budget: int | None) -> str:
    at_most = "at most " if told.share < 1 and disk.to_build else ""
    text = f"{disk.there:,} there, {at_most}{disk.to_build:,} to build"
    if disk.pulled:
        text += f", {format_names(disk.pulled, 1)} to pull"
    if disk.bytes:
        text += f", about {format_size(disk.bytes)}" + (
            "" if told.free is None else f" of {format_size(told.free)} free"
        )
    text += "" if budget is None else f"; kept within {format_size(budget)}"
    if told.slots is not None:
        text += f"; memory for {told.slots} full sandboxes, and {told.jobs} trials at a time"
    return text


def _need_text(need: ReviewerNeed) -> str:
    known = ", ".join(f"{count} {step}s" for step, count in need.steps.items())
    counts = f"would run at least {known}" if known else "would run"
    counts += f"; {', '.join(f'{step}s' for step in need.open)}: not known yet" if need.open else ""
    if need.free:
        return f"{counts}; no model is asked"
    if need.usd is None:
        why = "the store has no priced step of some of these kinds" if need.unpriced else "the store has no priced step"
        return f"{counts}; cost not known: {why}"
    return f"{counts}; {_about(need)} {format_dollars(need.usd)} USD by what stored ones cost"


def _about(*needs: ReviewerNeed) -> str:
    """Return how an estimate of costs is to be read: what is not known yet can only add to it."""
    return "at least" if any({*need.open} & {*PAID, JUDGEMENT} for need in needs) else "about"
