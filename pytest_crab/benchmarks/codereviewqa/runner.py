"""Asks probes ahead of their items, several instances at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crab.benchmarks.codereviewqa.asking import chosen_probes, unasked_record
from pytest_crab.benchmarks.codereviewqa.cluster import WORK, AskedAnswerer, perform
from pytest_crab.benchmarks.codereviewqa.records import ProbeReason, ProbeRecord
from pytest_crab.campaign.giving_up import GivingUp, failure_class
from pytest_crab.campaign.progress import Progress
from pytest_crab.campaign.trial_pool import AHEAD, Notice, TrialPool, TrialWork
from pytest_crab.errors import CrabError
from pytest_crab.plugin.carried import Carried
from pytest_crab.plugin.items import InstanceItem, Missed, Unmeasured
from pytest_crab.plugin.kinds import Run
from pytest_crab.plugin.options import runs_trials
from pytest_crab.plugin.progress import ProgressLine
from pytest_crab.text import one_line
from pytest_crab.types import Instance, TrialId, Verdict
from pytest_crab.types.reviews import known_costs

if TYPE_CHECKING:
    from pytest_crab.campaign.cluster.executor import ClusterExecutor


class ProbeItem(InstanceItem):
    """The probes of one instance for one answerer."""

    #: Set by the runner; the phases read its verdicts.
    record: ProbeRecord | None = None

    def setup(self) -> None:
        """Skip what was not asked for a reason; a probe without a verdict makes the item an error."""
        record = self.record
        if record is None:  # nothing is run under --setup-plan
            return
        if record.skipped is not None:
            pytest.skip(record.skipped)
        if record.having(Verdict.UNKNOWN):
            raise Unmeasured

    def runtest(self) -> None:
        """Fail if a probe was missed."""
        assert self.record is not None
        missed = self.record.having(Verdict.MISSED)
        if missed:
            raise Missed(f"missed: {', '.join(result.probe for result in missed)}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Describe the result of each probe, without its source."""
        if isinstance(excinfo.value, Missed) and self.record is not None:
            return "\n".join(explain(self.record))
        return super().repr_failure(excinfo, style)


def explain(record: ProbeRecord) -> list[str]:
    """Return lines for a failed or broken item: each probe with its result."""
    repeat = f" (repeat {record.repeat})" if record.repeat > 1 else ""
    lines = [one_line(f"{record.instance}: answerer {record.answerer}{repeat}")]
    if record.error is not None:
        lines.append(one_line(record.error, 500))
    for result in record.results:
        detail = "" if result.detail is None else f": {one_line(result.detail, 300)}"
        lines.append(f"  {result.verdict}  {result.probe}{detail}")
    return lines


#: The record of an item's probes on its report.
CARRIED = Carried(name="crab_probes", record=ProbeRecord, explain=explain)


class ProbeRunner:
    """Makes the items, asks their probes and waits for the records; registered in every process that runs items."""

    def __init__(
        self, run: Run, answerers: Mapping[str, AskedAnswerer], probes: Sequence[str], config: pytest.Config
    ) -> None:
        self._options = run.options
        self._resources = run.resources
        self._answerers = answerers
        self._probes = probes
        self._config = config
        self._measures = runs_trials(run.options, config)
        self._is_worker = hasattr(config, "workerinput")
        self._giving_up = GivingUp(run.options.give_up)
        self._pool: TrialPool[ProbeRecord] | None = None
        self._stopped = False
        self._items: list[ProbeItem] = []
        self._places: dict[pytest.Item, int] = {}
        self._line: ProgressLine | None = None

    def items_of(self, instance: Instance, parent: pytest.Collector) -> Iterator[pytest.Item]:
        """Yield an item for each answerer and repeat."""
        if not chosen_probes(instance, self._probes):
            return
        for answerer in self._answerers:
            for repeat in range(1, self._options.repeat + 1):
                trial_id = TrialId(instance.id, answerer, repeat)
                item: ProbeItem = ProbeItem.from_parent(
                    parent, name=trial_id.item_name, instance=instance, trial_id=trial_id
                )
                yield item

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the items in their order, after deselection."""
        self._items = [item for item in session.items if isinstance(item, ProbeItem)]
        self._places = {item: place for place, item in enumerate(self._items)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Start this item's probes and those of some that follow."""
        if self._measures and item in self._places:
            place = self._places[item]
            for each in self._items[place : place + self._ahead]:
                self._submit(each)

    @property
    def _ahead(self) -> int:
        """The number of items that are started, counted from the one that is reported."""
        if self._is_worker:
            return 1
        cluster = self._cluster
        at_a_time = self._options.jobs if cluster is None else max(1, cluster.workers.slots)
        return at_a_time * (1 if self._config.option.maxfail else AHEAD)

    @property
    def _cluster(self) -> ClusterExecutor | None:
        """The cluster that the run's runner has connected to, if there is one."""
        runner = self._config.pluginmanager.get_plugin("crab-runner")
        return None if runner is None else runner.cluster

    def _submit(self, item: ProbeItem) -> None:
        if self._stopped or self._giving_up.sentence(item.trial_id.reviewer) is not None:
            return
        if self._pool is None:
            self._pool = self._start()
        _, answerer, repeat = item.trial_id
        asked = self._answerers[answerer]
        work = TrialWork(instance=item.instance, crew=asked, repeat=repeat, here=self._perform, kind=WORK)
        self._pool.submit(item.trial_id, work)

    def _start(self) -> TrialPool[ProbeRecord]:
        cluster = self._cluster
        if cluster is not None:
            return TrialPool(cluster, cluster.stop, _costs, self._note_end)
        executor = ThreadPoolExecutor(max_workers=self._options.jobs, thread_name_prefix="crab-probes")
        return TrialPool(executor, self._resources.run_context.stop, _costs, self._note_end)

    def _perform(self, work: TrialWork, notice: Notice) -> ProbeRecord:
        """Ask the probes in this process."""
        context, asked = self._resources.run_context, self._answerers[work.crew.spec.name]
        return perform(work.instance, asked, context, repeat=work.repeat, notice=notice)

    def _note_end(self, record: ProbeRecord) -> None:
        """Take an answerer's items out of the queue once it is given up."""
        if record.skipped is not None:
            return
        name = record.answerer
        if self._giving_up.note_end(name, _cause(record), record.error) and self._pool is not None:
            self._pool.drop(lambda key: isinstance(key, TrialId) and key.reviewer == name)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Wait for the item's record."""
        if isinstance(item, ProbeItem) and self._measures:
            item.record = self._result(item)

    def _result(self, item: ProbeItem) -> ProbeRecord:
        record = None if self._pool is None else self._wait(self._pool, item.trial_id)
        given_up = self._giving_up.sentence(item.trial_id.reviewer)
        if record is None and given_up is not None:
            _, answerer, repeat = item.trial_id
            return unasked_record(
                item.instance, answerer, ProbeReason.NOT_RUN, given_up, probes=self._probes, repeat=repeat
            )
        if record is None:
            raise CrabError("the run was stopped before these probes were asked; run again, stored answers are kept")
        return record

    def _wait(self, pool: TrialPool[ProbeRecord], key: TrialId) -> ProbeRecord | None:
        line = self._line = self._line or ProgressLine(self._config)

        def tick(progress: Progress) -> None:
            line.show(progress, len(self._items), self._options.budget)

        try:
            return pool.result(key, tick)
        finally:
            line.wipe()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let the report of the setup carry the record, and last as long as asking did."""
        report = yield
        if isinstance(item, ProbeItem):
            CARRIED.attach(report, call, item.record)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: pytest.TestReport | pytest.CollectReport
    ) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
        """In a worker of pytest-xdist write a report's record as plain data."""
        data = yield
        if self._is_worker:
            CARRIED.dump(report, data)
        return data

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """End what still runs."""
        self.stop()

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Leave nothing running, whatever happened."""
        self.stop()

    def stop(self) -> None:
        """Start nothing more, and end what runs."""
        if not self._stopped:
            self._stopped = True
            if self._pool is not None:
                self._pool.stop()


def _cause(record: ProbeRecord) -> str | None:
    """Return the class of a failure that left a record without a verdict; None for one that measured something."""
    reasons = {result.reason for result in record.results}
    if len(reasons) != 1 or not reasons <= _FAILURES or record.error is None:
        return None
    reason = next(iter(reasons))
    return failure_class(reason, record.status, record.error, instance=record.instance, repo=record.repo)


_FAILURES = frozenset({ProbeReason.ANSWERER_ERROR, ProbeReason.BROKEN})


def _costs(record: ProbeRecord) -> list[float]:
    """Return the dollars that a record cost in this run."""
    paid = [] if record.paid_usd is None else [record.paid_usd]
    return [*known_costs([record.failed]), *paid]
