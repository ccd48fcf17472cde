"""The local runtime: sandboxes by bubblewrap, or plain subprocesses where that was allowed."""

from __future__ import annotations

import dataclasses
import os
import shutil
import socket
import subprocess
import threading
import uuid
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import ExitStack
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_crab.errors import Cancelled
from pytest_crab.errors import EngineError
from pytest_crab.lazy import lazy
from pytest_crab.protocols import CLIENT_LIMITS
from pytest_crab.protocols import INSTALL_LIMITS
from pytest_crab.protocols import Command
from pytest_crab.protocols import Completed
from pytest_crab.protocols import Image
from pytest_crab.protocols import Limits
from pytest_crab.protocols import ModelAccess
from pytest_crab.protocols import Snapshot
from pytest_crab.runtimes import bubblewrap
from pytest_crab.runtimes import cgroups
from pytest_crab.runtimes import hiding
from pytest_crab.runtimes import reinstalling
from pytest_crab.runtimes import relaying
from pytest_crab.runtimes import trees
from pytest_crab.runtimes import venvs
from pytest_crab.runtimes.bubblewrap import ClientPlace
from pytest_crab.runtimes.bubblewrap import View
from pytest_crab.runtimes.environments import MEETING
from pytest_crab.runtimes.environments import TMP
from pytest_crab.runtimes.environments import described
from pytest_crab.runtimes.environments import image_key
from pytest_crab.runtimes.filling import Filling
from pytest_crab.runtimes.holding import Holds
from pytest_crab.runtimes.runs import Run
from pytest_crab.runtimes.runs import remove_folder
from pytest_crab.runtimes.runs import sweep_folders
from pytest_crab.runtimes.slots import Slots
from pytest_crab.runtimes.slots import one_builder
from pytest_crab.runtimes.unconfined import run_plain
from pytest_crab.types import Instance

#: Where a build's own temporary files lie inside.
_BUILD_TMP = "/opt/crab/tmp"

#: Raised by one when what is kept in the cache, or how it is run, changes.
LAYOUT = 1


class LocalRuntime:
    """Implements protocols.Runtime with bubblewrap and virtual environments below ``cache``.

    ``unconfined`` runs plain subprocesses instead, which protects nothing: for authored instances with built-in crews,
    or when the user said so. Limits on memory and processes need control groups that this user may make; Image.facts
    says which hold.
    """

    name = "local"

    def __init__(
        self, *, cache: Path, slots: int | None = None, unconfined: bool = False, run: Run | None = None
    ) -> None:
        self.run = run or Run()
        self.unconfined = unconfined
        self._cache = cache.absolute()
        hiding.hide(self._cache, "the cache of environments")
        self.slots = Slots(slots)
        self.holds = Holds(self.run)
        self.stopped = threading.Event()
        self._guard = threading.Lock()
        self._busy: dict[str, threading.Lock] = {}

    def identity(self, instance: Instance, source: Mapping[str, Any]) -> Mapping[str, Any]:
        """See protocols.Runtime. Raises ImageError where this machine cannot give what the environment asks for."""
        chosen = venvs.choose(instance)
        return {
            "runtime": self.name,
            "layout": LAYOUT,
            "confined": not self.unconfined,
            "interpreter": chosen.identity(instance.required_environment),
            **described(instance.required_environment, source),
        }

    def prepare(self, instance: Instance, snapshot: Snapshot, source: Mapping[str, Any]) -> Image:
        """See protocols.Runtime."""
        self._check()
        hiding.hide_set(instance)
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
        place = self.run.folder / f"plain-{uuid.uuid4().hex[:8]}" if self.unconfined else None
        facts = {
            "runtime": self.name,
            "version": layout.version,
            "built": built,
            "env": dict(instance.required_environment.env),
            "meeting": str(place / "meet") if place else MEETING,
            **({"node": layout.node, "node_version": layout.node_version} if layout.node else {}),
            "limits": "none" if place else ("cgroup" if cgroups.available() else "rlimit"),
        }
        return Image(
            key=key,
            reference=str(folder),
            tree=str(folder / "tree") if place else venvs.TREE,
            workdir=str(place / "tree") if place else instance.required_environment.workdir,
            python=layout.python,
            site=layout.site,
            scratch=str(place / "tmp") if place else TMP,
            contained=not self.unconfined,
            facts=facts,
        )

    def execute(
        self, image: Image, commands: Sequence[Command], *, limits: Limits, seconds: float
    ) -> tuple[Completed, ...]:
        """See protocols.Runtime; the sandbox ends when its last command does."""
        if not commands:
            return ()
        with self.slots.take(self.stopped), ExitStack() as stack:
            if not image.contained:
                stack.enter_context(self._plain_place(image))
                return self.run_plain(image, commands, limits, seconds)
            views = [self.view(image, empty=(TMP, image.workdir), writable={})] * len(commands)
            if len(commands) > 1:
                meeting = stack.enter_context(self.run.scratch())
                listener = stack.enter_context(_listening(meeting))
                met = dataclasses.replace(views[0], readable={**views[0].readable, MEETING: meeting})
                views = [dataclasses.replace(met, handed=(listener,) if n else ()) for n in range(len(commands))]
            dressed = [self.dressed(image, command) for command in commands]
            return bubblewrap.run_confined(
                self.run, views, dressed, limits=limits, seconds=seconds, cancelled=[self.stopped]
            )

    def reinstall(self, image: Image, instance: Instance, snapshot: Snapshot, tree: str) -> Mapping[str, str]:
        """See protocols.Runtime."""
        return reinstalling.reinstalled(
            image,
            instance,
            snapshot.changes(tree),
            venvs.DISTRIBUTIONS,
            lambda asked: self._install(image, instance, asked),
        )

    @contextmanager
    def workspace(
        self,
        image: Image,
        snapshot: Snapshot,
        *,
        limits: Limits,
        readable: Sequence[Path] = (),
        models: ModelAccess | None = None,
    ) -> Iterator[LocalWorkspace]:
        """See protocols.Runtime; the tree lies on the host's disk, and how much it grows is looked at (filling)."""
        self._check()
        with ExitStack() as stack:
            scratch = stack.enter_context(self.run.scratch())
            shutil.copytree(Path(image.reference) / "tree", scratch / "tree", symlinks=True)
            workspace = LocalWorkspace(self, image, snapshot, scratch / "tree", limits)
            workspace.readable = {str(path): path for path in readable}
            if models is not None:
                (scratch / "home").mkdir(mode=0o700)
                workspace.client = ClientPlace(models=models, home=scratch / "home")
                workspace.home = relaying.HOME if image.contained else str(scratch / "home")
                workspace.models_url = (
                    relaying.URL if image.contained else stack.enter_context(relaying.relay_here(models))
                )
            yield workspace

    def stop(self) -> None:
        """See protocols.Runtime; this object serves no more afterwards."""
        self.stopped.set()

    def sweep(self) -> Sequence[str]:
        """See protocols.Runtime."""
        return [*cgroups.sweep(), *sweep_folders()]

    def close(self) -> None:
        """Remove the run's folder."""
        self.run.close()

    def _check(self) -> None:
        if self.stopped.is_set():
            raise Cancelled("the run was interrupted")

    def _build(self, folder: Path, instance: Instance, snapshot: Snapshot) -> None:
        chosen = venvs.choose(instance)
        if chosen.running:
            layout = venvs.running_layout(chosen.interpreter, chosen.node)
        else:
            layout = venvs.venv_layout(self._cache, instance, chosen, self._builder, self._check)
        new = folder.with_name(f"{folder.name}{venvs.NEW}")
        remove_folder(new)  # of a killed build
        new.mkdir(parents=True)
        try:
            layout = venvs.build_tree(new, instance, snapshot, layout, self._builder, confined=not self.unconfined)
            venvs.write(layout, new)
            new.rename(folder)
        finally:
            remove_folder(new)

    def _builder(self, view: View, command: Command, seconds: float) -> Completed:
        """Run one command of a build; only that takes a slot, and no wait for another builder does.

        What it writes meanwhile lies on the disk: in memory, packages of some gigabytes would count as its own.
        """
        with self.slots.take(self.stopped), self.run.scratch() as scratch:
            if not self.unconfined:
                view = dataclasses.replace(view, writable={**view.writable, _BUILD_TMP: scratch})
                command = dataclasses.replace(command, env={**command.env, "TMPDIR": _BUILD_TMP})
                return bubblewrap.run_confined(
                    self.run,
                    [view],
                    [command],
                    limits=INSTALL_LIMITS,
                    seconds=seconds,
                    cancelled=[self.stopped],
                    filling=Filling(list(view.writable.values()), INSTALL_LIMITS.disk),
                )[0]
            env = {"HOME": str(scratch), "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
            return run_plain(
                [command], cwd=Path(view.cwd), env=env, limits=INSTALL_LIMITS, seconds=seconds, cancelled=self.stopped
            )[0]

    def view(
        self,
        image: Image,
        *,
        empty: Sequence[str],
        writable: Mapping[str, Path],
        replaced: Mapping[str, Path] | None = None,
    ) -> View:
        """What a sandbox of this image sees; ``replaced`` are places that are writable copies instead."""
        layout = venvs.read(Path(image.reference))
        built = Path(image.reference)
        readable = {inside: Path(host) for inside, host in layout.binds.items()}
        readable |= {venvs.TREE: built / "tree", venvs.DISTRIBUTIONS: built / "distributions.txt"}
        for place in replaced or {}:
            readable.pop(place, None)
        return View(
            readable=readable,
            writable={**writable, **(replaced or {})},
            empty=empty,
            masked=layout.masked,
            needed=layout.site,
            cwd=image.workdir,
        )

    def dressed(self, image: Image, command: Command) -> Command:
        """A command with the environment variables that the image gives it."""
        path = f"{Path(image.python).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        path = f"{Path(image.facts['node']).parent}:{path}" if "node" in image.facts else path
        env = {"PATH": path, **image.facts["env"], **command.env}
        return dataclasses.replace(command, env=env)

    def _install(self, image: Image, instance: Instance, asked: Command) -> Completed:
        layout = venvs.read(Path(image.reference))
        if layout.venv is None or not image.contained:
            raise EngineError(f"{instance.id}: a revised install needs a sandbox and a virtual environment of its own")
        command = self.dressed(image, asked)
        with self.slots.take(self.stopped), self.run.scratch() as scratch:
            shutil.copytree(layout.binds[layout.venv], scratch / "venv", symlinks=True)
            shutil.copytree(Path(image.reference) / "tree", scratch / "tree", symlinks=True)
            replaced = {layout.venv: scratch / "venv", image.workdir: scratch / "tree"}
            view = self.view(image, empty=(TMP,), writable={}, replaced=replaced)
            return bubblewrap.run_confined(
                self.run,
                [view],
                [command],
                limits=CLIENT_LIMITS,
                seconds=max(600, instance.required_environment.timeout),
                cancelled=[self.stopped],
                filling=Filling(list(replaced.values()), CLIENT_LIMITS.disk),
            )[0]

    @contextmanager
    def _plain_place(self, image: Image) -> Iterator[None]:
        """The image's own folders, fresh; one execution at a time, since their names are fixed."""
        with self._guard:
            busy = self._busy.setdefault(image.workdir, threading.Lock())
        while not busy.acquire(timeout=0.1):
            self._check()
        place = Path(image.workdir).parent
        try:
            for folder in (image.workdir, image.scratch, image.facts["meeting"]):
                Path(folder).mkdir(parents=True)
            yield
        finally:
            remove_folder(place)
            busy.release()

    def run_plain(
        self, image: Image, commands: Sequence[Command], limits: Limits, seconds: float, cwd: Path | None = None
    ) -> tuple[Completed, ...]:
        """Run commands without any sandbox, in the image's own folder if ``cwd`` names no other."""
        path = f"{Path(image.python).parent}:{os.environ.get('PATH', os.defpath)}"
        env = {"HOME": image.scratch, "PATH": path, "LANG": "C.UTF-8", **image.facts["env"]}
        return run_plain(
            commands, cwd=cwd or Path(image.workdir), env=env, limits=limits, seconds=seconds, cancelled=self.stopped
        )


class LocalWorkspace:
    """Implements protocols.Workspace on a folder of this machine."""

    def __init__(self, runtime: LocalRuntime, image: Image, snapshot: Snapshot, folder: Path, limits: Limits) -> None:
        self.folder: Path | None = folder
        self.root = image.workdir if image.contained else str(folder)
        self.models_url: str | None = None
        self.home: str | None = None
        self.readable: Mapping[str, Path] = {}
        self.client: ClientPlace | None = None
        self._tree = folder
        self._runtime = runtime
        self._image = image
        self._snapshot = snapshot
        self._limits = limits

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float
    ) -> Completed:
        """See protocols.Workspace."""
        runtime, image = self._runtime, self._image
        command = Command(argv=argv, stdin=stdin, env=env or {})
        with runtime.slots.take(runtime.stopped):
            if not image.contained:
                with runtime.run.scratch() as home:
                    plain = Command(argv=argv, stdin=stdin, env={"HOME": str(home), **command.env})
                    return runtime.run_plain(image, [plain], self._limits, seconds, self._tree)[0]
            view = runtime.view(image, empty=(TMP,), writable={image.workdir: self._tree})
            view = dataclasses.replace(view, readable={**view.readable, **self.readable})
            if self.client is not None:
                view = bubblewrap.with_client(view, self.client)
                command = dataclasses.replace(command, argv=relaying.wrapped(image.python, argv))
            return bubblewrap.run_confined(
                runtime.run,
                [view],
                [runtime.dressed(image, command)],
                limits=self._limits,
                seconds=seconds,
                cancelled=[runtime.stopped],
                filling=self._filling,
            )[0]

    @lazy
    def _filling(self) -> Filling:
        folders = [self._tree] if self.client is None else [self._tree, self.client.home]
        return Filling(folders, self._limits.disk)

    def attach(self, argv: Sequence[str], env: Mapping[str, str]) -> int:
        """Run a command on this process's own terminal; its exit code. Raises EngineError."""
        runtime, image = self._runtime, self._image
        if not image.contained:
            with runtime.run.scratch() as home:
                variables = {**os.environ, **image.facts["env"], **env, "HOME": str(home)}
                return subprocess.run(list(argv), cwd=self._tree, env=variables, check=False).returncode
        view = runtime.view(image, empty=(TMP,), writable={image.workdir: self._tree})
        command = runtime.dressed(image, Command(argv=argv, env=env))
        return bubblewrap.attach(runtime.run, view, command, limits=self._limits)

    def diff(self) -> str:
        """See protocols.Workspace; what the install left in the tree is not part of it."""
        left: list[str] = []
        changes = trees.between(Path(self._image.reference) / "tree", self._tree, left)
        with self._runtime.run.scratch() as scratch:
            return trees.diff_of(self._snapshot, changes, left, scratch)


def _listening(folder: Path) -> socket.socket:
    """A socket in ``folder`` that listens to every user.

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
