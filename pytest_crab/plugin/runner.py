"""Runs trials ahead of their items; docs/explanation/architecture.md follows one through all parts."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crab.campaign.giving_up import GivingUp
from pytest_crab.campaign.progress import Progress, SlotsWanted
from pytest_crab.campaign.trial_pool import (
    AHEAD,
    AHEAD_ON_BUDGET,
    Contestant,
    Notice,
    TrialPool,
    TrialWork,
    WorkKind,
    costs_of_run,
)
from pytest_crab.errors import CrabError
from pytest_crab.option_table import Options
from pytest_crab.plugin.carried import TRIAL
from pytest_crab.plugin.contestants import Contestants
from pytest_crab.plugin.items import TrialItem
from pytest_crab.plugin.progress import ProgressLine
from pytest_crab.plugin.resources import Resources
from pytest_crab.plugin.signals import Signals
from pytest_crab.runtimes.slots import Slots
from pytest_crab.trial import run_trial, unmeasured_trial
from pytest_crab.types import Instance, PullRequest, Reason, Trial, TrialId, Verdict

if TYPE_CHECKING:
    from pytest_crab.campaign.cluster.executor import ClusterExecutor

log = logging.getLogger(__name__)


class Runner:
    """Submits trials, waits for them and ends them; registered in every process that runs items.

    ``cluster`` runs them and the work of ``others``; None: this process does.
    """

    def __init__(
        self,
        options: Options,
        contestants: Contestants,
        resources: Resources,
        config: pytest.Config,
        others: Sequence[tuple[WorkKind, Contestant]] = (),
    ) -> None:
        self._options = options
        self._contestants = contestants
        self._resources = resources
        self._config = config
        self._is_worker = hasattr(config, "workerinput")
        self.cluster: ClusterExecutor | None = None
        if options.cluster is not None:
            from pytest_crab.plugin.cluster import connect_cluster

            self.cluster = connect_cluster(options, contestants, others, config, resume=resources.resume)
        self._pool: TrialPool[Trial] | None = None
        self._guard = threading.Lock()
        self._closed = False
        self._giving_up = GivingUp(options.give_up)
        self._signals = Signals(options.store, options.report)
        self._line: ProgressLine | None = None
        self._slots_wanted = SlotsWanted(Slots())
        self._items: list[TrialItem] = []
        self._places: dict[TrialItem, int] = {}
        self._submitted: set[TrialItem] = set()
        self._first_on_review: dict[TrialItem, TrialItem] = {}
        self._ended: set[TrialId] = set()

    # --- trials -----------------------------------------------------------------------------------------------------

    def trial_of(self, instance: Instance) -> Trial:
        """Run the trial of an instance with the first reviewer and agent named, once.

        Raises CrabError if it was stopped, and where no reviewer is named.
        """
        if not self._options.reviewers:
            raise CrabError("crab_trial runs the first reviewer, and none is named: name one with --reviewer")
        trial_id = TrialId(instance.id, next(iter(self._contestants.by_reviewer)))
        self._submit(instance, trial_id)
        return self._result(instance, trial_id)

    def _result(self, instance: Instance, trial_id: TrialId) -> Trial:
        """Wait for a submitted trial. Raises CrabError if it was never run to its end."""
        trial = self._wait(trial_id)
        given_up = self._giving_up.sentence(trial_id.reviewer)
        if trial is None and given_up is not None:
            return unmeasured_trial(
                instance,
                self._contestants.by_reviewer[trial_id.reviewer],
                Reason.NOT_RUN,
                given_up,
                repeat=trial_id.repeat,
                shard=self._options.part,
            )
        if trial is None:
            raise CrabError("the run was stopped before this trial was finished; run again, finished steps are kept")
        return trial

    def _submit(self, instance: Instance, trial_id: TrialId) -> None:
        """Start a trial unless it was started, its reviewer was given up, or the run is over."""
        with self._guard:
            if self._closed or self._giving_up.sentence(trial_id.reviewer) is not None:
                return
            if self._pool is None:
                self._pool = self._start()
        crew = self._contestants.by_reviewer[trial_id.reviewer]
        work = TrialWork(
            instance=instance, crew=crew, repeat=trial_id.repeat, here=self._perform, heard=self._take_back
        )
        self._pool.submit(trial_id, work)

    def _start(self) -> TrialPool[Trial]:
        if self.cluster is not None:
            return TrialPool(self.cluster, self.cluster.stop, costs_of_run, self._note_end)
        run_context = self._resources.run_context
        try:
            run_context.runtime.sweep()
        except (CrabError, OSError) as error:  # what dead runs left does not keep this one from running
            log.warning("leftovers of earlier runs could not be removed: %s", error)
        executor = ThreadPoolExecutor(max_workers=self._options.jobs, thread_name_prefix="crab")
        return TrialPool(executor, run_context.stop, costs_of_run, self._note_end)

    def _perform(self, work: TrialWork, notice: Notice) -> Trial:
        """Run a trial in this process."""
        crew = self._contestants.by_reviewer[work.crew.spec.name]
        trial = run_trial(work.instance, crew, self._resources.run_context, repeat=work.repeat, notice=notice)
        self._announce_review(work, trial)
        return trial

    def _take_back(self, work: TrialWork, trial: Trial, shown: PullRequest | None) -> None:
        """Do for a trial of the cluster what is done here for those of this process."""
        if shown is not None:
            self._resources.write_subject(work.instance, shown)
        self._announce_review(work, trial)

    def _announce_review(self, work: TrialWork, trial: Trial) -> None:
        if trial.review is not None and any(step.step == "review" and not step.reused for step in trial.steps):
            self._config.hook.pytest_crab_review_done(
                instance=work.instance,
                reviewer=trial.review_by or trial.reviewer,
                review=trial.review,
                config=self._config,
            )

    def _note_end(self, trial: Trial) -> None:
        """Take a reviewer's trials out of the queue once it is given up."""
        self._ended.add(trial.id)
        if self._giving_up.note(trial) and self._pool is not None:
            self._pool.drop(lambda key: isinstance(key, TrialId) and key.reviewer == trial.reviewer)

    def _wait(self, trial_id: TrialId) -> Trial | None:
        """Wait for a trial, showing the progress; None if it was never run to its end."""
        if self._pool is None:
            return None
        line = self._line = self._line or ProgressLine(self._config)

        def tick(progress: Progress) -> None:
            self._say_news(line, self._slots_wanted.sentence(progress))
            line.show(progress, len(self._items), self._options.budget)

        try:
            with self._signals.exit_at_second_interrupt():
                return self._pool.result(trial_id, tick)
        finally:
            self._say_news(line)
            line.wipe()

    def stop(self) -> None:
        """End what runs and leave nothing of this process behind; an interrupt meanwhile ends the process."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
        try:
            if self._pool is not None:
                self._pool.stop()
            elif self.cluster is not None:
                self.cluster.shutdown()
            self._resources.close()
        except KeyboardInterrupt:
            self._signals.exit_now()

    # --- the items --------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the items in their order, after deselection."""
        self._items = [item for item in session.items if isinstance(item, TrialItem)]
        self._places = {item: place for place, item in enumerate(self._items)}
        first: dict[TrialId, TrialItem] = {}
        for item in self._items:
            instance, reviewer, repeat = item.trial_id
            review = self._contestants.by_reviewer[reviewer].spec.review_id(instance, repeat)
            self._first_on_review[item] = first.setdefault(review, item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Handle signals from here on, where pytest captures nothing."""
        if not self._is_worker:
            self._signals.handle()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Submit this item's trial and some of those that follow; pytest-xdist may go back to an earlier item."""
        if not isinstance(item, TrialItem):
            return
        place = self._places[item]
        until = place + (1 if self._is_worker else self._ahead)
        ahead = [each for each in self._items[place:until] if each not in self._submitted]
        ahead = [each for each in ahead if each is item or self._has_review(each)]
        for each in ahead:
            self._submit(each.instance, each.trial_id)
        self._submitted.update(ahead)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Wait for the item's trial."""
        if isinstance(item, TrialItem):
            item.trial = trial = self._result(item.instance, item.trial_id)
            item.user_properties.extend(_properties(trial))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let the report of the setup carry the trial, and last as long as the trial did."""
        report = yield
        if isinstance(item, TrialItem):
            TRIAL.attach(report, call, item.trial)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: pytest.TestReport | pytest.CollectReport
    ) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
        """In a worker of pytest-xdist write a report's trial as plain data."""
        data = yield
        if self._is_worker:
            TRIAL.dump(report, data)
        return data

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """End what still runs."""
        self.stop()

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what became of the cluster's workers."""
        if terminalreporter.verbosity < -1 or self._config.option.no_summary:
            return
        losses = self.losses()
        for sentence in (*self.news(), *([] if losses is None else [losses])):
            terminalreporter.write_line(f"crab: {sentence}", yellow=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Let the next interrupt end the process, also where no trial was waited for."""
        self._signals.exit_at_next_interrupt()

    def pytest_unconfigure(self) -> None:
        """Leave nothing running, whatever happened."""
        self.stop()
        self._signals.restore()

    # --- what others print ------------------------------------------------------------------------------------------

    def progress(self) -> Progress:
        """Return the state of the trials that were submitted."""
        return Progress() if self._pool is None else self._pool.progress()

    @property
    def at_a_time(self) -> int:
        """The number of trials that may run at a time."""
        return self._options.jobs if self.cluster is None else self.cluster.workers.slots

    @property
    def workers(self) -> int | None:
        """The number of the cluster's workers; None: there is no cluster."""
        return None if self.cluster is None else len(self.cluster.workers.known)

    def news(self) -> list[str]:
        """Take the sentences on the cluster's workers that were not taken before."""
        return [] if self.cluster is None else self.cluster.events.take()

    def losses(self) -> str | None:
        """Return how many workers were lost and trials given again; None: none."""
        return None if self.cluster is None else self.cluster.events.summary()

    def _has_review(self, item: TrialItem) -> bool:
        """Return False while another trial may be asking for the item's review on another machine.

        Trials of one machine wait for each other, and workers of a cluster do not know what others ask for.
        """
        first = self._first_on_review[item]
        return self.cluster is None or first is item or first.trial_id in self._ended

    @property
    def _ahead(self) -> int:
        """The number of trials that are submitted, counted from the one that is reported.

        Many more than run at a time, since behind a long one other lanes would wait; no more where the run may end
        early, and few under a disk budget, which environments leave once their trials are reported.
        """
        if self._config.option.maxfail:
            return max(1, self.at_a_time)
        return max(1, self.at_a_time) * (AHEAD if self._options.disk_budget is None else AHEAD_ON_BUDGET)

    def _say_news(self, line: ProgressLine, more: str | None = None) -> None:
        """Print news as lines of their own; none in quiet output, where a line would tear pytest's letters."""
        if self._config.pluginmanager.has_plugin("terminalreporter") and self._config.get_verbosity() >= 0:
            for sentence in [*self.news(), *([] if more is None else [more])]:
                line.write_line(f"crab: {sentence}")


def _properties(trial: Trial) -> list[tuple[str, object]]:
    """Return the few properties that pytest's own JUnit file is given."""
    return [
        ("crab.reviewer", trial.reviewer),
        ("crab.agent", trial.agent),
        ("crab.caught", len(trial.having(Verdict.CAUGHT))),
        ("crab.oracles", len(trial.results)),
        ("crab.unknown", len(trial.having(Verdict.UNKNOWN))),
    ]
