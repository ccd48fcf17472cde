"""The controller's side of a run: every trial's record, the files, the tables and the exit status."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from pytest_crab import plain
from pytest_crab.errors import CrabError
from pytest_crab.gate.exit import Decision
from pytest_crab.gate.exit import RunOutcome
from pytest_crab.gate.exit import Tally
from pytest_crab.gate.exit import decide
from pytest_crab.gate.exit import refuse
from pytest_crab.instances import load_instance
from pytest_crab.plugin.collect import TrialItem
from pytest_crab.plugin.crew import Crews
from pytest_crab.plugin.options import Options
from pytest_crab.report.account import instance_line
from pytest_crab.report.files import TrialLog
from pytest_crab.report.files import write_summary
from pytest_crab.report.junit import write_junit
from pytest_crab.report.summary import Summary
from pytest_crab.report.summary import summarise
from pytest_crab.report.terminal import summary_lines
from pytest_crab.trial import unmeasured
from pytest_crab.types import Reason
from pytest_crab.types import Trial
from pytest_crab.types import Verdict

_ITEM_ID = re.compile(r"(?P<path>(?:.*/)?instance\.yaml)::(?P<reviewer>.+?)(?:\[(?P<repeat>\d+)\])?")


class TrialKey(NamedTuple):
    """What tells one trial of a run from another."""

    instance: str
    reviewer: str
    repeat: int


class Account:
    """Every trial of the run, once, in the order of reporting."""

    def __init__(self, options: Options, crews: Crews, config: pytest.Config) -> None:
        self.options = options
        self.crews = crews
        self.config = config
        self.trials: dict[TrialKey, Trial] = {}
        self.foreign_failures = 0
        self.decision: Decision | None = None
        self.problems: list[str] = []
        self._expected: dict[str, TrialItem | None] = {}
        self._crashed: set[str] = set()
        self._log: TrialLog | None = None
        self._refuse_gate()

    # --- hearing ----------------------------------------------------------------------------------------------------

    def expect(self, items: Iterable[TrialItem]) -> None:
        """Note items that will be run in this process."""
        self._expected.update((item.nodeid, item) for item in items)

    def expect_ids(self, ids: Iterable[str]) -> None:
        """Note items that will be run elsewhere."""
        self._expected.update((node, None) for node in ids if _ITEM_ID.fullmatch(node) and node not in self._expected)

    def crashed(self, node: str) -> None:
        """Note an item whose process died."""
        self._crashed.add(node)

    def hear(self, report: pytest.TestReport) -> None:
        """Take a report; the trial's record comes with its setup."""
        data = getattr(report, "crab_trial", None)
        if data is not None:
            self.add(_read(data))
        if report.failed and report.nodeid not in self._expected:
            self.foreign_failures += 1

    def add(self, trial: Trial) -> None:
        """Put a trial on the record, once."""
        key = TrialKey(trial.instance, trial.reviewer, trial.repeat)
        if key in self.trials:
            return
        self.trials[key] = trial
        try:
            if self._log is None:
                self._log = TrialLog(self.options.report / "trials.jsonl")
            self._log.append(trial)
        except OSError as error:
            self._complain(f"{self.options.report / 'trials.jsonl'} cannot be written: {error.strerror}")
        self.config.hook.pytest_crab_trial_done(trial=trial, config=self.config)

    # --- closing ----------------------------------------------------------------------------------------------------

    def close(self, status: int) -> int:
        """Complete the record with what was not run, write the files and return the exit status of the run."""
        for trial in self._missing():
            self.add(trial)
        if self._log is not None:
            self._log.close()
        summary = self.summary()
        try:
            if self.trials:
                write_summary(self.options.report / "summary.json", summary)
            if self.options.junit is not None:
                write_junit(self.options.junit, self.trials.values(), summary)
        except OSError as error:
            self._complain(f"{error.filename or self.options.report} cannot be written: {error.strerror}")
        objections = (
            self.config.hook.pytest_crab_gate(summary=summary, config=self.config) if self.options.gated else []
        )
        self.decision = self._decide(status, summary, [text for text in objections if text])
        return self.decision.exit_code

    def summary(self) -> Summary:
        """The numbers so far."""
        return summarise(self.trials.values(), errors_as_misses=self.options.errors_as_misses)

    def _decide(self, status: int, summary: Summary, objections: Sequence[str]) -> Decision:
        tallies = tuple(
            Tally.of(row.reviewer, row.outcomes, is_control=self._is_control(row.reviewer)) for row in summary.reviewers
        )
        decision = decide(
            RunOutcome(
                status=status,
                only_trials_failed=self.foreign_failures == 0 and not self.problems,
                fail_under=self.options.fail_under,
                max_broken=self.options.max_broken,
                errors_as_misses=self.options.errors_as_misses,
                tallies=tallies,
            )
        )
        if objections and decision.exit_code in (0, 8):
            paragraph = f"{decision.paragraph} A hook objects: {' '.join(objections)}"
            return Decision(exit_code=1, verdict=decision.verdict, paragraph=paragraph)
        return decision

    def _is_control(self, reviewer: str) -> bool:
        crew = self.crews.by_reviewer.get(reviewer)
        return crew is not None and crew.spec.control

    def _missing(self) -> Iterable[Trial]:
        for node, item in self._expected.items():
            match = _ITEM_ID.fullmatch(node)
            if match is None:
                continue
            reviewer, repeat = match["reviewer"], int(match["repeat"] or 1)
            if item is not None:
                instance = item.instance
            else:
                try:
                    instance = load_instance(self.config.rootpath / match["path"])
                except CrabError:
                    continue  # a collection error has said so already
            if TrialKey(instance.id, reviewer, repeat) in self.trials or reviewer not in self.crews.by_reviewer:
                continue
            crew = self.crews.by_reviewer[reviewer]
            if node in self._crashed:
                sentence = "the worker process that ran this trial died; run again, finished steps are kept"
                yield unmeasured(instance, crew, Reason.BROKEN, sentence, repeat=repeat, runtime=self.options.runtime)
            else:
                yield unmeasured(
                    instance,
                    crew,
                    Reason.NOT_RUN,
                    "the run ended before it",
                    repeat=repeat,
                    runtime=self.options.runtime,
                )

    # --- saying -----------------------------------------------------------------------------------------------------

    def header(self, runtime: str) -> list[str]:
        """The header's lines: crew, agent and why, runtime and why, store."""
        crews = self.crews
        reviewers = ", ".join(
            name + (" (privileged)" if crew.privileged_reviewer else " (control)" if crew.spec.control else "")
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
            f"crab: runtime {runtime}; {options.jobs} at a time; store {options.store}",
        ]
        if options.allow_unconfined:
            lines.append("crab: --crab-allow-unconfined: code runs without a sandbox where none is to be had")
        return lines

    def status(self, report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
        """The outcome of an item in words, for verbose output; pytest's own categories and letters stay."""
        data = getattr(report, "crab_trial", None)
        if not isinstance(report, pytest.TestReport) or report.nodeid not in self._expected:
            return None
        if report.when == "setup" and report.failed:
            return "error", "E", f"ERROR {_short(data)}"
        if report.when == "call":
            match = self._of(report.nodeid)
            if match is not None:
                word, letter = ("FAILED", "F") if report.failed else ("PASSED", ".")
                return ("failed" if report.failed else "passed"), letter, f"{word} {_short(plain.dump(match))}"
        return None

    def print(self, reporter: pytest.TerminalReporter) -> None:
        """Print a line per instance, the tables, the notes, and why the gate decided as it did."""
        if not self.trials:
            return
        if reporter.verbosity >= 0:
            reporter.section("trials", sep="-")
            for trial in self.trials.values():
                repeat = "" if trial.repeat == 1 else f"[{trial.repeat}]"
                reporter.write_line(f"{trial.instance}::{trial.reviewer}{repeat}  {instance_line(trial)}")
        reporter.section("review measured by what it led to", sep="=")
        summary = self.summary()
        for line in summary_lines(summary, reporter._tw.fullwidth):  # noqa: SLF001 - the only way to the width
            markup = {line.style: True} if line.style else {}
            reporter.write_line(line.text, **markup)
        for lines in self.config.hook.pytest_crab_summary_lines(summary=summary, config=self.config):
            for text in lines or ():
                reporter.write_line(text)
        for problem in self.problems:
            reporter.write_line(problem, red=True)
        reporter.write_line(f"records: {self.options.report / 'trials.jsonl'}")
        if self.decision is not None and self.decision.paragraph:
            reporter.write_line(self.decision.paragraph, bold=True)

    # --- small things -----------------------------------------------------------------------------------------------

    def _of(self, node: str) -> Trial | None:
        item = self._expected.get(node)
        if item is not None and item.trial is not None:
            return item.trial
        match = _ITEM_ID.fullmatch(node)
        if match is None:
            return None
        folder = match["path"].rsplit("/", 2)[-2]
        return self.trials.get(TrialKey(folder, match["reviewer"], int(match["repeat"] or 1)))

    def _complain(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _refuse_gate(self) -> None:
        crews = list(self.crews.by_reviewer.values())
        sentence = refuse(
            fail_under=self.options.fail_under,
            max_broken=self.options.max_broken,
            agent=self.crews.agent,
            privileged=any(crew.privileged_agent for crew in crews),
            simulated=any(crew.simulated for crew in crews),
            defaulted=self.crews.agent_defaulted,
            runtime_named=self.options.runtime != "auto",
            gated=any(not crew.spec.control for crew in crews),
        )
        if sentence:
            raise pytest.UsageError(sentence)


def _read(data: object) -> Trial:
    problems: list[str] = []
    trial = plain.read(Trial, data, problems)
    assert trial is not None, problems
    return trial


def _short(data: object) -> str:
    if not isinstance(data, dict):
        return ""
    verdicts = [result["verdict"] for result in data["results"]]
    caught, unknown = verdicts.count(Verdict.CAUGHT.value), verdicts.count(Verdict.UNKNOWN.value)
    return f"{caught}/{len(verdicts)} caught" + (f", {unknown} unknown" if unknown else "")
