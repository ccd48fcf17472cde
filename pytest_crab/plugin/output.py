"""The terminal's output of a run: the header's lines, the outcome of each item, and the tables at the end."""

from __future__ import annotations

import textwrap
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.campaign.giving_up import cause_of
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count
from pytest_crab.option_table import Options
from pytest_crab.plugin.paths import exists, named_paths
from pytest_crab.plugin.recorder import RunRecorder
from pytest_crab.plugin.resources import Resources
from pytest_crab.plugin.run_keeper import RunKeeper
from pytest_crab.plugin.runner import Runner
from pytest_crab.plugin.statuses import MISSED, SHOWN_MISSES, Sections, Status, status_of
from pytest_crab.results.explain import instance_line, why
from pytest_crab.results.kept_runs import named_report
from pytest_crab.results.recorded_results import recorded_at
from pytest_crab.results.summary import Summary
from pytest_crab.settings import base_url_variable, base_urls
from pytest_crab.show.headline import gate_line
from pytest_crab.show.terminal import summary_lines
from pytest_crab.text import one_line, split_lines
from pytest_crab.types import Trial, Verdict

#: What -r stands for where it is not given.
_DEFAULT_REPORT = "fE"


class Header:
    """Prints the contestants as ``described``, runtime, store and models; ``runner`` None: nothing will run."""

    def __init__(
        self,
        options: Options,
        described: str,
        resources: Resources,
        runner: Runner | None,
        config: pytest.Config,
    ) -> None:
        self._options = options
        self._config = config
        self._described = described
        self._resources = resources
        self._runner = runner

    def pytest_report_header(self) -> list[str]:
        """Return the header's lines."""
        options, runner = self._options, self._runner
        at_a_time = options.jobs if runner is None else runner.at_a_time
        where = [*self._runtime(), *self._cluster(), f"{at_a_time} at a time", f"store {options.store}"]
        lines = [
            *([] if options.experiment is None else [f"crab: experiment {options.experiment}"]),
            f"crab: {self._described}",
            f"crab: {'; '.join(where)}",
        ]
        if options.allow_unconfined and self._resources.run_code:
            lines.append("crab: --crab-allow-unconfined: code runs without a sandbox where none is available")
        models = []
        if options.replay:
            cassettes = self._resources.settings.cassettes(options.store)
            models.append(f"recordings in {cassettes} and nothing else (--crab-replay)")
        if options.budget is not None:
            models.append(f"a budget of {options.budget:g} USD")
        known = self._resources.settings.models.providers
        models += [
            f"{name} at {url} ({base_url_variable(name)})"
            for name, url in base_urls().items()
            if known[name].base_url == url
        ]
        lines += [f"crab: models: {', '.join(models)}"] if models else []
        return [*lines, *(f"crab: {sentence}" for sentence in (runner.news() if runner is not None else ()))]

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """Say what an instance is where none was found, and none was deselected."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if items or reporter is None or reporter.stats.get("deselected") or reporter.stats.get("error"):
            return []
        if not all(exists(path) for _, path in named_paths(self._config)):
            return []  # pytest's own error names it
        advice = "pytest-crab quickstart DIR copies some to try, pytest-crab set new writes one"
        return [f"crab: no instance was found: an instance is a folder with an instance.yaml ({advice})"]

    def _runtime(self) -> list[str]:
        """Return the runtime, if code runs in it."""
        if not self._resources.run_code:
            return []
        if self._runner is None or self._runner.workers is None:
            return [f"runtime {self._resources.runtime_text()}"]
        return [f"runtime {self._resources.chosen.runtime} (as each worker has it)"]

    def _cluster(self) -> list[str]:
        """Return the cluster with its workers, if there is one."""
        workers = None if self._runner is None else self._runner.workers
        return [] if workers is None else [f"{self._options.cluster} with {format_count(workers, 'worker')}"]


class Outcomes:
    """Prints the outcome of each item, and at the end the results; registered on the controller that records."""

    def __init__(self, options: Options, recorder: RunRecorder, keeper: RunKeeper, config: pytest.Config) -> None:
        self._options = options
        self._recorder = recorder
        self._keeper = keeper
        self._config = config
        self._sections = Sections(lambda report: recorder.find_trial(report.nodeid) is not None)

    def pytest_report_teststatus(self, report: pytest.TestReport | pytest.CollectReport) -> Status | None:
        """Say whether a pull request's oracles were caught, missed or unknown; in verbose output how many."""
        trial = self._recorder.find_trial(report.nodeid)
        return None if trial is None else status_of(report, _result_text(trial))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> Generator[None, object, object]:
        """Print the results below everything that pytest prints, its short summary included.

        Unless -v or --tb asks for more, FAILURES and ERRORS have the misses where they are few, and one error a cause.
        """
        hidden: list[Any] = []
        if self._config.get_verbosity() <= 0 and self._config.option.tbstyle == "auto":
            hidden = self._uninformative(terminalreporter)
        self._sections.show(terminalreporter, hidden)
        result = yield
        self._sections.end(terminalreporter, self._unit())
        self._print_results(terminalreporter, int(exitstatus))
        return result

    def _print_results(self, reporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """Print the results, with -v all of them, and the gate's decision; under -qq the last alone."""
        recorder = self._recorder
        summary = recorder.summary
        if summary is None or self._config.option.no_summary:
            return
        if recorder.empty_shard:
            number = recorder.empty_shard
            count = "the one instance is" if number == 1 else f"all {number} instances are"
            reporter.write_line(f"crab: shard {self._options.part} is empty: {count} in other shards")
        if recorder.trials:
            self._print_trials(reporter, summary)
        elif not recorder.empty_shard:
            return
        for sentence in recorder.given_up:
            reporter.write_line(f"crab: {one_line(sentence, 1000)}", red=True)
        for problem in recorder.problems:
            reporter.write_line(problem, red=True)
        self._print_end(reporter, summary, exitstatus)

    def _print_end(self, reporter: pytest.TerminalReporter, summary: Summary, exitstatus: int) -> None:
        """Print where the report is, with the gate's decision or why the exit status is 1 without one."""
        page = self._keeper.report / "index.html"
        place = self._shown_report(page) if page.exists() else "none"
        shown = bool(self._recorder.trials) and reporter.verbosity >= -1
        if summary.gate is not None and summary.gate.sentence:
            reporter.write_line(f"{gate_line(summary.gate)}{f' Report: {place}' if shown else ''}", bold=True)
        elif shown:
            missed = exitstatus == 1 and self._sections.own(reporter, MISSED)
            why = "; exit status 1 for what was missed, no gate asked for" if missed else ""
            reporter.write_line(f"report: {place} (tables: -v){why}")

    def _shown_report(self, report: Path) -> Path:
        """Return the report's place as it is seen from where pytest was started."""
        here = self._config.invocation_params.dir
        return report.relative_to(here) if report.is_relative_to(here) else report

    def _print_trials(self, reporter: pytest.TerminalReporter, summary: Summary) -> None:
        if reporter.verbosity > 0:
            reporter.write_sep("-", "trials")
            for trial in self._recorder.in_order():
                if trial.error not in self._recorder.given_up:  # these have one line together
                    reporter.write_line(f"{trial.id}  {instance_line(trial)}")
        if reporter.verbosity >= -1:
            self._print_tables(reporter, summary)

    def _print_tables(self, reporter: pytest.TerminalReporter, summary: Summary) -> None:
        width = reporter._tw.fullwidth  # noqa: SLF001 - the only way to the width
        reporter.write_sep("=", "results")
        hooked = self._config.hook.pytest_crab_summary_lines(summary=summary, config=self._config)
        for text in [text for lines in hooked for text in lines or ()]:
            reporter.write_line(text)
        for warning in () if summary.gate is None else summary.gate.warnings:
            reporter.write_line(f"not as in the baseline: {warning}", yellow=True)
        if summary.gate is not None and summary.gate.account:
            reporter.write_line(textwrap.fill(summary.gate.account, width))
        report = self._shown_report(self._keeper.report)
        for line in summary_lines(summary, width, details=reporter.verbosity > 0, report=named_report(report)):
            markup = {line.style: True} if line.style else {}
            reporter.write_line(line.text, **markup)
        if self._keeper.note:
            reporter.write_line(self._keeper.note)

    @pytest.hookimpl(specname="pytest_terminal_summary", trylast=True)
    def pytest_hide_misses_in_short_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Keep trials out of pytest's short summary, which repeats the results, unless -r asks for other lines."""
        brief = self._config.option.reportchars == _DEFAULT_REPORT
        stats = terminalreporter.stats
        trials = [one for found in stats.values() for one in found if hasattr(one, "crab_item")] if brief else []
        self._sections.show(terminalreporter, trials)

    def _uninformative(self, reporter: pytest.TerminalReporter) -> list[Any]:
        """Return the reports of trials that the results tell enough of: many misses, and repeated errors."""
        misses = self._sections.own(reporter, MISSED)
        errors = [one for one in self._sections.own(reporter, "error") if not hasattr(one, "crab_fault")]
        first: dict[object, Any] = {}
        known = zip(errors, self._trials(errors), strict=True)
        repeated = [one for one, trial in known if first.setdefault(_cause(trial), one) is not one]
        return [*(misses if len(misses) > SHOWN_MISSES else ()), *repeated]

    def _trials(self, reports: Iterable[Any]) -> list[Trial]:
        return [trial for one in reports if (trial := self._recorder.find_trial(one.nodeid)) is not None]

    def _unit(self) -> str:
        """Return the word for one item: a pull request, or a trial where there are several of one."""
        trials = self._recorder.trials
        return "pull request" if len({one.instance for one in trials}) == len(trials) else "trial"


class RecordedAgreement:
    """Prints how far verdicts agree with the recorded ones of a set; registered where these are replayed."""

    def __init__(self, recorder: RunRecorder) -> None:
        self._recorder = recorder

    @pytest.hookimpl(tryfirst=True)
    def pytest_crab_summary_lines(self) -> Sequence[str]:
        """Return the lines on each set."""
        lines: list[str] = []
        for folder in self._recorder.recorded_sets():
            try:
                against = next((one.against for one in recorded_at(folder) if one.against is not None), None)
                found, said = ((), ()) if against is None else against(self._recorder.in_order())
            except BadInput as error:
                faults = map(one_line, split_lines(str(error)))
                lines += [f"recorded verdicts of {folder.name} cannot be read:", *faults]
                continue
            lines += [f"recorded verdicts of {folder.name}:", *said] if found else []
        return lines


def _cause(trial: Trial) -> object:
    """Return why a trial is an error: equal for trials whose errors read alike."""
    return cause_of(trial) or (trial.error, *sorted({why(one) for one in trial.having(Verdict.UNKNOWN)}))


def _result_text(trial: Trial) -> str:
    caught, unknown = len(trial.having(Verdict.CAUGHT)), len(trial.having(Verdict.UNKNOWN))
    if not trial.results:
        return "no oracle, and no review" if trial.review is None else f"no oracle, {trial.review.size} findings"
    return f"{caught}/{len(trial.results)} caught" + (f", {unknown} unknown" if unknown else "")
