"""The working part of the plugin: collects instances, runs trials ahead of their items, keeps the account."""

from __future__ import annotations

from collections.abc import Generator
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from pytest_crab import plain
from pytest_crab.benchmarks.recorded import read_recording
from pytest_crab.campaign.progress import Progress
from pytest_crab.campaign.progress import SlotsWanted
from pytest_crab.campaign.progress import progress_text
from pytest_crab.errors import BadInput
from pytest_crab.errors import CrabError
from pytest_crab.instances import load_instance
from pytest_crab.plugin import INSTANCE_FILE
from pytest_crab.plugin.account import Account
from pytest_crab.plugin.collect import InstanceFile
from pytest_crab.plugin.collect import TrialItem
from pytest_crab.plugin.collect import Unmeasured
from pytest_crab.plugin.collect import collector_for
from pytest_crab.plugin.collect import loaded_by_others
from pytest_crab.plugin.crew import crews_of
from pytest_crab.plugin.options import Options
from pytest_crab.plugin.progress import ProgressLine
from pytest_crab.plugin.since import Since
from pytest_crab.plugin.trust import SetsOnly
from pytest_crab.plugin.trust import require_trust
from pytest_crab.plugin.work import Work
from pytest_crab.plugin.work import runs_items
from pytest_crab.report.account import explain
from pytest_crab.report.agreement import agreement_lines
from pytest_crab.report.agreement import agreements
from pytest_crab.report.text import one_line
from pytest_crab.runtimes.slots import Slots
from pytest_crab.trial import unmeasured
from pytest_crab.types import Instance
from pytest_crab.types import Reason
from pytest_crab.types import Trial
from pytest_crab.types import TrialId
from pytest_crab.types import Verdict

if TYPE_CHECKING:
    from pytest_crab.plugin.disk import Disk


class CrabSession:
    """Everything between pytest and the trials; registered only when a reviewer is named."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.options = Options.read(config)
        if config.getoption("forked", default=False) and self.runs_trials:
            raise pytest.UsageError(
                "--forked runs each item in a copy of this process, where no trial would ever end: leave it out, "
                "trials have sandboxes of their own"
            )
        self.crews = crews_of(self.options, config)
        self.is_worker = hasattr(config, "workerinput")
        if self.runs_trials and not self.is_worker:
            require_trust(config, self.options.store, trust=self.options.trust)
        config.pluginmanager.register(SetsOnly(config))
        self.work = Work(self.options, self.crews, config)
        if self.runs_trials and not self.is_worker:
            self.work.choice  # noqa: B018 - decided now, so that a runtime that cannot work is a usage error
            self.work.connect()
        if self.options.plan and hasattr(config.option, "dist"):
            config.option.dist = "no"  # a plan needs what this process collects, and pytest-xdist would have none of it
        self.account = None if self.is_worker else Account(self.options, self.crews, config)
        if self.options.since is not None:
            config.pluginmanager.register(Since(self.options.since))
        self.disk: Disk | None = None
        if self.options.disk_budget is not None:
            from pytest_crab.plugin.disk import Disk

            self.disk = Disk(self, self.options.disk_budget)
            config.pluginmanager.register(self.disk)
        self._items: list[TrialItem] = []
        self._places: dict[TrialItem, int] = {}
        self._submitted = 0
        self._claims: dict[str, Path] = {}
        self._line: ProgressLine | None = None
        self._slots_wanted = SlotsWanted(Slots())
        self._needs: list[str] = []

    # --- collection -------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Take over instance folders and sets of them; nothing inside is read by anyone else."""
        return collector_for(path, parent)

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Take over files that a loader of someone else's reads."""
        if not loaded_by_others(self.config):
            return None
        try:
            found = self.config.hook.pytest_crab_load_instances(path=file_path, config=self.config) is not None
        except BadInput:
            found = True  # said when the file is collected
        return InstanceFile.from_parent(parent, path=file_path) if found else None

    def claim(self, instance: Instance, path: Path) -> None:
        """Note that an instance was loaded from ``path``. Raises BadInput if another file has one of this id."""
        first = self._claims.setdefault(instance.id.lower(), path)
        if first != path:
            raise BadInput(str(path), [f"id {instance.id} is also that of {first}; one should be renamed"])

    @pytest.hookimpl(trylast=True)
    def pytest_crab_load_instances(self, path: Path) -> Sequence[Instance] | None:
        """Load an instance.yaml."""
        return [load_instance(path)] if path.name == INSTANCE_FILE else None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep this shard's instances, after all else has been deselected; what is no trial runs in every shard."""
        self._keep_shard(config, items)
        if self.disk is not None:
            self.disk.order(items)

    def _keep_shard(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self.options.shard is None:
            return
        at, of = self.options.shard
        names = sorted({item.instance.id for item in items if isinstance(item, TrialItem)})
        mine = set(names[at - 1 :: of])
        if names and not mine:
            self._deal(len(names))
        others = [item for item in items if isinstance(item, TrialItem) and item.instance.id not in mine]
        if others:
            config.hook.pytest_deselected(items=others)
            gone = set(others)
            items[:] = [item for item in items if item not in gone]

    def _deal(self, elsewhere: int) -> None:
        """Note, where the report is written, that every instance went to another shard."""
        if self.account is not None:
            self.account.deal(elsewhere)
        elif self.is_worker:
            self.config.workeroutput["crab_elsewhere"] = elsewhere  # type: ignore[attr-defined]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what will be run, after deselection, and refuse what could not be compared."""
        self._items = [item for item in session.items if isinstance(item, TrialItem)]
        self._places = {item: place for place, item in enumerate(self._items)}
        if self.account is not None:
            if self.account.gate is not None and self._items and self.runs_trials:
                self.account.gate.check([item.instance for item in self._items])
            self.account.expect(self._items)
            self._look_ahead([(item.instance, item.reviewer, item.repeat) for item in self._items])

    def _look_ahead(self, trials: Sequence[tuple[Instance, str, int]]) -> None:
        """Note what the run will need. Raises pytest.UsageError where it cannot work."""
        if trials and runs_items(self.config) and self.options.cluster is None:
            from pytest_crab.plugin.preflight import lines

            self._needs = lines(self, trials) if not self._needs else self._needs

    def pytest_report_collectionfinish(self) -> list[str]:
        """Before anything runs, say what it will need and what a gate will be able to see."""
        needs = self._needs if self.config.get_verbosity() >= 0 else []
        gate = self.account.gate if self.account is not None else None
        if gate is None or not self._items or not self.runs_trials:
            return needs
        return [*needs, *gate.foresight([(item.reviewer, item.instance) for item in self._items if item.repeat == 1])]

    # --- the run ----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Under --crab-plan say what would run, and run nothing."""
        if self.runs_trials and not self.is_worker:
            self.work.leaving.heed()
        if not self.options.plan or session.config.option.collectonly:
            return None
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        for line in self.work.plan(self._items):
            if reporter is not None:
                reporter.write_line(line)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Start this item's trial and have some of the items that follow wait for their turn to run."""
        if not isinstance(item, TrialItem) or not self.runs_trials:
            return
        place = self._places[item]
        until = place + (1 if self.is_worker else self.work.ahead)
        for following in self._items[max(place, self._submitted) : until]:
            self.work.submit(following.instance, following.reviewer, following.repeat)
        self._submitted = max(self._submitted, until)

    def finish(self, item: TrialItem) -> Trial:
        """Wait for the item's trial, showing what goes on. Raises CrabError if it was never run to its end."""
        trial = self.trial_of(item.instance, item.reviewer, item.repeat)
        item.user_properties.extend(_properties(trial))
        return trial

    def trial_of(self, instance: Instance, reviewer: str | None = None, repeat: int = 1) -> Trial:
        """The trial of an instance with a reviewer of the command line (the first); run once, however often asked for.

        Raises CrabError if it was never run to its end.
        """
        reviewer = reviewer or self.options.reviewers[0]
        self.work.submit(instance, reviewer, repeat)
        line = self._progress_line()

        def tick(progress: Progress) -> None:
            self._say_news(line, self._slots_wanted.sentence(progress))
            line.show(progress_text(progress, len(self._items)))

        try:
            trial = self.work.result(TrialId(instance.id, reviewer, repeat), tick)
        except KeyboardInterrupt:
            self.work.leaving.at_the_next_interrupt()
            raise
        finally:
            self._say_news(line)
            line.wipe()
        why = self.work.giving_up.sentence(reviewer) if trial is None else None
        if why is not None:
            crew, here = self.crews.by_reviewer[reviewer], self.options.runtime
            part = self.options.part
            return unmeasured(instance, crew, Reason.NOT_RUN, why, repeat=repeat, runtime=here, shard=part)
        if trial is None:
            raise CrabError("the run was stopped before this trial was finished; run again, finished steps are kept")
        return trial

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let the report carry the trial to the controller, and last as long as the trial did."""
        report = yield
        if isinstance(item, TrialItem):
            report.crab_item = True  # type: ignore[attr-defined]
            ended_in_setup = call.when == "setup" and not report.passed
            trial = item.trial
            report.duration = trial.seconds if trial and (call.when == "call" or ended_in_setup) else 0.0
            if trial is not None and call.when == "setup":
                report.crab_trial = plain.dump(trial) if self.is_worker else trial  # type: ignore[attr-defined]
                if call.excinfo is not None and call.excinfo.errisinstance(Unmeasured):
                    report.longrepr = "\n".join(explain(trial))  # pytest asks an item only about its call phase
            elif report.failed and call.excinfo is not None and not call.excinfo.errisinstance(CrabError):
                sentence = one_line(f"pytest-crab or one of its hooks failed: {call.excinfo.exconly()}")
                report.crab_fault = sentence  # type: ignore[attr-defined]
        return report

    # --- the account, on the controller -----------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Take the trial's record from the report, and out of it once all have heard: pytest keeps reports."""
        if self.account is not None:
            self.account.hear(report)
        done = yield
        vars(report).pop("crab_trial", None)
        return done

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be loaded is a failure that no gate forgives."""
        if self.account is not None and report.failed:
            self.account.foreign_failures += 1

    def pytest_report_teststatus(self, report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
        """In verbose output say how many oracles were caught."""
        return self.account.status(report) if self.account is not None else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End what still runs, complete the record, decide the exit status."""
        try:
            self.work.stop()
        finally:
            if self.account is not None and self.runs_trials:
                session.exitstatus = self.account.close(int(exitstatus))
        if self.account is None or not self.runs_trials:
            return
        if self.account.complete:
            self.work.leave_run(complete=True)

    def pytest_report_header(self) -> list[str]:
        """Say who reviews, who revises, where and with what."""
        if self.account is None:
            return []
        where = self.work.runtime_in_words()
        news = [f"crab: {sentence}" for sentence in self.work.news()]
        return [*self.account.header(where, self.work.at_a_time), *self.work.models_in_words(), *news]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the tables."""
        if self.account is not None and self.runs_trials and not self.config.option.no_summary:
            self.account.print(terminalreporter)
            losses = self.work.losses()
            for sentence in (*self.work.news(), *([] if losses is None else [losses])):
                if terminalreporter.verbosity >= -1:
                    terminalreporter.write_line(f"crab: {sentence}", yellow=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_crab_summary_lines(self) -> Sequence[str]:
        """Under recorded revisions say how far the verdicts are the recorded ones."""
        if self.account is None or not self.crews.replays:
            return ()
        lines = []
        for folder in self.account.sets():
            try:
                found = agreements(self.account.in_order(), read_recording(folder))
            except BadInput as error:
                lines += [
                    f"recorded verdicts of {folder.name} cannot be read:",
                    *map(one_line, str(error).splitlines()),
                ]
                continue
            lines += [f"recorded verdicts of {folder.name}:", *agreement_lines(found)] if found else []
        return lines

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """End at once at the next one, where no trial was waited for."""
        self.work.leaving.at_the_next_interrupt()

    def pytest_unconfigure(self) -> None:
        """Leave nothing running, whatever happened."""
        self.work.stop()
        self.work.leave_run(complete=False)
        self.work.leaving.restore()

    # --- pytest-xdist -----------------------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker what was decided once for the run."""
        node.workerinput["crab"] = self.work.shared()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note what will be run; every worker says the same."""
        if self.account is None:
            return
        self.account.expect_ids(ids)
        if not self._needs:
            planned = [plan for plan in map(self.account.planned, ids) if plan is not None]
            self._look_ahead([(plan.instance, plan.reviewer, plan.repeat) for plan in planned])
            reporter = self.config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None and self.config.get_verbosity() >= 0:
                for line in self._needs:
                    reporter.write_line(line)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Hear from a worker, which collects, that this shard is empty."""
        elsewhere = getattr(node, "workeroutput", {}).get("crab_elsewhere")
        if self.account is not None and elsewhere:
            self.account.deal(elsewhere)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """A worker that died takes a trial with it: broken, not missed."""
        if self.account is not None:
            self.account.crashed(crashitem)

    @property
    def runs_trials(self) -> bool:
        """Whether this run is to measure anything."""
        return not self.options.plan and runs_items(self.config)

    def _say_news(self, line: ProgressLine, more: str | None = None) -> None:
        """Say ``more``, and what happened to workers; in quiet output, where a line would tear letters, nothing is."""
        if self.config.pluginmanager.has_plugin("terminalreporter") and self.config.get_verbosity() >= 0:
            for sentence in [*self.work.news(), *([] if more is None else [more])]:
                line.say(f"crab: {sentence}")

    def _progress_line(self) -> ProgressLine:
        if self._line is None:
            self._line = ProgressLine(self.config)
        return self._line


def _properties(trial: Trial) -> list[tuple[str, object]]:
    """The few properties that pytest's own JUnit file is given."""
    caught, unknown = len(trial.having(Verdict.CAUGHT)), len(trial.having(Verdict.UNKNOWN))
    return [
        ("crab.reviewer", trial.reviewer),
        ("crab.agent", trial.agent),
        ("crab.caught", caught),
        ("crab.oracles", len(trial.results)),
        ("crab.unknown", unknown),
    ]
