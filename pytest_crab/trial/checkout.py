"""The ways to the code that a reviewer or an agent is given: a confined clone, or a workspace in the environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from typing_extensions import override

from pytest_crab.clients.services import StepServices
from pytest_crab.ecosystems import ecosystem_of
from pytest_crab.ecosystems.installed_copies import installed_copies
from pytest_crab.errors import AgentError, ReviewerError
from pytest_crab.instances.loading import FILE as INSTANCE_FILE
from pytest_crab.model_access import ModelAccess
from pytest_crab.protocols import (
    Checkout,
    Clone,
    CloneRequest,
    Image,
    Snapshot,
    Workspace,
    refuse_unconfined,
)
from pytest_crab.runtimes import hidden_paths
from pytest_crab.trial.run_context import RunContext
from pytest_crab.types import Instance

#: How far below what a contestant may read instances are looked for that this run has not loaded.
_DEPTH, _FOLDERS = 3, 500


class TrialCheckout(Checkout):
    """A protocols.Checkout; a new one for every step, so that nothing passes from reviewer to agent but findings.

    ``failure`` is raised for a path that would show the contestant what it must not see. ``require_sandbox`` raises
    EngineError where commands may not run without a sandbox on this host.
    """

    def __init__(
        self,
        instance: Instance,
        snapshot: Snapshot,
        run_context: RunContext,
        image: Callable[[], Image],
        failure: type[ReviewerError | AgentError],
        services: StepServices,
        require_sandbox: Callable[[], None] = refuse_unconfined,
    ) -> None:
        hidden_paths.hide_set(instance)
        self._instance = instance
        self._snapshot = snapshot
        self._run_context = run_context
        self._image = image
        self._failure = failure
        self._require_sandbox = require_sandbox
        self.services = services

    @property
    @override
    def ecosystem(self) -> str | None:
        environment = self._instance.environment
        return None if environment is None else ecosystem_of(environment).name

    @override
    def base_files(self, path: str) -> Mapping[str, bytes]:
        return self._snapshot.files_at(self._snapshot.base, path)

    @override
    def clone(
        self,
        *,
        readable: Sequence[Path] = (),
        writable: Sequence[Path] = (),
        libraries: Sequence[Path] = (),
        network: bool = False,
        models: ModelAccess | None = None,
    ) -> AbstractContextManager[Clone]:
        for path in (*readable, *writable):
            self._refuse(path)
        for path in libraries:
            self._refuse(path, masked=True)
        request = CloneRequest(
            readable=(*readable, *libraries),
            writable=tuple(writable),
            masked=installed_copies(self._instance.project),
            limits=self._run_context.settings.client_limits,
            network=network,
            models=models,
            require_sandbox=self._require_sandbox,
        )
        return self._run_context.runtime.clone(self._snapshot, request)

    def _refuse(self, path: Path, *, masked: bool = False) -> None:
        """Raise the family's error if a path is, holds or lies in a place that is hidden from contestants.

        With ``masked`` it may hold what its sandbox will mask, which the instances that are found there then are too.
        """
        real = path.resolve()
        others = [folder for folder in (*real.parents, *_folders_in(real)) if (folder / INSTANCE_FILE).is_file()]
        if masked:
            for folder in others:
                hidden_paths.hide(folder, "an instance")
        hidden = {**self._run_context.hidden_places(), **dict.fromkeys(others, "an instance")}
        masks = hidden_paths.hidden_places() if masked else {}
        for place, what in hidden.items():
            held = place.is_relative_to(real) and place != real and place in masks
            if not held and (place.is_relative_to(real) or real.is_relative_to(place)):
                raise self._failure(
                    f"{path} cannot be shown to it, since {what} lies in {place}: name only what it needs, elsewhere"
                )

    @override
    def workspace(
        self, *, readable: Sequence[Path] = (), models: ModelAccess | None = None
    ) -> AbstractContextManager[Workspace]:
        if self._instance.environment is None:  # a piece of code alone has none, and then a clone is all there is
            return self.clone(readable=readable, models=models)
        for path in readable:
            self._refuse(path)
        runtime, limits = self._run_context.runtime, self._run_context.settings.client_limits
        return runtime.workspace(self._image(), self._snapshot, limits=limits, readable=readable, models=models)


def _folders_in(place: Path) -> Iterator[Path]:
    """A folder and those below it, up to a depth and a number that cost next to nothing to look at."""
    level = [place]
    for _ in range(_DEPTH):
        yield from level
        level = [Path(entry) for folder in level for entry in _subfolders(folder)][:_FOLDERS]


def _subfolders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
