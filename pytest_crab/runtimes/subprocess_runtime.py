"""The local runtime without a sandbox: plain subprocesses, which nothing contains."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from typing_extensions import override

from pytest_crab.errors import EngineError
from pytest_crab.protocols import (
    INSTALL_LIMITS,
    Clone,
    CloneRequest,
    Command,
    Completed,
    Image,
    Limits,
    Snapshot,
)
from pytest_crab.runtimes import RuntimeSettings, build_failures, gateway_relay
from pytest_crab.runtimes.bubblewrap import ClientMounts, View
from pytest_crab.runtimes.environments import image_env
from pytest_crab.runtimes.host_clone import plain_clone
from pytest_crab.runtimes.host_runtime import HostRuntime, HostWorkspace
from pytest_crab.runtimes.plain_processes import run_plain
from pytest_crab.runtimes.run_lock import RunFolder, remove_folder
from pytest_crab.types import Instance


class SubprocessRuntime(HostRuntime):
    """Runs commands as they are in scratch folders, which protects nothing.

    It is for authored instances with built-in crews, or for when the user allowed it (RunContext.require_sandbox).
    """

    unconfined = True

    def __init__(
        self, settings: RuntimeSettings, *, cache: Path, slots: int | None = None, run: RunFolder | None = None
    ) -> None:
        super().__init__(settings, cache=cache, slots=slots, run=run)
        self._guard = threading.Lock()
        self._busy: dict[str, threading.Lock] = {}

    @override
    def prepare(self, instance: Instance, snapshot: Snapshot, source: Mapping[str, Any]) -> Image:
        """The paths are those of scratch folders on this machine."""
        image = super().prepare(instance, snapshot, source)
        place = self.run.folder / f"plain-{uuid.uuid4().hex[:8]}"
        return dataclasses.replace(
            image,
            tree=str(Path(image.reference) / "tree"),
            workdir=str(place / "tree"),
            scratch=str(place / "tmp"),
            facts={**image.facts, "socket_folder": str(place / "meet"), "limits": "none"},
        )

    @override
    def execute(
        self, image: Image, commands: Sequence[Command], *, limits: Limits, seconds: float
    ) -> tuple[Completed, ...]:
        """All that the commands started is ended with the last of them."""
        if not commands:
            return ()
        with self.slots.take(self.stopped), self._fresh_folders(image):
            return self.run_in(Path(image.workdir), image, commands, limits, seconds)

    @override
    def clone(self, snapshot: Snapshot, request: CloneRequest) -> AbstractContextManager[Clone]:
        return plain_clone(self.run, snapshot, request, self.stopped)

    def run_in(
        self, folder: Path, image: Image, commands: Sequence[Command], limits: Limits, seconds: float
    ) -> tuple[Completed, ...]:
        """Run commands beside each other in ``folder``. Raises EngineError, Cancelled."""
        path = f"{Path(image.interpreter).parent}:{os.environ.get('PATH', os.defpath)}"
        env = {"HOME": image.scratch, "LANG": "C.UTF-8", **image_env(image, path)}
        return run_plain(commands, cwd=folder, env=env, limits=limits, seconds=seconds, cancelled=self.stopped)

    @contextmanager
    def _fresh_folders(self, image: Image) -> Iterator[None]:
        """Make the image's own folders; one execution at a time, since their names are fixed. Raises Cancelled."""
        with self._guard:
            busy = self._busy.setdefault(image.workdir, threading.Lock())
        while not busy.acquire(timeout=0.1):
            self._check()
        try:
            for folder in (image.workdir, image.scratch, image.facts["socket_folder"]):
                Path(folder).mkdir(parents=True)
            yield
        finally:
            remove_folder(Path(image.workdir).parent)
            busy.release()

    def _workspace(
        self,
        image: Image,
        snapshot: Snapshot,
        folder: Path,
        limits: Limits,
        readable: Sequence[Path],  # noqa: ARG002 - everything is readable
    ) -> HostWorkspace:
        return SubprocessWorkspace(self, image, snapshot, folder, limits)

    def _client_paths(self, client: ClientMounts, stack: ExitStack) -> tuple[str, str]:
        return str(client.home), stack.enter_context(gateway_relay.relay_here(client.models))

    def _run_build(self, view: View, command: Command, seconds: float) -> Completed:
        with self.slots.take(self.stopped), self.run.scratch() as scratch:
            env = {"HOME": str(scratch), "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
            (done,) = run_plain(
                [command], cwd=Path(view.cwd), env=env, limits=INSTALL_LIMITS, seconds=seconds, cancelled=self.stopped
            )
            if done.exit_code != 0:
                build_failures.require_room([scratch, Path(view.cwd)])
            return done

    def _install(self, image: Image, instance: Instance, asked: Command) -> Completed:  # noqa: ARG002
        raise EngineError(f"{instance.id}: a revised install needs a sandbox")


class SubprocessWorkspace(HostWorkspace):
    """A workspace whose commands run as they are, each with a home of its own."""

    def __init__(
        self, runtime: SubprocessRuntime, image: Image, snapshot: Snapshot, folder: Path, limits: Limits
    ) -> None:
        super().__init__(runtime, image, snapshot, folder, limits)
        self._runtime = runtime

    @override
    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float
    ) -> Completed:
        runtime = self._runtime
        with runtime.slots.take(runtime.stopped, self._asking), runtime.run.scratch() as home:
            command = Command(argv=argv, stdin=stdin, env={"HOME": str(home), **self._env, **(env or {})})
            return runtime.run_in(self._tree, self._image, [command], self._limits, seconds)[0]

    @override
    def attach(self, argv: Sequence[str], env: Mapping[str, str]) -> int:
        with self._runtime.run.scratch() as home:
            own = image_env(self._image, os.environ.get("PATH", os.defpath))
            variables = {**os.environ, **self._env, **own, **env, "HOME": str(home)}
            return subprocess.run(list(argv), cwd=self._tree, env=variables, check=False).returncode
