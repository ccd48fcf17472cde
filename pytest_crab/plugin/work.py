"""The worker's side of a run: the world, made when the first trial starts, and the campaign of its trials."""

from __future__ import annotations

import functools
import os
import platform
import threading
import uuid
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from typing import Any

import pytest

from pytest_crab import runtimes
from pytest_crab.campaign.executor import Campaign
from pytest_crab.campaign.executor import Progress
from pytest_crab.campaign.plan import plan_lines
from pytest_crab.errors import CrabError
from pytest_crab.plugin.account import TrialKey
from pytest_crab.plugin.collect import TrialItem
from pytest_crab.plugin.crew import Crews
from pytest_crab.plugin.options import Options
from pytest_crab.protocols import Runtime
from pytest_crab.runtimes import Choice
from pytest_crab.runtimes import bubblewrap
from pytest_crab.runtimes.runs import Run
from pytest_crab.store import FileStore
from pytest_crab.store.files import write_aside
from pytest_crab.trial import World
from pytest_crab.trial import run_trial
from pytest_crab.types import Review
from pytest_crab.types import Trial

#: The file in the store that says that a run under this token has not come to its end.
OPEN_RUN = "open-run"


class Work:
    """Trials of this process. Nothing is started, connected or written before the first trial is submitted."""

    def __init__(self, options: Options, crews: Crews, config: pytest.Config) -> None:
        self.options = options
        self.crews = crews
        self.config = config
        self._shared: dict[str, Any] = getattr(config, "workerinput", {}).get("crab", {})
        self._campaign: Campaign | None = None
        self._guard = threading.Lock()
        self._closed = False

    # --- what is decided once for a run, and told to the workers of pytest-xdist ------------------------------------

    @functools.cached_property
    def choice(self) -> Choice:
        """The runtime and why. Raises pytest.UsageError if the one that was named cannot work."""
        if "runtime" in self._shared:
            return Choice(name=self._shared["runtime"], reason=self._shared["why_runtime"])
        try:
            return runtimes.choose(self.options.runtime, base=self.options.base_image)
        except CrabError as error:
            raise pytest.UsageError(str(error)) from error

    def runtime_in_words(self) -> str:
        """The runtime and why, for the header; nothing is decided where nothing will run."""
        if self.config.option.collectonly:
            return f"{self.options.runtime} (nothing will run)"
        return (
            self.choice.name
            if self.choice.name == self.options.runtime
            else f"{self.choice.name} ({self.choice.reason})"
        )

    @functools.cached_property
    def resume(self) -> str:
        """The token under which steps without an identity are kept: a killed run's own, else a new one."""
        if "resume" in self._shared:
            return str(self._shared["resume"])
        path = self.options.store / OPEN_RUN
        if path.is_file():
            return path.read_text().strip()
        token = uuid.uuid4().hex
        path.parent.mkdir(parents=True, exist_ok=True)
        write_aside(path, token.encode())
        return token

    def shared(self) -> dict[str, str]:
        """What a worker is told, as plain data."""
        return {"runtime": self.choice.name, "why_runtime": self.choice.reason, "resume": self.resume}

    # --- trials -----------------------------------------------------------------------------------------------------

    def submit(self, item: TrialItem) -> None:
        """Start the item's trial unless it was started, or the run is over."""
        with self._guard:
            if self._closed:
                return
            if self._campaign is None:
                self._campaign = self._start()
        world = self.world
        crew = self.crews.by_reviewer[item.reviewer]

        def work(notice: Callable[[str], None]) -> Trial:
            trial = run_trial(item.instance, crew, world, repeat=item.repeat, notice=notice)
            if trial.review is not None and any(step.step == "review" and not step.reused for step in trial.steps):
                self._review_done(item, trial.review)
            return trial

        self._campaign.submit(key_of(item), work)

    def result(self, item: TrialItem, tick: Callable[[Progress], None]) -> Trial | None:
        """Wait for the item's trial; None if it was never run to its end."""
        return None if self._campaign is None else self._campaign.result(key_of(item), tick)

    def plan(self, items: Sequence[TrialItem]) -> Iterator[str]:
        """Say what is stored and what would run, running nothing."""
        return plan_lines(
            self.world, [(item.instance, self.crews.by_reviewer[item.reviewer], item.repeat) for item in items]
        )

    def stop(self, *, complete: bool = False) -> None:
        """End what runs and leave nothing behind; ``complete`` says that every trial came to its end."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
            campaign = self._campaign
        if campaign is None:
            return
        try:
            campaign.stop()
        except KeyboardInterrupt:
            os._exit(int(pytest.ExitCode.INTERRUPTED))
        self.world.runtime.close()
        self.run.close()
        if complete and not self._shared:
            (self.options.store / OPEN_RUN).unlink(missing_ok=True)

    @functools.cached_property
    def run(self) -> Run:
        """This run's place on the machine; made when first asked for."""
        return Run()

    @functools.cached_property
    def world(self) -> World:
        """What all trials share."""
        options = self.options
        store = FileStore(options.store)
        return World(
            runtime=self._runtime(store),
            store=store,
            cache=store.cache,
            run=self.run,
            resume=self.resume,
            proof_runs=options.proof_runs,
            fresh=options.fresh,
            no_sandbox=bubblewrap.problem(),
            allow_unconfined=options.allow_unconfined,
            versions={"pytest_crab": metadata.version("pytest-crab"), "python": platform.python_version()},
        )

    def _runtime(self, store: FileStore) -> Runtime:
        name = self.choice.name
        spec = self.config.hook.pytest_crab_make_runtime(name=name, config=self.config)
        if spec is not None:
            return runtimes.from_spec(spec)
        return runtimes.make(
            name,
            rootdir=self.config.rootpath,
            cache=store.cache,
            base=self.options.base_image,
            unconfined=bubblewrap.problem() is not None,
        )

    def _start(self) -> Campaign:
        self.world.runtime.sweep()
        executor = ThreadPoolExecutor(max_workers=self.options.jobs, thread_name_prefix="crab")
        return Campaign(executor, self.world.stop)

    def _review_done(self, item: TrialItem, review: Review) -> None:
        self.config.hook.pytest_crab_review_done(
            instance=item.instance, reviewer=item.reviewer, review=review, config=self.config
        )


def key_of(item: TrialItem) -> TrialKey:
    """What tells this item's trial from the others of the run."""
    return TrialKey(item.instance.id, item.reviewer, item.repeat)
