"""The shared part of the runtimes without an engine: environments below a store's cache, and folders as workspaces."""

from __future__ import annotations

import dataclasses
import shutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from pytest_crab.ecosystems import interpreters
from pytest_crab.errors import Cancelled
from pytest_crab.model_access import ModelAccess
from pytest_crab.protocols import Command, Completed, Image, InstallResult, Limits, Runtime, Snapshot, Workspace
from pytest_crab.runtimes import (
    RuntimeSettings,
    cgroups,
    environment_use,
    handed_on,
    hidden_paths,
    reinstall,
    tree_diff,
    venvs,
)
from pytest_crab.runtimes.bubblewrap import ClientMounts, View
from pytest_crab.runtimes.environment_use import EnvironmentsInUse
from pytest_crab.runtimes.environments import environment_identity, image_key, variables_of
from pytest_crab.runtimes.run_lock import RunFolder, remove_folder, sweep_folders
from pytest_crab.runtimes.series import read_series
from pytest_crab.runtimes.slots import Slots, one_builder
from pytest_crab.types import Instance, RevisionCommit

#: Raised by one when what is kept in the cache, or how it is run, changes.
LAYOUT = 6


class HostRuntime(Runtime, ABC):
    """Implements protocols.Runtime with virtual environments below ``cache``; a subclass runs the commands.

    Both kinds are called "local" in records.
    """

    name = "local"
    #: Whether commands run without a sandbox.
    unconfined: ClassVar[bool]

    def __init__(
        self, settings: RuntimeSettings, *, cache: Path, slots: int | None = None, run: RunFolder | None = None
    ) -> None:
        self.settings = settings
        self.run = run or RunFolder()
        self._cache = cache.absolute()
        hidden_paths.hide(self._cache, "the cache of environments")
        self.slots = Slots(slots)
        self.holds = EnvironmentsInUse(self.run)
        self.stopped = threading.Event()

    @override
    def has_interpreter(self, version: str) -> bool:
        """Return whether this machine has such an interpreter."""
        return interpreters.find(version) is not None

    @override
    def interpreter_advice(self, version: str) -> str:
        return f"there is no CPython {version} on PATH or in pyenv's folder: install it, or use the docker runtime"

    @override
    def identity(self, instance: Instance, source: Mapping[str, Any]) -> Mapping[str, Any]:
        """Raises ImageError where this machine cannot give what the environment asks for."""
        chosen = venvs.choose(instance)
        return {
            "runtime": self.name,
            "layout": LAYOUT,
            "confined": not self.unconfined,
            "interpreter": chosen.identity(instance.required_environment),
            **environment_identity(instance.required_environment, source, self.settings.oracle_limits),
        }

    @override
    def prepare(self, instance: Instance, snapshot: Snapshot, source: Mapping[str, Any]) -> Image:
        """The paths are those in a sandbox."""
        self._check()
        hidden_paths.hide_set(instance)
        key = image_key(self.identity(instance, source))
        folder = self._cache / "built" / key[:32]
        self.holds.take(instance.id, key)
        packages = venvs.venv_name(instance, venvs.choose(instance))
        if packages is not None:
            self.holds.take(instance.id, packages)
        built = False
        if not venvs.is_whole(folder):
            with one_builder(f"tree{key}", self._check, self._cache):
                if not venvs.is_whole(folder):
                    remove_folder(folder)
                    self._build(folder, instance, snapshot)
                    built = True
        venvs.note_instance(folder, instance.id)
        layout = venvs.read(folder)
        tools = {} if layout.tool is None else {layout.tool.name: dataclasses.asdict(layout.tool)}
        facts = {
            "runtime": self.name,
            "version": layout.version,
            "built": built,
            "env": variables_of(instance.required_environment, tools),
            "tools": tools,
            "commands": venvs.command_env(layout),
            "bytecode": venvs.BYTECODE_PLACE if (folder / venvs.BYTECODE).is_dir() else None,
        }
        return Image(
            key=key,
            reference=str(folder),
            tree=venvs.TREE,
            workdir=instance.required_environment.workdir,
            interpreter=layout.interpreter,
            site=layout.site,
            contained=not self.unconfined,
            compiled=layout.compiled,
            facts=facts,
        )

    @override
    def discard(
        self, instance: Instance, source: Mapping[str, Any], keep: Sequence[tuple[Instance, Mapping[str, Any]]]
    ) -> None:
        from pytest_crab.runtimes.inventory import LOCAL_FOLDERS, LocalFolders, discard  # imports the engine's client

        keys = self._keys(instance, source).difference(*(self._keys(*each) for each in keep))
        self.holds.release(instance.id, keys)
        names = {f"{place}/{key}": key for place in LOCAL_FOLDERS for key in keys}
        there = {name: key for name, key in names.items() if (self._cache / name).is_dir()}
        discard(LocalFolders(self._cache, leave=lambda folder: self._leave(folder, instance)), instance.id, there)

    def _leave(self, folder: Path, instance: Instance) -> None:
        """Keep what the next environment can use of one that is about to be removed."""
        if self.settings.hands_on_caches:
            handed_on.leave(self._cache, folder, instance)

    def _keys(self, instance: Instance, source: Mapping[str, Any]) -> set[str]:
        """Return the keys of an instance's environment: that of its tree and that of its packages."""
        packages = venvs.venv_name(instance, venvs.choose(instance))
        keys = {image_key(self.identity(instance, source)), *([packages] if packages is not None else [])}
        return {key[: environment_use.LENGTH] for key in keys}

    @abstractmethod
    @override
    def execute(
        self, image: Image, commands: Sequence[Command], *, limits: Limits, seconds: float
    ) -> tuple[Completed, ...]:
        pass

    @override
    def reinstall(self, image: Image, instance: Instance, snapshot: Snapshot, tree: str) -> InstallResult:
        return reinstall.reinstall(
            image,
            instance,
            snapshot.changes(tree),
            snapshot.tracked(),
            venvs.DISTRIBUTIONS,
            lambda asked: self._install(image, instance, asked),
        )

    @contextmanager
    @override
    def workspace(
        self,
        image: Image,
        snapshot: Snapshot,
        *,
        limits: Limits,
        readable: Sequence[Path] = (),
        models: ModelAccess | None = None,
    ) -> Iterator[HostWorkspace]:
        """The tree lies on the host's disk."""
        self._check()
        with ExitStack() as stack:
            scratch = stack.enter_context(self.run.scratch())
            shutil.copytree(Path(image.reference) / "tree", scratch / "tree", symlinks=True)
            workspace = self._workspace(image, snapshot, scratch / "tree", limits, readable)
            if models is not None:
                (scratch / "home").mkdir(mode=0o700)
                workspace.client = ClientMounts(models=models, home=scratch / "home")
                workspace.home, workspace.models_url = self._client_paths(workspace.client, stack)
            yield workspace

    @override
    def stop(self) -> None:
        """This object serves no more afterwards."""
        self.stopped.set()

    @override
    def sweep(self) -> Sequence[str]:
        return [*cgroups.sweep(), *sweep_folders()]

    def close(self) -> None:
        """Remove the run's folder."""
        self.run.close()

    @abstractmethod
    def _workspace(
        self, image: Image, snapshot: Snapshot, folder: Path, limits: Limits, readable: Sequence[Path]
    ) -> HostWorkspace:
        """Return the workspace whose tree is ``folder``."""

    @abstractmethod
    def _client_paths(self, client: ClientMounts, stack: ExitStack) -> tuple[str, str]:
        """Return a client's home and the gateway's address as its commands see them, until ``stack`` is closed."""

    @abstractmethod
    def _run_build(self, view: View, command: Command, seconds: float) -> Completed:
        """Run one command of a build; only that takes a slot, and no wait for another builder does."""

    @abstractmethod
    def _install(self, image: Image, instance: Instance, asked: Command) -> Completed:
        """Run an install on copies of the tree and its packages. Raises EngineError where there can be none."""

    def _check(self) -> None:
        """Raise Cancelled if the runtime was stopped."""
        if self.stopped.is_set():
            raise Cancelled("the run was interrupted")

    def _build(self, folder: Path, instance: Instance, snapshot: Snapshot) -> None:
        """Build an environment beside ``folder`` and rename it once it is whole."""
        chosen = venvs.choose(instance)
        if chosen.running and self.unconfined:  # any run could write into a copy
            layout = venvs.running_layout(chosen.interpreter)
        elif chosen.running:
            layout = venvs.compiled_layout(self._cache, instance, chosen, self._run_build, self._check)
        else:
            layout = venvs.venv_layout(self._cache, instance, chosen, self._run_build, self._check)
        new = folder.with_name(f"{folder.name}{venvs.NEW}")
        remove_folder(new)  # of a killed build
        new.mkdir(parents=True)
        try:
            if self.settings.hands_on_caches:
                handed_on.take(self._cache, new, instance)
            built = venvs.build_tree(
                new,
                instance,
                snapshot,
                layout,
                chosen.tool,
                self._run_build,
                self._check,
                confined=not self.unconfined,
                hands_on=self.settings.hands_on_caches,
            )
            if chosen.tool is None and not self.unconfined:  # without a sandbox any run could write there
                venvs.compile_tree(new, layout, self._run_build)
            venvs.write(built, new)
            new.rename(folder)
        finally:
            remove_folder(new)


class HostWorkspace(Workspace, ABC):
    """Implements protocols.Workspace on a folder of this machine; a subclass runs the commands."""

    def __init__(self, runtime: HostRuntime, image: Image, snapshot: Snapshot, folder: Path, limits: Limits) -> None:
        self.folder: Path | None = folder
        self.root = str(folder) if runtime.unconfined else image.workdir
        self.models_url: str | None = None
        self.home: str | None = None
        self.client: ClientMounts | None = None
        self._tree = folder
        self._run = runtime.run
        self._image = image
        self._snapshot = snapshot
        self._limits = limits
        self._env = venvs.workspace_env(Path(image.reference))

    @abstractmethod
    @override
    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float
    ) -> Completed:
        pass

    @abstractmethod
    def attach(self, argv: Sequence[str], env: Mapping[str, str]) -> int:
        """Run a command on this process's own terminal and return its exit code. Raises EngineError."""

    @property
    def _asking(self) -> Path | None:
        """The file that is there while a client in here waits for a model."""
        return None if self.client is None else self.client.models.asking

    @override
    def diff(self, since: str = "") -> str:
        """The files that the install, builds and test runs left in the tree are no part of it."""
        left: list[str] = []
        without = tree_diff.leftovers(self._snapshot)
        changes = tree_diff.between(Path(self._image.reference) / "tree", self._tree, left, without)
        with self._run.scratch() as scratch:
            return tree_diff.diff_of(self._snapshot, changes, left, scratch, since)

    @override
    def series(self, diff: str) -> tuple[RevisionCommit, ...]:
        return read_series(self._snapshot, diff, self._image.interpreter, self.root, self.run)
