"""The Docker runtime: an image per environment, a fresh hardened container per execution."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from typing_extensions import override

from pytest_crab import ecosystems
from pytest_crab.ecosystems import interpreters
from pytest_crab.errors import DiffRejected, EngineError
from pytest_crab.harness import channel
from pytest_crab.model_access import ModelAccess
from pytest_crab.protocols import (
    OWN_PLACES,
    Clone,
    CloneRequest,
    Command,
    Completed,
    Image,
    InstallResult,
    Limits,
    Runtime,
    Snapshot,
    Workspace,
)
from pytest_crab.runtimes import (
    RuntimeSettings,
    bubblewrap,
    build_failures,
    cgroups,
    environment_use,
    gateway_relay,
    reinstall,
    tree_diff,
)
from pytest_crab.runtimes.container_exec import end_all, run_added, run_beside, run_main, start_idler
from pytest_crab.runtimes.engine import USERS, Engine
from pytest_crab.runtimes.environments import (
    SOCKET_NAME,
    TMP,
    WORKSPACE_ENV,
    environment_identity,
    image_key,
    variables_of,
)
from pytest_crab.runtimes.host_clone import confined_clone, plain_clone
from pytest_crab.runtimes.images import Images, repository_of, tools_in
from pytest_crab.runtimes.inventory import EngineImages, discard
from pytest_crab.runtimes.run_lock import RunFolder, sweep_folders
from pytest_crab.runtimes.series import read_series
from pytest_crab.runtimes.slots import Slots
from pytest_crab.types import Instance, RevisionCommit

#: Raised by one when what the harness leaves in an image, or how it runs one, changes.
LAYOUT = 5
#: What a container idles with until its input ends, as a user whom the processes beside it cannot signal.
IDLE = Command(argv=("cat",), user="root")
_TREE = f"{OWN_PLACES['trees']}/tree"
_DISTRIBUTIONS = f"{OWN_PLACES['trees']}/distributions.txt"

#: How often a contestant's processes are ended, and how it ends that finds some of a user still living.
_TRIES, _LIVING = 5, 9
_LOOK = f"""\
import os, sys
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open("/proc/%s/status" % name) as file:
            facts = dict(line.split(":", 1) for line in file)
    except OSError:
        continue
    dead = facts["State"].split()[0] in "ZX" and int(facts["Threads"]) == 1
    if facts["Uid"].split()[0] == sys.argv[1].split(":")[0] and not dead:
        sys.exit({_LIVING})
"""


class DockerRuntime(Runtime):
    """Implements protocols.Runtime on a Docker engine.

    ``rootdir`` is where a user's own ``dockerfiles/`` lie; ``slots`` bounds what runs at once on this machine. Nothing
    is connected or started before it is needed.
    """

    name = "docker"

    def __init__(
        self,
        settings: RuntimeSettings,
        *,
        rootdir: Path,
        slots: int | None = None,
        run: RunFolder | None = None,
    ) -> None:
        self.settings = settings
        self.run = run or RunFolder()
        self.engine = Engine(self.run)
        self.slots = Slots(slots)
        self._images = Images(self.engine, self.slots, rootdir=rootdir, base=settings.base_image)
        self.holds = self._images.holds

    @override
    def has_interpreter(self, version: str) -> bool:
        """Return whether a base image is here or can be pulled."""
        return self._images.has_base(version)

    @override
    def interpreter_advice(self, version: str) -> str:
        return (
            f"there is no base image of CPython {version}: make it with pytest-crab doctor --build-base "
            f"{interpreters.base_option(version)}, or use the local runtime"
        )

    @override
    def identity(self, instance: Instance, source: Mapping[str, Any]) -> Mapping[str, Any]:
        """Asks the engine for the base image's id only. Raises ImageError, EngineError."""
        base, base_id = self._images.base(instance)
        return {
            "runtime": self.name,
            "layout": LAYOUT,
            "dockerfile": self._images.dockerfile(instance),
            "base": base,
            "base_id": base_id,
            **environment_identity(instance.required_environment, source, self.settings.oracle_limits),
        }

    @override
    def prepare(self, instance: Instance, snapshot: Snapshot, source: Mapping[str, Any]) -> Image:
        identity = self.identity(instance, source)
        key = image_key(identity)
        name, facts = self._images.prepare(instance, snapshot, key)
        tools = dict(tools_in(facts["tools"], instance.required_environment))
        return Image(
            key=key,
            reference=name,
            tree=_TREE,
            workdir=instance.required_environment.workdir,
            interpreter=facts[ecosystems.DEFAULT.name],
            site=tuple(facts["site"]),
            compiled=tuple(facts["compiled"]),
            facts={
                "runtime": self.name,
                "base": identity["base"],
                "version": facts["version"],
                "built": facts["built"],
                "tools": tools,
                "env": variables_of(instance.required_environment, tools),
                "socket_folder": SOCKET_NAME,
            },
        )

    @override
    def discard(
        self, instance: Instance, source: Mapping[str, Any], keep: Sequence[tuple[Instance, Mapping[str, Any]]]
    ) -> None:
        key = image_key(self.identity(instance, source))[: environment_use.LENGTH]
        if key in {image_key(self.identity(*each))[: environment_use.LENGTH] for each in keep}:
            return
        self.holds.release(instance.id, [key])
        with closing(EngineImages()) as images:
            discard(images, instance.id, {f"{repository_of(instance.id)}:{key}": key})

    @override
    def execute(
        self, image: Image, commands: Sequence[Command], *, limits: Limits, seconds: float
    ) -> tuple[Completed, ...]:
        """The sandbox ends when its last command does.

        A single command is the container's main process; several are added to one that idles as yet another user.
        """
        if not commands:
            return ()
        env = image.facts["env"]
        alone = len(commands) == 1
        with (
            self.slots.take(self.engine.stopped),
            self.engine.container(
                image.reference,
                commands[0] if alone else IDLE,
                limits=limits,
                workdir=image.workdir,
                env=env,
            ) as container,
        ):
            if alone:
                return (run_main(self.engine, container, commands[0].stdin, seconds=seconds),)
            return run_beside(self.engine, container, commands, workdir=image.workdir, env=env, seconds=seconds)

    @override
    def reinstall(self, image: Image, instance: Instance, snapshot: Snapshot, tree: str) -> InstallResult:
        return reinstall.reinstall(
            image,
            instance,
            snapshot.changes(tree),
            snapshot.tracked(),
            _DISTRIBUTIONS,
            lambda asked: self._install(image, instance, asked),
        )

    def _install(self, image: Image, instance: Instance, asked: Command) -> Completed:
        command = dataclasses.replace(asked, user="root")
        seconds = instance.required_environment.timeout
        with (
            self.slots.take(self.engine.stopped),
            self.engine.container(
                image.reference, command, limits=self.settings.client_limits, workdir=image.workdir, writable=True
            ) as container,
        ):
            return run_main(self.engine, container, command.stdin, seconds=seconds)

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
    ) -> Iterator[DockerWorkspace]:
        """The container idles as another user, so that a time-out can kill all but the idler."""
        env = image.facts["env"]
        options: dict[str, Any] = {"limits": limits, "workdir": image.workdir, "env": env}
        if readable or models is not None:
            options["readable"] = gateway_relay.added_binds(readable, models)
            options["home"] = gateway_relay.HOME
        with ExitStack() as stack:
            container = stack.enter_context(self.engine.container(image.reference, IDLE, **options))
            stack.enter_context(start_idler(self.engine, container))
            workspace = DockerWorkspace(self, container, image, snapshot, models)
            copied = workspace.run(("cp", "-a", f"{image.tree}/.", image.workdir), seconds=120)
            if copied.exit_code != 0:
                raise EngineError(f"the tree could not be copied into a workspace: {build_failures.brief(copied)}")
            if models is not None:
                stack.enter_context(gateway_relay.relay_in(self.engine, container, image.interpreter, env))
            yield workspace

    @override
    def clone(self, snapshot: Snapshot, request: CloneRequest) -> AbstractContextManager[Clone]:
        """Its sandboxes are bubblewrap's, as the programs are the host's."""
        opened = confined_clone if bubblewrap.problem() is None else plain_clone
        return opened(self.run, snapshot, request, self.engine.stopped)

    @override
    def stop(self) -> None:
        """This object serves no more afterwards."""
        self.engine.stop()

    @override
    def sweep(self) -> Sequence[str]:
        return [*self.engine.sweep(), *cgroups.sweep(), *sweep_folders()]

    def close(self) -> None:
        """Give back connections and the run's folder."""
        self.engine.close()
        self.run.close()


class DockerWorkspace(Workspace):
    """Implements protocols.Workspace in a container that idles."""

    folder: Path | None = None

    def __init__(
        self, runtime: DockerRuntime, container: str, image: Image, snapshot: Snapshot, models: ModelAccess | None
    ) -> None:
        self.root = image.workdir
        self.models_url = None if models is None else gateway_relay.URL
        self.home = None if models is None else gateway_relay.HOME
        self._asking = None if models is None else models.asking
        self._runtime = runtime
        self._container = container
        self._image = image
        self._snapshot = snapshot

    @override
    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float
    ) -> Completed:
        command = Command(argv=argv, stdin=stdin, env={**WORKSPACE_ENV, **(env or {})})
        engine = self._runtime.engine
        with self._runtime.slots.take(engine.stopped, self._asking):
            return run_added(
                engine, self._container, command, workdir=self.root, env=self._image.facts["env"], seconds=seconds
            )

    def attach(self, argv: Sequence[str], env: Mapping[str, str]) -> int:
        """Run a command on this process's own terminal, through the engine's client; its exit code."""
        client = shutil.which("docker")
        if client is None:
            raise EngineError("a terminal in a container needs the docker client on PATH, and there is none")
        variables = {"HOME": TMP, "LANG": "C.UTF-8", **WORKSPACE_ENV, **self._image.facts["env"], **env}
        given = [part for name, value in variables.items() for part in ("--env", f"{name}={value}")]
        place = ["--user", USERS["project"], "--workdir", self.root]
        line = [client, "exec", "--interactive", "--tty", *place, *given, self._container, *argv]
        return subprocess.run(line, check=False).returncode

    @override
    def diff(self, since: str = "") -> str:
        """The files that the install, builds and test runs left in the tree are no part of it.

        Whatever a contestant left running is ended first: it could stop what reads the tree and write its output.
        """
        self._end_all()
        key = channel.new_key()
        script = channel.program(tree_diff.SCRIPT)
        argv = (self._image.interpreter, "-I", "-S", "-c", script, self._image.tree, self.root, str(tree_diff.MOST))
        without = json.dumps(tree_diff.leftovers(self._snapshot)).encode()
        done = self.run(argv, stdin=key + without, seconds=300)
        if done.out_of_memory or done.too_much_output:
            raise DiffRejected("the revision cannot be recorded: there is too much of it to be read")
        if done.exit_code != 0:
            raise EngineError(f"the tree could not be read out of a workspace: {build_failures.brief(done)}")
        left: list[str] = []
        with self._runtime.run.scratch() as scratch:
            changes = tree_diff.read_changes(key, done.stdout, left)
            return tree_diff.diff_of(self._snapshot, changes, left, scratch, since)

    @override
    def series(self, diff: str) -> tuple[RevisionCommit, ...]:
        """``diff`` has ended whatever a contestant left running."""
        return read_series(self._snapshot, diff, self._image.interpreter, self.root, self.run)

    def _end_all(self) -> None:
        """Kill every process of the contestant. Raises DiffRejected where they keep themselves from it.

        What kills them is of the same user, so it may be ended by them first; what looks for them is not.
        """
        engine, argv = self._runtime.engine, (self._image.interpreter, "-I", "-S", "-c", _LOOK, USERS["project"])
        looking = Command(argv=argv, user="oracle")
        for _ in range(_TRIES):
            end_all(engine, self._container, "project")
            done = run_added(engine, self._container, looking, workdir="/", env={}, seconds=60)
            if done.exit_code not in (0, _LIVING):
                raise EngineError(f"a workspace's processes could not be counted: {build_failures.brief(done)}")
            if done.exit_code == 0:
                return
        raise DiffRejected("the revision cannot be recorded: what was left running does not let itself be ended")
