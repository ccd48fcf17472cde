"""The local runtime with a sandbox by bubblewrap around each execution."""

from __future__ import annotations

import dataclasses
import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from typing_extensions import override

from pytest_crab.ecosystems.installed_copies import installed_copies
from pytest_crab.errors import EngineError
from pytest_crab.lazy import lazy
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
from pytest_crab.runtimes import RuntimeSettings, bubblewrap, build_failures, cgroups, gateway_relay, venvs
from pytest_crab.runtimes.bubblewrap import ClientMounts, View
from pytest_crab.runtimes.disk_quota import DiskQuota
from pytest_crab.runtimes.environments import SOCKET_FOLDER, TMP, image_env
from pytest_crab.runtimes.host_clone import confined_clone
from pytest_crab.runtimes.host_runtime import HostRuntime, HostWorkspace
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.types import Instance

#: Where a build's own temporary files lie inside.
_BUILD_TMP = "/opt/crab/tmp"


class BubblewrapRuntime(HostRuntime):
    """Runs each command in a sandbox by bubblewrap.

    Limits on memory and processes need control groups that this user may make; Image.facts says which hold.
    """

    unconfined = False

    def __init__(
        self, settings: RuntimeSettings, *, cache: Path, slots: int | None = None, run: RunFolder | None = None
    ) -> None:
        super().__init__(settings, cache=cache, slots=slots, run=run)
        self._masked: dict[str, tuple[str, ...]] = {}

    @override
    def prepare(self, instance: Instance, snapshot: Snapshot, source: Mapping[str, Any]) -> Image:
        image = super().prepare(instance, snapshot, source)
        self._masked[image.key] = tuple(map(str, installed_copies(instance.project)))
        limits = "cgroup" if cgroups.available() else "rlimit"
        return dataclasses.replace(image, facts={**image.facts, "socket_folder": SOCKET_FOLDER, "limits": limits})

    @override
    def execute(
        self, image: Image, commands: Sequence[Command], *, limits: Limits, seconds: float
    ) -> tuple[Completed, ...]:
        """The sandbox ends when its last command does."""
        if not commands:
            return ()
        with self.slots.take(self.stopped), ExitStack() as stack:
            views = [self.view(image, empty=(TMP, image.workdir), writable={})] * len(commands)
            if len(commands) > 1:
                sockets = stack.enter_context(self.run.scratch())
                listener = stack.enter_context(_listening_socket(sockets))
                met = dataclasses.replace(views[0], readable={**views[0].readable, SOCKET_FOLDER: sockets})
                views = [dataclasses.replace(met, handed=(listener,) if n else ()) for n in range(len(commands))]
            return bubblewrap.run_confined(
                self.run,
                views,
                [with_env(image, command) for command in commands],
                limits=limits,
                seconds=seconds,
                cancelled=[self.stopped],
            )

    @override
    def clone(self, snapshot: Snapshot, request: CloneRequest) -> AbstractContextManager[Clone]:
        return confined_clone(self.run, snapshot, request, self.stopped)

    def view(
        self,
        image: Image,
        *,
        empty: Sequence[str],
        writable: Mapping[str, Path],
        replaced: Mapping[str, Path] | None = None,
    ) -> View:
        """Return what a sandbox of this image sees; at the places of ``replaced`` it sees these writable copies."""
        layout = venvs.read(Path(image.reference))
        built = Path(image.reference)
        readable = {inside: Path(host) for inside, host in layout.binds.items()}
        readable |= {venvs.TREE: built / "tree", venvs.DISTRIBUTIONS: built / "distributions.txt"}
        if image.facts.get("bytecode") is not None:
            readable[venvs.BYTECODE_PLACE] = built / venvs.BYTECODE
        for place in replaced or {}:
            readable.pop(place, None)
        return View(
            readable=readable,
            writable={**writable, **(replaced or {})},
            empty=empty,
            masked=(*layout.masked, *self._masked.get(image.key, ())),
            needed=layout.site,
            cwd=image.workdir,
        )

    @override
    def _workspace(
        self, image: Image, snapshot: Snapshot, folder: Path, limits: Limits, readable: Sequence[Path]
    ) -> HostWorkspace:
        """The growth of the tree is looked at (quota)."""
        return BubblewrapWorkspace(self, image, snapshot, folder, limits, readable)

    def _client_paths(self, client: ClientMounts, stack: ExitStack) -> tuple[str, str]:  # noqa: ARG002 - fixed inside
        return gateway_relay.HOME, gateway_relay.URL

    @override
    def _run_build(self, view: View, command: Command, seconds: float) -> Completed:
        """Temporary files lie on the disk: in memory, packages of gigabytes would count as its own."""
        with self.slots.take(self.stopped), self.run.scratch() as scratch:
            view = dataclasses.replace(view, writable={**view.writable, _BUILD_TMP: scratch})
            command = dataclasses.replace(command, env={**command.env, "TMPDIR": _BUILD_TMP})
            (done,) = bubblewrap.run_confined(
                self.run,
                [view],
                [command],
                limits=INSTALL_LIMITS,
                seconds=seconds,
                cancelled=[self.stopped],
                quota=DiskQuota(list(view.writable.values()), INSTALL_LIMITS.disk),
            )
            if done.exit_code != 0:
                build_failures.require_room(view.writable.values())
            return done

    def _install(self, image: Image, instance: Instance, asked: Command) -> Completed:
        layout = venvs.read(Path(image.reference))
        if layout.venv is None:
            raise EngineError(f"{instance.id}: a revised install needs a virtual environment of its own")
        with self.slots.take(self.stopped), self.run.scratch() as scratch:
            shutil.copytree(layout.binds[layout.venv], scratch / "venv", symlinks=True)
            shutil.copytree(Path(image.reference) / "tree", scratch / "tree", symlinks=True)
            replaced = {layout.venv: scratch / "venv", image.workdir: scratch / "tree"}
            return bubblewrap.run_confined(
                self.run,
                [self.view(image, empty=(TMP,), writable={}, replaced=replaced)],
                [with_env(image, asked)],
                limits=self.settings.client_limits,
                seconds=instance.required_environment.timeout,
                cancelled=[self.stopped],
                quota=DiskQuota(list(replaced.values()), self.settings.client_limits.disk),
            )[0]


class BubblewrapWorkspace(HostWorkspace):
    """A workspace whose commands each run in a sandbox that sees the tree and the paths of ``readable``."""

    def __init__(
        self,
        runtime: BubblewrapRuntime,
        image: Image,
        snapshot: Snapshot,
        folder: Path,
        limits: Limits,
        readable: Sequence[Path],
    ) -> None:
        super().__init__(runtime, image, snapshot, folder, limits)
        self._runtime = runtime
        self._readable = {str(path): path for path in readable}

    @override
    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float
    ) -> Completed:
        runtime, image = self._runtime, self._image
        command = Command(argv=argv, stdin=stdin, env={**self._env, **(env or {})})
        with runtime.slots.take(runtime.stopped, self._asking):
            view = runtime.view(image, empty=(TMP,), writable={image.workdir: self._tree})
            view = dataclasses.replace(view, readable={**view.readable, **self._readable})
            if self.client is not None:
                view = bubblewrap.with_client(view, self.client)
                command = dataclasses.replace(command, argv=gateway_relay.with_relay(image.interpreter, argv))
            return bubblewrap.run_confined(
                runtime.run,
                [view],
                [with_env(image, command)],
                limits=self._limits,
                seconds=seconds,
                cancelled=[runtime.stopped],
                quota=self._quota,
            )[0]

    @lazy
    def _quota(self) -> DiskQuota:
        folders = [self._tree] if self.client is None else [self._tree, self.client.home]
        return DiskQuota(folders, self._limits.disk)

    @override
    def attach(self, argv: Sequence[str], env: Mapping[str, str]) -> int:
        runtime, image = self._runtime, self._image
        view = runtime.view(image, empty=(TMP,), writable={image.workdir: self._tree})
        command = Command(argv=argv, env={**self._env, **env})
        return bubblewrap.attach(runtime.run, view, with_env(image, command), limits=self._limits)


def with_env(image: Image, command: Command) -> Command:
    """Return the command with the environment variables that the image gives it."""
    path = f"{Path(image.interpreter).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    return dataclasses.replace(command, env={**image_env(image, path), **command.env})


def _listening_socket(folder: Path) -> socket.socket:
    """Return a socket in ``folder`` that listens to every user.

    The folder lies on this machine's disk, which no limit of a sandbox bounds: so no sandbox may write there, and the
    one that is to listen gets the socket open.
    """
    folder.chmod(0o755)
    listener = socket.socket(socket.AF_UNIX)
    place = os.open(folder, os.O_RDONLY)
    try:
        listener.bind(f"/proc/self/fd/{place}/crab.sock")  # a socket's address may not be long
    finally:
        os.close(place)
    (folder / "crab.sock").chmod(0o777)
    listener.listen(16)
    return listener
