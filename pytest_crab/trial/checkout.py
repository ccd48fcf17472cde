"""The ways to the code that a reviewer or an agent is given: a confined clone, or a workspace in the environment."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.clients.services import StepServices
from pytest_crab.errors import AgentError
from pytest_crab.errors import ReviewerError
from pytest_crab.instances.loading import FILE as INSTANCE_FILE
from pytest_crab.lazy import lazy
from pytest_crab.protocols import CLIENT_LIMITS
from pytest_crab.protocols import Command
from pytest_crab.protocols import Completed
from pytest_crab.protocols import Image
from pytest_crab.protocols import ModelAccess
from pytest_crab.protocols import Snapshot
from pytest_crab.protocols import Workspace
from pytest_crab.runtimes import hiding
from pytest_crab.runtimes import relaying
from pytest_crab.runtimes.bubblewrap import ClientPlace
from pytest_crab.runtimes.bubblewrap import confined
from pytest_crab.runtimes.filling import Filling
from pytest_crab.runtimes.trees import put
from pytest_crab.runtimes.unconfined import run_plain
from pytest_crab.trial.world import World
from pytest_crab.types import Instance

#: How far below what a contestant may read instances are looked for that this run has not loaded.
_DEPTH, _FOLDERS = 3, 500


class TrialCheckout:
    """A protocols.Checkout; a new one for every step, so that nothing passes from reviewer to agent but findings.

    ``failure`` is raised for a path that would show the contestant what it must not see.
    """

    def __init__(
        self,
        instance: Instance,
        snapshot: Snapshot,
        world: World,
        image: Callable[[], Image],
        failure: type[ReviewerError | AgentError],
        services: StepServices,
    ) -> None:
        hiding.hide_set(instance)
        self._snapshot = snapshot
        self._world = world
        self._image = image
        self._failure = failure
        self.services = services

    @contextlib.contextmanager
    def clone(
        self,
        *,
        readable: Sequence[Path] = (),
        writable: Sequence[Path] = (),
        network: bool = False,
        models: ModelAccess | None = None,
    ) -> Iterator[Workspace]:
        """See protocols.Checkout."""
        for path in (*readable, *writable):
            self._refuse(path)
        with contextlib.ExitStack() as stack:
            scratch = stack.enter_context(self._world.run.scratch())
            folder = scratch / "checkout"
            self._snapshot.clone(folder)
            workspace = CloneWorkspace(
                world=self._world,
                snapshot=self._snapshot,
                folder=folder,
                readable=tuple(readable),
                writable=tuple(writable),
                network=network,
            )
            if models is not None:
                (scratch / "home").mkdir(mode=0o700)
                workspace.client = ClientPlace(models=models, home=scratch / "home")
                unconfined = self._world.no_sandbox is not None
                workspace.home = str(scratch / "home") if unconfined else relaying.HOME
                workspace.models_url = stack.enter_context(relaying.relay_here(models)) if unconfined else relaying.URL
            yield workspace

    def _refuse(self, path: Path) -> None:
        """Raise the family's error if a path is, holds or lies in a place that is hidden from contestants."""
        real = path.resolve()
        hidden = self._world.hidden()
        others = [folder for folder in (*real.parents, *_folders_in(real)) if (folder / INSTANCE_FILE).is_file()]
        hidden.update((folder, "an instance") for folder in others)
        for place, what in hidden.items():
            if place.is_relative_to(real) or real.is_relative_to(place):
                raise self._failure(
                    f"{path} cannot be shown to it, since {what} lies in {place}: name only what it needs, elsewhere"
                )

    def workspace(
        self, *, readable: Sequence[Path] = (), models: ModelAccess | None = None
    ) -> AbstractContextManager[Workspace]:
        """See protocols.Checkout."""
        for path in readable:
            self._refuse(path)
        return self._world.runtime.workspace(
            self._image(), self._snapshot, limits=CLIENT_LIMITS, readable=readable, models=models
        )


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


@dataclass(kw_only=True)
class CloneWorkspace:
    """A protocols.Workspace on the host; its commands see the clone, the paths named, and the system's programs."""

    world: World
    snapshot: Snapshot
    folder: Path | None
    readable: Sequence[Path]
    writable: Sequence[Path]
    network: bool
    client: ClientPlace | None = None
    home: str | None = None
    models_url: str | None = None

    @property
    def root(self) -> str:
        """See protocols.Workspace; the same path inside and outside."""
        return str(self._folder)

    @property
    def _folder(self) -> Path:
        assert self.folder is not None
        return self.folder

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float
    ) -> Completed:
        """See protocols.Workspace."""
        if self.world.no_sandbox is not None:
            return self._run_plain(argv, stdin, env or {}, seconds)
        return confined(
            argv,
            self._folder,
            readable=self.readable,
            writable=self.writable,
            network=self.network,
            env=env,
            stdin=stdin,
            seconds=seconds,
            cancel=self.world.cancelled,
            run=self.world.run,
            client=self.client,
            filling=self._filling,
        )

    @lazy
    def _filling(self) -> Filling:
        folders = [self._folder] if self.client is None else [self._folder, self.client.home]
        return Filling(folders, CLIENT_LIMITS.disk)

    def _run_plain(self, argv: Sequence[str], stdin: bytes, env: Mapping[str, str], seconds: float) -> Completed:
        """Run a command as it is: the stage has seen that this is allowed."""
        with self.world.run.scratch() as home:
            variables = {"HOME": str(home), "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", **env}
            return run_plain(
                [Command(argv=argv, stdin=stdin)],
                cwd=self._folder,
                env=variables,
                limits=CLIENT_LIMITS,
                seconds=seconds,
                cancelled=self.world.cancelled,
            )[0]

    def diff(self) -> str:
        """See protocols.Workspace."""
        return self.snapshot.diff(self.snapshot.record(self._folder))

    def apply(self, diff: str) -> None:
        """See protocols.Workspace."""
        before = self.snapshot.record(self._folder)
        put(self._folder, self.snapshot.changes(self.snapshot.apply(diff, onto=before)))
