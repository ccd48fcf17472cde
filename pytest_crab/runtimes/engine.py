"""One door to the Docker engine: connection, hardened containers, errors as sentences, removal of what is ours."""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import docker
import docker.errors
import docker.types
import requests.exceptions

from pytest_crab.errors import Cancelled, EngineError
from pytest_crab.protocols import Command, Limits
from pytest_crab.runtimes import run_lock
from pytest_crab.runtimes.engine_address import engine_settings, sockets
from pytest_crab.runtimes.environments import HOSTNAME, TMP
from pytest_crab.runtimes.run_lock import RunFolder

USERS = {"project": "1000:1000", "oracle": "1001:1001", "root": "0:0"}

RUN_LABEL = "pytest-crab.run"
OWNER_LABEL = "pytest-crab.owner"
MACHINE_LABEL = "pytest-crab.machine"

_MIB = 2**20
_ROOTS_HOME = "/root"
_FAILURES = (docker.errors.DockerException, requests.exceptions.RequestException, OSError)


@contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Turn what the engine or the way to it raises into EngineError."""
    try:
        yield
    except _FAILURES as error:
        sentence = f"the Docker engine failed while {doing}: {first_line(error)}"
        raise EngineError(sentence, passing=_may_pass(error)) from error


def _may_pass(error: BaseException) -> bool:
    """Return whether another try may succeed once the engine has restarted: not if it refused the request."""
    status = getattr(error, "status_code", None)
    return not (isinstance(status, int) and 400 <= status < 500) or status in _VANISHED


def first_line(error: BaseException) -> str:
    """The sentence inside an engine's error."""
    said = getattr(error, "explanation", None) or str(error) or type(error).__name__
    return " ".join(str(said).split())[:300]


def inspect_image(client: docker.APIClient, image: str) -> dict[str, Any] | None:
    """Return the engine's record of an image; None if it has none of that name."""
    try:
        found: dict[str, Any] = client.inspect_image(image)  # type: ignore[no-untyped-call]
    except docker.errors.ImageNotFound:
        return None
    return found


class Engine:
    """A connection that all threads of one runtime share; everything made through it carries the run's labels."""

    def __init__(self, run: RunFolder, *, timeout: int = 60) -> None:
        self.run = run
        self.stopped = threading.Event()
        self._timeout = timeout
        self._guard = threading.Lock()
        self._client: docker.APIClient | None = None
        self._address = ""
        self._owed: list[str] = []

    @property
    def client(self) -> docker.APIClient:
        """The SDK's client, connected when first needed. Raises EngineError."""
        with self._guard:
            if self._client is None:
                settings = engine_settings()
                self._address = str(settings["base_url"])
                with engine_errors(f"connecting to {_place(self._address)}"):
                    _knock(self._address)
                    self._client = docker.APIClient(version="auto", timeout=self._timeout, max_pool_size=64, **settings)
            return self._client

    @property
    def labels(self) -> dict[str, str]:
        """The labels that mark a container as this run's."""
        return {RUN_LABEL: self.run.id, OWNER_LABEL: str(os.getuid()), MACHINE_LABEL: run_lock.machine_id()}

    @contextmanager
    def calling(self, doing: str) -> Iterator[docker.APIClient]:
        """The client for a few calls; failures are EngineError, or Cancelled once the run is stopped."""
        self.check()
        try:
            with self._call(doing) as client:
                yield client
        except EngineError as error:
            self.check(error)
            raise

    @contextmanager
    def _call(self, doing: str) -> Iterator[docker.APIClient]:
        client = self.client
        with engine_errors(doing):
            _knock(self._address)
            yield client

    def check(self, cause: BaseException | None = None) -> None:
        """Raise Cancelled if the run is stopped."""
        if self.stopped.is_set():
            raise Cancelled("the run was interrupted") from cause

    @contextmanager
    def container(self, image: str, command: Command, **options: Any) -> Iterator[str]:
        """A created container, by id, which is removed when the context ends; options are those of ``settings``."""
        self.run.folder.exists()  # from here on the run counts as living
        with self.calling("creating a container") as client:
            settings = self._settings(client, image, command, **options)
            created: str = client.create_container_from_config(settings)["Id"]  # type: ignore[no-untyped-call]
        try:
            self.check()
            yield created
        finally:
            self.remove(created)

    def remove(self, container: str) -> None:
        """Remove a container, running or not; one that is gone already is fine, one that is going is waited for."""
        try:
            with self._call("removing a container") as client:
                try:
                    client.remove_container(container, force=True, v=True)
                except docker.errors.APIError as error:
                    if error.status_code != 409 or "in progress" not in str(error):
                        raise
                    # Its wait for a removal has no end where the container goes while it begins.
                    deadline = time.monotonic() + _GOING
                    while time.monotonic() < deadline:
                        client.inspect_container(container)
                        time.sleep(_PAUSE)
                    raise
        except EngineError as error:
            if isinstance(error.__cause__, docker.errors.NotFound):
                return
            self._owed.append(container)
            if not self.stopped.is_set():
                raise

    def mine(self, *, of_run: str | None = None) -> list[tuple[str, str]]:
        """Containers of this user and machine, running or not: id and run."""
        wanted = [f"{OWNER_LABEL}={os.getuid()}", f"{MACHINE_LABEL}={run_lock.machine_id()}"]
        if of_run is not None:
            wanted.append(f"{RUN_LABEL}={of_run}")
        with self._call("listing containers") as client:
            found = client.containers(all=True, filters={"label": wanted})
        return [(entry["Id"], entry["Labels"].get(RUN_LABEL, "")) for entry in found]

    def stop(self) -> None:
        """Remove every container of this run; whoever waits for one gets Cancelled."""
        self.stopped.set()
        if self._client is not None:
            with suppress(EngineError):  # a dead engine runs nothing; the next run sweeps once it lives again
                for container, _ in self.mine(of_run=self.run.id):
                    self.remove(container)

    def sweep(self) -> list[str]:
        """Remove the containers of dead runs; their ids."""
        removed = []
        for container, run in self.mine():
            if run != self.run.id and run_lock.is_dead(run):
                self.remove(container)
                removed.append(container)
        return removed

    def close(self) -> None:
        """Give the connections back; what an engine that was away did not remove is removed now, if it is there."""
        owed, self._owed = self._owed, []
        with suppress(EngineError):  # it is away again; the next run sweeps
            for container in owed:
                self.remove(container)
        with self._guard:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _settings(
        self,
        client: docker.APIClient,
        image: str,
        command: Command,
        *,
        limits: Limits,
        workdir: str | None,
        writable: bool = False,
        env: Mapping[str, str] | None = None,
        readable: Mapping[str, Path] | None = None,
        home: str | None = None,
    ) -> dict[str, Any]:
        """The whole container as the API takes it; ``writable`` leaves the root file system (and workdir) writable.

        ``readable`` are places inside, bound read-only to where they lie on the host; ``home`` is one more place that
        the project's user may write.
        """
        tmpfs = {TMP: _tmpfs(limits, "mode=1777")}
        if not writable and workdir is not None:
            tmpfs[workdir] = _tmpfs(limits, "mode=0755,uid=1000,gid=1000")
        if home is not None:
            tmpfs[home] = _tmpfs(limits, "mode=0700,uid=1000,gid=1000")
        binds = dict(sorted((readable or {}).items()))
        if any(place.startswith(f"{_ROOTS_HOME}/") for place in binds):
            tmpfs[_ROOTS_HOME] = "rw,size=64k,mode=0755"  # an image keeps its own closed to others
        host = _confinement(client, limits, tmpfs, binds, writable=writable, init=not command.first)
        variables = {"HOME": TMP, "LANG": "C.UTF-8", **(env or {}), **command.env}
        return dict(
            client.create_container_config(
                image=image,
                command=list(command.argv[1:]),
                entrypoint=list(command.argv[:1]),
                user=USERS[command.user],
                working_dir=workdir or "/",
                environment=variables,
                stdin_open=True,
                labels=self.labels,
                host_config=host,
                hostname=HOSTNAME,
            ),
            StdinOnce=True,
            AttachStdin=True,
            AttachStdout=True,
            AttachStderr=True,
            Healthcheck={"Test": ["NONE"]},
        )

    def attach(self, container: str) -> Any:
        """The streams of a container's main process; call it before the start."""
        wanted = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        with self.calling("attaching to a container") as client:
            return client.attach_socket(container, params=wanted)

    def begin(self, container: str, command: Command, workdir: str, env: Mapping[str, str]) -> tuple[str, Any] | None:
        """Start another command in a running container: its id and its streams; None if the container has ended."""
        variables = {"HOME": TMP, "LANG": "C.UTF-8", **env, **command.env}
        with self.calling("starting a command") as client:
            try:
                made = client.exec_create(
                    container, list(command.argv), stdin=True, user=USERS[command.user],
                    environment=variables, workdir=workdir,
                )["Id"]  # fmt: skip
                return made, client.exec_start(made, socket=True)
            except docker.errors.APIError as error:
                if error.status_code in (404, 409) and not self.stopped.is_set():
                    return None
                raise

    def exit_of(self, container: str, deadline: float) -> int | None:
        """Wait for the main process's exit code until the deadline; None if it still runs then."""
        left = max(math.ceil(deadline - time.monotonic()), 1)
        with self.calling("waiting for a container") as client:
            try:
                return int(client.wait(container, timeout=left)["StatusCode"])
            except (requests.exceptions.ReadTimeout, requests.exceptions.ConnectionError) as error:
                if "timed out" in str(error).lower():
                    return None
                raise

    def end(self, container: str) -> None:
        """Kill all that runs in a container, and wait until the engine has noted its end."""
        with self.calling("ending a container") as client:
            try:
                client.kill(container)
            except docker.errors.APIError as error:
                if error.status_code != 409:  # it has ended already
                    raise
            client.wait(container, timeout=_GOING)

    def ran_out_of_memory(self, container: str) -> bool:
        """Return whether the kernel killed anything for memory in a container that has ended."""
        with self.calling("inspecting a container") as client:
            return bool(client.inspect_container(container)["State"]["OOMKilled"])


def _confinement(
    client: docker.APIClient,
    limits: Limits,
    tmpfs: dict[str, str],
    binds: Mapping[str, Path],
    *,
    writable: bool,
    init: bool,
) -> Any:
    """Return the settings of every container: limits, these mounts, and no network, capability or new privilege."""
    return client.create_host_config(
        network_mode="none",
        extra_hosts={HOSTNAME: "127.0.0.1"},
        read_only=not writable,
        tmpfs=tmpfs,
        mounts=[
            docker.types.Mount(target=place, source=str(host), type="bind", read_only=True)
            for place, host in binds.items()
        ],
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        pids_limit=limits.processes,
        mem_limit=limits.memory * _MIB,
        memswap_limit=limits.memory * _MIB,
        nano_cpus=int(limits.cpus * 1e9),
        ulimits=_ulimits(limits),
        init=init,
        log_config=docker.types.LogConfig(type="none"),
    )


def _place(address: str) -> str:
    """Return where an engine is looked for, with the question that its silence raises."""
    socket = address.removeprefix("unix://")
    others = f", and there is none at {', '.join(sockets()[1:])}" if socket == sockets()[0] else ""
    return f"{address} (is it running, and may this user talk to it?{others})"


def _knock(address: str) -> None:
    """Raise OSError where no process listens on a local socket: the SDK says so less clearly and leaves it open."""
    scheme, _, path = address.partition("://")
    if scheme.endswith("unix"):
        with socket.socket(socket.AF_UNIX) as door:
            door.connect("/" + path.lstrip("/"))


def _tmpfs(limits: Limits, rights: str) -> str:
    return f"rw,exec,nosuid,nodev,size={limits.disk}m,{rights}"


def _ulimits(limits: Limits) -> list[docker.types.Ulimit]:
    sizes = {"fsize": limits.file * _MIB, "core": 0, "nofile": 4096}
    return [docker.types.Ulimit(name=name, soft=size, hard=size) for name, size in sizes.items()]


#: Seconds: how long a container is waited for that is being removed, or was killed.
_GOING = 20
#: Seconds between two looks at it.
_PAUSE = 0.1

#: What an engine answers about a container that went away, or ended, in the meantime.
_VANISHED = (404, 409)
