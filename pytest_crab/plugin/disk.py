"""The disk budget of a run: environments are removed once their repository is done."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable, Sequence
from typing import Any

import pytest

from pytest_crab.campaign.disk import DiskBudget, PendingTrials, by_repository
from pytest_crab.errors import CrabError
from pytest_crab.formats import format_count, format_size
from pytest_crab.option_table import Options
from pytest_crab.plugin.items import TrialItem
from pytest_crab.plugin.options import runs_trials
from pytest_crab.plugin.recorder import RunRecorder
from pytest_crab.plugin.resources import Resources
from pytest_crab.runtimes.inventory import inventory as inventory_of
from pytest_crab.store import FileStore


class Disk:
    """Orders items by repository in every process; the one with a recorder, the controller, removes environments."""

    def __init__(
        self, options: Options, resources: Resources, recorder: RunRecorder | None, config: pytest.Config, size: int
    ) -> None:
        self._options = options
        self._resources = resources
        self._recorder = recorder
        self._measures = runs_trials(options, config)
        self._size = size
        self._budget: DiskBudget | None = None
        self._waiting = PendingTrials({})
        self._built: set[str] = set()
        self._places: dict[pytest.Item, int] = {}
        self._problem: str | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the trials of one repository behind each other, the same in every process of pytest-xdist."""
        self._places = {item: place for place, item in enumerate(items)}
        items[:] = by_repository(items, lambda item: item.instance.repo if isinstance(item, TrialItem) else None)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what is to come. Raises pytest.UsageError for a runtime whose environments are not known."""
        trials = [item for item in session.items if isinstance(item, TrialItem)]
        self._expect((item.nodeid, item.instance.id, item.instance.repo) for item in trials)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """The same on a controller; every worker says the same."""
        recorder = self._recorder
        if recorder is not None and self._budget is None:
            planned = ((node, recorder.find_plan(node)) for node in ids)
            self._expect((node, plan.instance.id, plan.instance.repo) for node, plan in planned if plan is not None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """In a worker, which does not know the progress of others, let go of an instance when another one follows."""
        done = yield
        if self._recorder is None and isinstance(item, TrialItem):
            following = nextitem.instance.id if isinstance(nextitem, TrialItem) else None
            if following != item.instance.id:
                self._let_go(item.instance.id)
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the item's place before ordering on its report, for the order of the summary."""
        report = yield
        if isinstance(item, TrialItem):
            report.crab_place = self._places.get(item, 0)  # type: ignore[attr-defined]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note whether a trial built its environment."""
        recorder = self._recorder
        trial = None if recorder is None or report.when != "setup" else recorder.find_trial(report.nodeid)
        if trial is not None and any(step.step == "image" and not step.reused for step in trial.steps):
            self._built.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Once a repository is done, or something was built, keep within the budget."""
        self._note_done(nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """A trial whose worker died is done too."""
        self._note_done(crashitem)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Keep within the budget a last time, when nothing runs any more."""
        if self._budget is not None:
            self._hold()
            self._budget.close()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what was removed, and whether the budget was kept."""
        budget = self._budget
        if budget is None or terminalreporter.verbosity < 0:
            return
        if self._problem is not None:
            terminalreporter.write_line(f"crab: the disk budget was not kept: {self._problem}", yellow=True)
        elif budget.taken > budget.size or budget.removed:
            gone = format_count(len(budget.removed), "environment")
            over = "; the rest is in use or can be no smaller" if budget.taken > budget.size else ""
            sizes = f"{format_size(budget.taken)} of {format_size(budget.size)} taken"
            terminalreporter.write_line(f"crab: disk budget: {gone} removed, {sizes}{over}")

    def _expect(self, trials: Iterable[tuple[Hashable, str, str]]) -> None:
        self._waiting = PendingTrials({node: (instance, repository) for node, instance, repository in trials})
        if self._recorder is None or not self._measures or self._budget is not None:
            return
        cache = FileStore(self._options.store).cache
        inventory = inventory_of(self._resources.chosen.runtime, cache)
        if inventory is None:
            raise pytest.UsageError("--crab-disk-budget needs the docker or the local runtime, whose images it removes")
        self._budget = DiskBudget(self._size, inventory, cache)

    def _note_done(self, nodeid: str) -> None:
        if self._budget is None:
            return
        instance = self._waiting.instance(nodeid)
        of_instance, of_repository = self._waiting.done(nodeid)
        if of_instance and instance is not None:
            self._let_go(instance)
        if of_repository or nodeid in self._built:
            self._hold()

    def _hold(self) -> None:
        assert self._budget is not None
        try:
            self._budget.hold(self._waiting.rank)
            self._problem = None
        except (CrabError, OSError) as error:  # a verdict does not depend on it; the summary says so
            self._problem = str(error)

    def _let_go(self, instance: str) -> None:
        """Use the environments of an instance no more; with a runtime that no trial asked for there are none."""
        runtime: Any = self._resources.runtime_in_use
        holds = getattr(runtime, "holds", None)
        if holds is not None:
            holds.give_up([instance])
