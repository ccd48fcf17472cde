"""The record of a run: every trial once, in trials.jsonl, with the summary, the pages and the JUnit file at its end."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from pytest_crab.campaign.giving_up import was_given_up
from pytest_crab.errors import CrabError
from pytest_crab.instances.recorded import FOLDER
from pytest_crab.option_table import Options
from pytest_crab.plugin.carried import TRIAL
from pytest_crab.plugin.contestants import Contestants
from pytest_crab.plugin.item_records import ItemRecords
from pytest_crab.plugin.items import Planned, TrialItem
from pytest_crab.plugin.resources import Resources
from pytest_crab.plugin.selection import Shards
from pytest_crab.results.files import write_summary, write_trials
from pytest_crab.results.loading import TRIALS
from pytest_crab.results.summary import Summary, summarise
from pytest_crab.show.write_report import render
from pytest_crab.trial import unmeasured_trial
from pytest_crab.types import Reason, Trial, TrialId

if TYPE_CHECKING:
    from pytest_crab.plugin.gate import RunGate


class RunRecorder(ItemRecords[Trial]):
    """Records trials as their reports arrive, and completes the record; registered on the controller.

    ``summary`` is there once the session has ended. ``given_up`` are the sentences on reviewers whose trials were not
    all run, and ``is_complete`` says that each trial came to its end.
    """

    kind = TrialItem
    carried = TRIAL
    file = TRIALS
    lost = "the worker process that ran this trial died; run again, finished steps are kept"

    def __init__(
        self,
        options: Options,
        contestants: Contestants,
        resources: Resources,
        gate: RunGate | None,
        shards: Shards | None,
        config: pytest.Config,
    ) -> None:
        super().__init__(contestants.by_reviewer, options, config)
        self.summary: Summary | None = None
        self.given_up: dict[str, None] = {}
        self.trials: dict[TrialId, Trial] = {}
        self._contestants = contestants
        self._resources = resources
        self._gate = gate
        self._shards = shards
        self._places: dict[str, int] = {}
        self.is_complete = False

    # --- while trials run -------------------------------------------------------------------------------------------

    @override
    def note(self, report: pytest.TestReport, record: Trial) -> None:
        self._places[report.nodeid] = getattr(report, "crab_place", 0)
        self._add(record)

    @property
    def empty_shard(self) -> int:
        """The number of instances in other shards, if this one has none; else 0."""
        return 0 if self._shards is None else self._shards.elsewhere

    def find_trial(self, node: str) -> Trial | None:
        """Return the trial that an item's report carried."""
        return self._reported.get(node)

    def _add(self, trial: Trial) -> None:
        """Record a trial, once."""
        if trial.id in self.trials:
            return
        self.trials[trial.id] = trial
        if trial.error is not None and was_given_up(trial):
            self.given_up[trial.error] = None
        self.keep(trial)
        self._config.hook.pytest_crab_trial_done(trial=trial, config=self._config)

    # --- at the end -------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Complete the record with what was not run, compute the summary, have the gate decide, write the files."""
        status = int(exitstatus)
        if self.empty_shard and status == pytest.ExitCode.NO_TESTS_COLLECTED:
            status = int(pytest.ExitCode.OK)
        # A run that was refused has no record, and that of the run before it stays.
        missing = list(self._missing()) if self.trials or status != pytest.ExitCode.USAGE_ERROR else []
        self.is_complete = not missing and not self.given_up
        for trial in missing:
            self._add(trial)
        session.exitstatus = self._finish(status)
        if self.is_complete:
            self._resources.leave_run(complete=True)

    def _finish(self, status: int) -> int:
        """Write the files and return the exit status."""
        report, trials = self._options.report, self.in_order()
        if self.empty_shard:  # replaces the records of an earlier run
            self.write(report / TRIALS, lambda: write_trials(report / TRIALS, ()))
        if self._log is not None:
            self._log.close()
        summary = summarise(trials, errors_as_misses=self._options.errors_as_misses)
        summary = dataclasses.replace(summary, shard=self._options.part)
        is_reported = bool(self.trials or self.empty_shard)
        if is_reported:  # before hooks and the gate, which may fail
            self.write(report / "summary.json", lambda: write_summary(report / "summary.json", summary))
        self._write_junit(trials, summary)
        if self._gate is not None:
            planned = [one for one in map(self.find_plan, self._planned) if one is not None]
            decision = self._gate.decide(status, summary, planned, self.problems, tuple(self.given_up))
            status = decision.exit_code
            summary = ruled = dataclasses.replace(summary, gate=decision)
            self._write_junit(trials, ruled)
            if is_reported:
                self.write(report / "summary.json", lambda: write_summary(report / "summary.json", ruled))
        self.summary = summary
        if is_reported:
            try:
                self.write(report, lambda: render(report, summary))
            except CrabError as error:
                self.note_problem(f"{report}: the pages cannot be written: {error}")
        return status

    def _write_junit(self, trials: Sequence[Trial], summary: Summary) -> None:
        path, misses = self._options.junit, self._options.junit_misses
        if path is not None:
            from pytest_crab.show.junit import write_junit  # its library loads lxml, which no other run needs

            found = self._config.hook.pytest_crab_junit_suites(misses=misses, config=self._config)
            more = [suite for suites in found for suite in suites or ()]
            self.write(path, lambda: write_junit(path, trials, summary, misses=misses, more=more))

    def in_order(self) -> list[Trial]:
        """Return the trials in the order of their items, whichever was reported first."""
        ids = [node for node in self._planned if node in self._reported]
        ids.sort(key=self._places.__getitem__)  # all the same but for items that were put into another order to be run
        listed = {trial.id: trial for trial in (*(self._reported[node] for node in ids), *self.trials.values())}
        return list(listed.values())

    def _missing(self) -> Iterator[Trial]:
        """Yield a record for each item that has none."""
        for node in self._planned:
            planned = None if node in self._reported else self.find_plan(node)
            if planned is None or planned.trial_id in self.trials:
                continue
            fault = self._faults.get(node)
            yield unmeasured_trial(
                planned.instance,
                self._contestants.by_reviewer[planned.trial_id.reviewer],
                Reason.NOT_RUN if fault is None else Reason.BROKEN,
                fault or "the run ended before it",
                repeat=planned.trial_id.repeat,
                shard=self._options.part,
            )

    # --- what items stand for ---------------------------------------------------------------------------------------

    def find_plan(self, node: str) -> Planned | None:
        """Return what the item of this id is to run; None for an item that is no trial."""
        return self._planned.find(node)

    def planned_trials(self) -> list[str]:
        """Return the names of the run's trials in the order of their items, those of workers included."""
        return [str(planned.trial_id) for planned in map(self.find_plan, self._planned) if planned is not None]

    @property
    def expected_trials(self) -> int:
        """The number of the run's items that are trials, those of workers included."""
        return self._planned.count()

    def recorded_sets(self) -> list[Path]:
        """Return the folders of the run's instance sets that hold recorded results."""
        return [folder for folder in self.sets() if (folder / FOLDER).is_dir()]

    def sets(self) -> list[Path]:
        """Return the folders of the run's instance sets."""
        files = (self._config.rootpath / node.split("::", 1)[0] for node in self._planned)
        return list(dict.fromkeys(file.parent.parent for file in files))
