"""Keeps each run in a folder of its own in the store, and shows the newest whole one as the store's report."""

from __future__ import annotations

import os

import pytest

from pytest_crab.option_table import Options
from pytest_crab.plugin.recorder import RunRecorder
from pytest_crab.results.kept_runs import SHOWN, commit_of, new_run, show_run
from pytest_crab.results.loading import lacks_beside_shown


def place_run(options: Options, config: pytest.Config) -> Options:
    """Return the options with a new folder for the run's report, unless one was named for it."""
    if os.path.abspath(options.report) != os.path.abspath(options.store / SHOWN):  # noqa: PTH100 - a link stays one
        return options
    name = options.experiment or "+".join(options.reviewers)
    return Options(**{**vars(options), "report": new_run(options.store, commit_of(config.rootpath), name)})


class RunKeeper:
    """Decides at the end of a run whether the store shows it; registered on the controller.

    ``report`` is where people find the run, and ``note`` the sentence on why the store does not show it.
    """

    def __init__(self, options: Options, recorder: RunRecorder) -> None:
        self.report = options.report
        self.note = ""
        self._store = options.store
        self._recorder = recorder

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Show the run, after all of its files were written."""
        run, shown = self.report, self._store / SHOWN
        if not run.is_relative_to(self._store) or not run.is_dir() or not any(run.iterdir()):
            return
        recorder, ended = self._recorder, session.exitstatus != pytest.ExitCode.INTERRUPTED
        instances = {trial.instance for trial in recorder.trials}
        is_complete = ended and recorder.is_complete and not recorder.problems
        lacks = lacks_beside_shown(self._store, instances, recorder.sets(), is_complete=is_complete)
        if lacks:
            self.note = f"{shown} still shows the run before: this one {lacks}"
            return
        try:
            show_run(self._store, run)
        except OSError as error:
            self.note = f"{shown} cannot lead to this run: {error.strerror}"
        else:
            self.report = shown
