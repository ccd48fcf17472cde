"""The controller's side of a run: every trial's record, the files, the tables and the exit status."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_crab import plain
from pytest_crab.campaign.giving_up import GIVEN_UP
from pytest_crab.errors import CrabError
from pytest_crab.gate.baseline import BaselineComparison
from pytest_crab.gate.exit import Decision
from pytest_crab.gate.exit import OracleCounts
from pytest_crab.gate.exit import RunOutcome
from pytest_crab.gate.exit import decide
from pytest_crab.gate.exit import refuse
from pytest_crab.instances.recorded import FOLDER
from pytest_crab.plugin import named_path
from pytest_crab.plugin.collect import TrialItem
from pytest_crab.plugin.crew import Crews
from pytest_crab.plugin.gate import BaselineGate
from pytest_crab.plugin.gate import gate_record
from pytest_crab.plugin.options import Options
from pytest_crab.report.account import instance_line
from pytest_crab.report.files import TrialLog
from pytest_crab.report.files import write_summary
from pytest_crab.report.files import write_trials
from pytest_crab.report.junit import write_junit
from pytest_crab.report.rendering import render
from pytest_crab.report.summary import Summary
from pytest_crab.report.summary import summarise
from pytest_crab.report.terminal import summary_lines
from pytest_crab.report.text import one_line
from pytest_crab.report.transcripts import write_transcripts
from pytest_crab.store import FileStore
from pytest_crab.trial import unmeasured
from pytest_crab.types import Instance
from pytest_crab.types import Reason
from pytest_crab.types import Trial
from pytest_crab.types import TrialId
from pytest_crab.types import Verdict


class Planned(NamedTuple):
    """What an item is to run."""

    instance: Instance
    reviewer: str
    repeat: int

    @property
    def key(self) -> TrialId:
        """The key of its trial."""
        return TrialId(self.instance.id, self.reviewer, self.repeat)


class Account:
    """Every trial of the run, once, in the order of reporting."""

    def __init__(self, options: Options, crews: Crews, config: pytest.Config) -> None:
        self.options = options
        self.crews = crews
        self.config = config
        self.trials: dict[TrialId, Trial] = {}
        self.foreign_failures = 0
        self.decision: Decision | None = None
        self.problems: list[str] = []
        self.warnings: tuple[str, ...] = ()
        self.complete = False
        self.given_up: dict[str, None] = {}
        self.elsewhere = 0
        self._expected: dict[str, Planned | None] = {}
        self._reported: dict[str, Trial] = {}
        self._places: dict[str, int] = {}
        self._loaded: dict[str, Sequence[Instance]] = {}
        self._faults: dict[str, str] = {}
        self._log: TrialLog | None = None
        self._refuse_gate()
        self.gate = BaselineGate.of(options, crews)

    # --- hearing ----------------------------------------------------------------------------------------------------

    def expect(self, items: Iterable[TrialItem]) -> None:
        """Note items that will be run in this process."""
        self._expected.update((item.nodeid, Planned(item.instance, item.reviewer, item.repeat)) for item in items)

    def expect_ids(self, ids: Iterable[str]) -> None:
        """Note items that will be run elsewhere; what an id stands for is looked up when it matters."""
        for node in ids:
            self._expected.setdefault(node, None)

    def crashed(self, node: str) -> None:
        """Note an item whose process died."""
        self._faults[node] = "the worker process that ran this trial died; run again, finished steps are kept"

    def deal(self, elsewhere: int) -> None:
        """Note that this shard was left without an instance, and that the other shards have so many."""
        self.elsewhere = elsewhere

    def hear(self, report: pytest.TestReport) -> None:
        """Take a report; the trial's record comes with its setup."""
        fault = getattr(report, "crab_fault", None)
        if fault is not None:
            self._faults[report.nodeid] = fault
        data = getattr(report, "crab_trial", None)
        if data is not None:
            self._reported[report.nodeid] = trial = _read(data)
            self._places[report.nodeid] = getattr(report, "crab_place", 0)
            self.add(trial)
        if report.failed and not hasattr(report, "crab_item") and self.planned(report.nodeid) is None:
            self.foreign_failures += 1

    def reported(self, node: str) -> Trial | None:
        """The trial of an item whose report was heard."""
        return self._reported.get(node)

    def add(self, trial: Trial) -> None:
        """Put a trial on the record, once."""
        if trial.id in self.trials:
            return
        self.trials[trial.id] = trial
        if trial.error is not None and trial.error.startswith(GIVEN_UP):
            self.given_up[trial.error] = None
        try:
            if self._log is None:
                self._log = TrialLog(self.options.report / "trials.jsonl")
            self._log.append(trial)
        except OSError as error:
            self._complain(f"{self.options.report / 'trials.jsonl'} cannot be written: {error.strerror}")
        else:
            self._copy_transcripts(trial)
        self.config.hook.pytest_crab_trial_done(trial=trial, config=self.config)

    def _copy_transcripts(self, trial: Trial) -> None:
        try:
            write_transcripts(self.options.report, FileStore(self.options.store), trial.transcripts)
        except OSError as error:
            self._complain(f"{error.filename or self.options.report} cannot be written: {error.strerror}")

    # --- closing ----------------------------------------------------------------------------------------------------

    def close(self, status: int) -> int:
        """Complete the record with what was not run, write the files and return the exit status of the run."""
        if self.elsewhere and status == pytest.ExitCode.NO_TESTS_COLLECTED:
            status = int(pytest.ExitCode.OK)
        # A run that was refused has no record, and that of the run before it stays.
        missing = list(self._missing()) if self.trials or status != pytest.ExitCode.USAGE_ERROR else []
        self.complete = not missing and not self.given_up
        for trial in missing:
            self.add(trial)
        if self.elsewhere:
            self._write_no_trials()
        if self._log is not None:
            self._log.close()
        summary = self.summary()
        reported = bool(self.trials or self.elsewhere)
        if reported:
            self._write_summary(summary)
        try:
            if self.options.junit is not None:
                write_junit(self.options.junit, self.in_order(), summary)
        except OSError as error:
            self._complain(f"{error.filename or self.options.report} cannot be written: {error.strerror}")
        objections = (
            self.config.hook.pytest_crab_gate(summary=summary, config=self.config) if self.options.gated else []
        )
        against = None if self.gate is None else self.gate.against(summary, self._planned_instances())
        self.decision = self._decide(status, summary, [text for text in objections if text], against)
        summary = dataclasses.replace(summary, gate=gate_record(self.decision, self.options, against or ()))
        self.warnings = summary.gate.warnings if summary.gate is not None else ()
        if summary.gate is not None and reported:
            self._write_summary(summary)
        if reported:
            self._render(summary)
        return self.decision.exit_code

    def summary(self) -> Summary:
        """The numbers so far."""
        summary = summarise(self.in_order(), errors_as_misses=self.options.errors_as_misses)
        return dataclasses.replace(summary, shard=self.options.part)

    def in_order(self) -> list[Trial]:
        """The trials in the order of their items, whichever was reported first."""
        ids = [node for node in self._expected if node in self._reported]
        ids.sort(key=self._places.__getitem__)  # all the same but for items that were put into another order to be run
        listed = {trial.id: trial for trial in (*(self._reported[node] for node in ids), *self.trials.values())}
        return list(listed.values())

    def _decide(
        self, status: int, summary: Summary, objections: Sequence[str], against: tuple[BaselineComparison, ...] | None
    ) -> Decision:
        absent = self._absent_oracles(summary)
        counts = tuple(
            OracleCounts.of(
                row.reviewer,
                row.outcomes,
                absent=absent.get(row.reviewer, 0),
                is_control=self._is_control(row.reviewer),
            )
            for row in summary.reviewers
        )
        return decide(
            RunOutcome(
                status=status,
                only_trials_failed=self.foreign_failures == 0 and not self.problems,
                fail_under=self.options.fail_under,
                max_broken=self.options.max_broken,
                max_unknown=self.options.max_unknown,
                errors_as_misses=self.options.errors_as_misses,
                counts=counts,
                baselines=against,
                objections=tuple(objections),
                given_up=tuple(self.given_up),
            )
        )

    def _planned_instances(self) -> dict[str, set[str]]:
        """Return the ids of the instances that each reviewer was to be run on."""
        planned: dict[str, set[str]] = {}
        for one in filter(None, map(self.planned, self._expected)):
            planned.setdefault(one.reviewer, set()).add(one.instance.id)
        return planned

    def _absent_oracles(self, summary: Summary) -> dict[str, int]:
        """Return by reviewer how many oracles were planned and have no verdict on record, not even an unknown one."""
        known = {row.reviewer: {oracle.key for oracle in row.oracles} for row in summary.reviewers}
        planned: dict[str, set[tuple[str, str]]] = {}
        for one in filter(None, map(self.planned, self._expected)):
            keys = ((one.instance.id, comment.id) for comment in one.instance.comments if comment.oracle is not None)
            planned.setdefault(one.reviewer, set()).update(keys)
        return {name: len(keys - known.get(name, set())) for name, keys in planned.items()}

    def _write_no_trials(self) -> None:
        """Replace the records of an earlier run: a shard without an instance reports that it has none."""
        try:
            write_trials(self.options.report / "trials.jsonl", ())
        except OSError as error:
            self._complain(f"{self.options.report / 'trials.jsonl'} cannot be written: {error.strerror}")

    def _write_summary(self, summary: Summary) -> None:
        try:
            write_summary(self.options.report / "summary.json", summary)
        except OSError as error:
            self._complain(f"{error.filename or self.options.report} cannot be written: {error.strerror}")

    def _render(self, summary: Summary) -> None:
        """Write the files for people; the records are written already, so these can be made again."""
        try:
            render(self.options.report, summary)
        except (CrabError, OSError) as error:
            self._complain(f"{self.options.report}: the pages cannot be written: {error}")

    def _is_control(self, reviewer: str) -> bool:
        crew = self.crews.by_reviewer.get(reviewer)
        return crew is not None and crew.spec.arm is not None

    def _missing(self) -> Iterator[Trial]:
        """Yield a record for each item that has none."""
        for node in self._expected:
            planned = None if node in self._reported else self.planned(node)
            if planned is None or planned.key in self.trials:
                continue
            crew = self.crews.by_reviewer[planned.reviewer]
            fault = self._faults.get(node)
            yield unmeasured(
                planned.instance,
                crew,
                Reason.NOT_RUN if fault is None else Reason.BROKEN,
                fault or "the run ended before it",
                repeat=planned.repeat,
                runtime=self.options.runtime,
                shard=self.options.part,
            )

    def planned(self, node: str) -> Planned | None:
        """What the item of this id is to run; None for an item that is no trial."""
        planned = self._expected.get(node)
        if planned is not None:
            return planned
        path, *names = node.split("::")
        if not names or not names[-1]:
            return None
        trial = TrialId.parse(f"{path}::{names[-1]}")
        if trial.reviewer not in self.crews.by_reviewer:
            return None
        for instance in self._instances(path):
            if len(names) == 1 or names[0] == instance.id:
                return Planned(instance, trial.reviewer, trial.repeat)
        return None

    def _instances(self, path: str) -> Sequence[Instance]:
        """The instances of a file that another process collected, read once."""
        if path not in self._loaded:
            self._loaded[path] = self._load(path)
        return self._loaded[path]

    def _load(self, path: str) -> Sequence[Instance]:
        """The instances of a file; ids of files outside start at what was named."""
        bases = [self.config.rootpath, *(named_path(self.config, argument) for argument in self.config.args)]
        file = next((base / path for base in bases if (base / path).is_file()), None)
        try:
            return self.config.hook.pytest_crab_load_instances(path=file, config=self.config) or () if file else ()
        except CrabError:
            return ()  # a collection error has said so already

    # --- saying -----------------------------------------------------------------------------------------------------

    def header(self, runtime: str, at_a_time: int) -> list[str]:
        """The header's lines: crew, agent and why, runtime and why, how many trials at a time, store."""
        crews = self.crews
        reviewers = ", ".join(
            name + (f" ({crew.spec.arm or crew.reviewer_label})" if crew.spec.arm or crew.reviewer_label else "")
            for name, crew in crews.by_reviewer.items()
        )
        any_crew = next(iter(crews.by_reviewer.values()))
        labels = [
            *(["simulated"] if any_crew.simulated else []),
            *(["privileged"] if any_crew.privileged_agent else []),
            *([crews.why_agent] if crews.why_agent else []),
        ]
        agent = crews.agent + (f" ({'; '.join(labels)})" if labels else "")
        options = self.options
        lines = [
            f"crab: reviewers {reviewers}; agent {agent}",
            f"crab: runtime {runtime}; {at_a_time} at a time; store {options.store}",
        ]
        lines += self.gate.header() if self.gate is not None else []
        if options.allow_unconfined:
            lines.append("crab: --crab-allow-unconfined: code runs without a sandbox where none is to be had")
        return lines

    def status(self, report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
        """The outcome of an item in words, for verbose output; pytest's own categories and letters stay."""
        trial = self._reported.get(report.nodeid)
        if trial is None or report.outcome not in ("passed", "failed"):  # a plugin that runs items again has its own
            return None
        if report.when == "setup" and report.failed:
            return "error", "E", f"ERROR {_short(trial)}"
        if report.when == "call":
            return (
                ("failed", "F", f"FAILED {_short(trial)}")
                if report.failed
                else ("passed", ".", f"PASSED {_short(trial)}")
            )
        return None

    def print(self, reporter: pytest.TerminalReporter) -> None:
        """Print a line per instance, the tables, and why the gate decided as it did; the last alone if -qq."""
        if self.elsewhere:
            count = "the one instance is" if self.elsewhere == 1 else f"all {self.elsewhere} instances are"
            reporter.write_line(f"crab: shard {self.options.part} is empty: {count} in other shards")
        elif not self.trials:
            return
        if self.trials and reporter.verbosity >= 0:
            reporter.write_sep("-", "trials")
            for trial in self.in_order():
                if trial.error in self.given_up:  # said once, below
                    continue
                reporter.write_line(f"{trial.id}  {instance_line(trial)}")
        if self.trials and reporter.verbosity >= -1:
            self._print_tables(reporter)
        for sentence in self.given_up:
            reporter.write_line(f"crab: {one_line(sentence, 1000)}", red=True)
        for problem in self.problems:
            reporter.write_line(problem, red=True)
        if self.decision is not None and self.decision.paragraph:
            reporter.write_line(self.decision.paragraph, bold=True)

    def _print_tables(self, reporter: pytest.TerminalReporter) -> None:
        reporter.write_sep("=", "review measured by what it led to")
        summary = self.summary()
        for warning in self.warnings:
            reporter.write_line(f"not as in the baseline: {warning}", yellow=True)
        for line in summary_lines(summary, reporter._tw.fullwidth):  # noqa: SLF001 - the only way to the width
            markup = {line.style: True} if line.style else {}
            reporter.write_line(line.text, **markup)
        for lines in self.config.hook.pytest_crab_summary_lines(summary=summary, config=self.config):
            for text in lines or ():
                reporter.write_line(text)
        reporter.write_line(f"report: {self.options.report / 'index.html'} (records: trials.jsonl beside it)")

    def sets(self) -> list[Path]:
        """The folders of the instance sets that the run's items come from and that hold recorded results."""
        files = (self.config.rootpath / node.split("::", 1)[0] for node in self._expected)
        folders = dict.fromkeys(file.parent.parent for file in files)
        return [folder for folder in folders if (folder / FOLDER).is_dir()]

    # --- small things -----------------------------------------------------------------------------------------------

    def _complain(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _refuse_gate(self) -> None:
        crews = list(self.crews.by_reviewer.values())
        sentence = refuse(
            fail_under=self.options.fail_under,
            max_broken=self.options.max_broken,
            max_unknown=self.options.max_unknown,
            agent=self.crews.agent,
            privileged=any(crew.privileged_agent for crew in crews),
            simulated=any(crew.simulated for crew in crews),
            defaulted=self.crews.agent_defaulted,
            runtime_named=self.options.runtime != "auto",
            gated=any(crew.spec.arm is None for crew in crews),
            baseline=self.options.baseline is not None,
            sharded=self.options.shard is not None,
        )
        if sentence:
            raise pytest.UsageError(sentence)


def _read(data: object) -> Trial:
    """The trial of a report: one of this process as it is, one of another process as plain data."""
    if isinstance(data, Trial):
        return data
    problems: list[str] = []
    trial = plain.read(Trial, data, problems)
    assert trial is not None, problems
    return trial


def _short(trial: Trial) -> str:
    caught, unknown = len(trial.having(Verdict.CAUGHT)), len(trial.having(Verdict.UNKNOWN))
    if not trial.results:
        return "no oracle, and no review" if trial.review is None else f"no oracle, {trial.review.size} findings"
    return f"{caught}/{len(trial.results)} caught" + (f", {unknown} unknown" if unknown else "")
