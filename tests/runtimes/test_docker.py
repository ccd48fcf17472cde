"""What only the docker runtime promises: its engine may die, and nothing of a dead run stays."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from docker.errors import APIError, NotFound

from pytest_crab.ecosystems.interpreters import running_version
from pytest_crab.errors import EngineError, ImageError
from pytest_crab.protocols import ORACLE_LIMITS, Command, Runtime
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.runtimes.docker import DockerRuntime
from pytest_crab.types import Instance

if TYPE_CHECKING:
    from conftest import Place

pytestmark = pytest.mark.docker
ENGINE = "/var/run/docker.sock"


@pytest.fixture
def docker_place(prepared: Callable[[str, Instance], Place], instance: Instance) -> Place:
    return prepared("docker", instance)


class Relay:
    """A socket that stands before the engine's and can die."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._ends: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def cut(self) -> None:
        """Die: nobody listens any more, and every connection ends."""
        self._path.unlink()
        for end in (self._server, *self._ends):
            end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for thread in self._threads:
            thread.join(10)
        for end in (self._server, *self._ends):
            end.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            engine = socket.socket(socket.AF_UNIX)
            engine.connect(ENGINE)
            self._ends.extend((client, engine))
            for pair in ((client, engine), (engine, client)):
                self._threads.append(threading.Thread(target=self._pump, args=pair))
                self._threads[-1].start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return


def test_an_engine_that_dies_is_one_sentence_and_no_verdict(
    docker_place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path(ENGINE).exists() or os.environ.get("DOCKER_HOST"):
        pytest.skip("the engine is not on the default socket")
    relay = Relay(tmp_path / "engine.sock")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/engine.sock")
    runtime = DockerRuntime(RuntimeSettings(base_image="unused"), rootdir=tmp_path, slots=64)
    timer = threading.Timer(1.5, relay.cut)
    timer.start()
    with pytest.raises(EngineError) as caught:
        runtime.execute(docker_place.image, [Command(argv=("sleep", "60"))], limits=ORACLE_LIMITS, seconds=60)
    timer.join()
    runtime.engine.close()
    relay.close()
    assert "\n" not in str(caught.value)
    assert "the Docker engine failed while" in str(caught.value)
    monkeypatch.delenv("DOCKER_HOST")
    runtime.engine.client.ping()
    runtime.stop()
    runtime.close()


def test_no_engine_at_all_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instance: Instance) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineError, match="is it running"):
        DockerRuntime(RuntimeSettings(), rootdir=tmp_path).identity(instance, {})


KILLED = """
import sys
from pathlib import Path
from pytest_crab.protocols import Command, Image, ORACLE_LIMITS
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.runtimes.docker import DockerRuntime
runtime = DockerRuntime(RuntimeSettings(), rootdir=Path("/"), slots=64)
image = Image(key="k", reference=sys.argv[1], tree="/opt/crab/tree", workdir="/workspace", interpreter="python3",
              site=(), facts={"env": {}})
runtime.run.folder
print(runtime.run.id, flush=True)
runtime.execute(image, [Command(argv=("sleep", "60"))], limits=ORACLE_LIMITS, seconds=60)
"""


def test_the_next_run_removes_what_a_killed_one_left(
    docker_place: Place,
    make: Callable[[str], Runtime],
    until: Callable[[Callable[[], object]], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # With locks of their own: a run beside this one would sweep too, and might be first.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    runtime = make("docker")
    assert isinstance(runtime, DockerRuntime)
    argv = [sys.executable, "-c", KILLED, docker_place.image.reference]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        run = process.stdout.readline().strip()
        until(lambda: runtime.engine.mine(of_run=run))
        assert run not in " ".join(runtime.sweep())
        assert runtime.engine.mine(of_run=run), "a living run was swept"
        process.send_signal(signal.SIGKILL)
    assert runtime.sweep()
    until(lambda: runtime.engine.mine(of_run=run) == [])  # the engine may still be at it for a run beside this one
    assert not (runtime.run.folder.parent / run).exists()
    assert not (runtime.run.folder.parent / f"{run}.lock").exists()
    runtime.close()


def test_a_container_that_another_removes_is_gone_too(docker_place: Place) -> None:
    runtime = docker_place.runtime
    assert isinstance(runtime, DockerRuntime)
    engine, seen = runtime.engine, []

    def remove(container: str) -> None:
        engine.remove(container)
        seen.append(container in {each for each, _ in engine.mine(of_run=engine.run.id)})

    command = Command(argv=("sleep", "60"))
    with engine.container(docker_place.image.reference, command, limits=ORACLE_LIMITS, workdir=None) as container:
        engine.client.start(container)
        threads = [threading.Thread(target=remove, args=(container,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == [False] * 3


def test_an_end_that_a_busy_engine_notes_late_is_waited_for(
    docker_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = docker_place.runtime
    assert isinstance(runtime, DockerRuntime)
    real, asked = runtime.engine.client.exec_inspect, [time.monotonic()]

    def inspect(made: str) -> dict[str, Any]:
        told: dict[str, Any] = real(made)
        asked.append(time.monotonic())
        return {**told, "Running": True, "ExitCode": None} if asked[-1] < asked[1] + 2 else told

    monkeypatch.setattr(runtime.engine.client, "exec_inspect", inspect)
    commands = [Command(argv=("sh", "-c", f"exit {code}")) for code in (3, 4)]
    ends = runtime.execute(docker_place.image, commands, limits=ORACLE_LIMITS, seconds=20)
    assert [end.exit_code for end in ends] == [3, 4]


@pytest.fixture
def leaping_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time that this process reads the wall clock, it has gone back by an hour."""
    real, reads = time.time, itertools.count()
    monkeypatch.setattr(time, "time", lambda: real() - 3600 * next(reads))


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.usefixtures("leaping_clock")
def test_a_clock_that_leaps_hides_no_kill_for_memory(docker_place: Place, *, beside: bool) -> None:
    hungry = Command(argv=(docker_place.image.interpreter, "-c", "x = b'1' * 300_000_000"))
    others = [Command(argv=("true",), user="oracle")] if beside else []
    limits = replace(ORACLE_LIMITS, memory=128)
    done = docker_place.runtime.execute(docker_place.image, [hungry, *others], limits=limits, seconds=60)
    assert (done[0].exit_code, done[0].out_of_memory) == (137, True)


@pytest.mark.usefixtures("leaping_clock")
def test_a_clock_that_leaps_hides_no_kill_for_memory_in_a_workspace(docker_place: Place) -> None:
    limits = replace(ORACLE_LIMITS, memory=128)
    with docker_place.runtime.workspace(docker_place.image, docker_place.snapshot, limits=limits) as workspace:
        killed = workspace.run(("sh", "-c", "kill -9 $$"), seconds=60)
        assert (killed.exit_code, killed.out_of_memory) == (137, False)
        hungry = workspace.run((docker_place.image.interpreter, "-c", "x = b'1' * 300_000_000"), seconds=60)
        assert (hungry.exit_code, hungry.out_of_memory) == (137, True)


def test_nothing_stays_after_a_call(docker_place: Place) -> None:
    runtime = docker_place.runtime
    assert isinstance(runtime, DockerRuntime)
    docker_place.run("true")
    docker_place.run("sleep", "60", seconds=0.5)
    assert runtime.engine.mine(of_run=runtime.run.id) == []


def test_a_dockerfile_of_the_users_own_comes_first(docker_place: Place, base: str, tmp_path: Path) -> None:
    (tmp_path / "dockerfiles").mkdir()
    text = "ARG BASE\nFROM ${BASE}\nCOPY tree/ /opt/crab/tree/\nRUN touch /own /opt/crab/distributions.txt\n"
    (tmp_path / "dockerfiles" / "python.Dockerfile").write_text(text)
    runtime = DockerRuntime(RuntimeSettings(base_image=base), rootdir=tmp_path, slots=64)
    assert runtime.identity(docker_place.instance, {})["dockerfile"] == text
    mine = replace(docker_place.instance, id="demo-own")
    image = runtime.prepare(mine, docker_place.snapshot, {"kind": "own"})
    assert replace(docker_place, runtime=runtime, image=image).run("ls", "/own").exit_code == 0
    runtime.engine.client.remove_image(image.reference)
    runtime.close()


@pytest.mark.slow(reason="an image is built from a package index")
def test_of_a_moment_only_what_is_named_is_installed(
    docker_place: Place, base: str, tmp_path: Path, needs_an_index: None
) -> None:
    runtime = DockerRuntime(RuntimeSettings(base_image=base), rootdir=tmp_path, slots=64)
    environment = replace(
        docker_place.instance.environment, packages=("jinja2==3.1.4",), resolved="2025-06-01T00:00:00Z"
    )
    named = replace(docker_place.instance, id="demo-named", environment=environment)
    image = runtime.prepare(named, docker_place.snapshot, {"kind": "own"})
    try:
        listed = replace(docker_place, runtime=runtime, image=image).run("cat", "/opt/crab/distributions.txt")
        assert b"jinja2" in listed.stdout
        assert b"markupsafe" not in listed.stdout.lower()
    finally:
        runtime.engine.client.remove_image(image.reference)
        runtime.close()


def test_a_base_that_cannot_be_had_is_named(docker_place: Place, tmp_path: Path) -> None:
    runtime = DockerRuntime(RuntimeSettings(base_image="localhost:1/nowhere:{python}"), rootdir=tmp_path)
    environment = replace(docker_place.instance.environment, python="3.2")
    with pytest.raises(
        ImageError, match=r"localhost:1/nowhere:3\.2 .*doctor --build-base --python 3\.2.*the engine says"
    ):
        runtime.identity(replace(docker_place.instance, environment=environment), {})
    runtime.close()


def test_builders_of_one_image_share_the_work(docker_place: Place, base: str, tmp_path: Path) -> None:
    instance = replace(docker_place.instance, id="demo-shared")
    runtimes = [DockerRuntime(RuntimeSettings(base_image=base), rootdir=tmp_path, slots=64) for _ in range(3)]
    images = []
    source = {"kind": "shared", "once": time.time_ns()}
    prepare = [
        threading.Thread(target=lambda r=r: images.append(r.prepare(instance, docker_place.snapshot, source)))
        for r in runtimes
    ]
    for thread in prepare:
        thread.start()
    for thread in prepare:
        thread.join()
    ids = {runtimes[0].engine.client.inspect_image(image.reference)["Created"] for image in images}
    assert (len(images), len(ids)) == (3, 1)
    runtimes[0].engine.client.remove_image(images[0].reference)
    for runtime in runtimes:
        runtime.close()


#: Waits for what reads the tree, and writes into its output.
FORGER = """
import os
while True:
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % name) as file:
                if int(name) == os.getpid() or "most bytes that it may" not in file.read():
                    continue
            with open("/proc/%s/fd/1" % name, "wb") as out:
                out.write(b"forged")
        except OSError:
            pass
"""


def test_nothing_that_was_left_running_writes_what_the_tree_is(docker_place: Place) -> None:
    with docker_place.runtime.workspace(docker_place.image, docker_place.snapshot, limits=ORACLE_LIMITS) as workspace:
        start = "echo 'VALUE = 5' > demo.py; (\"$@\" > /dev/null 2>&1 &); (sleep 600 > /dev/null 2>&1 &)"
        argv = ("sh", "-c", start, "sh", docker_place.image.interpreter, "-c", FORGER)
        assert workspace.run(argv, seconds=30).exit_code == 0
        diff = workspace.diff()
        left = workspace.run(("sh", "-c", "cat /proc/[0-9]*/cmdline"), seconds=30).stdout
    assert "+VALUE = 5" in diff
    assert "forged" not in diff
    assert b"sleep" not in left


def test_a_python_is_there_if_its_base_is_here_or_in_the_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, published = (
        DockerRuntime(RuntimeSettings(base_image="no-such-base-{python}:1"), rootdir=tmp_path),
        {"no-such-base-3.8:1"},
    )
    asked = []

    def inspect_distribution(name: str) -> dict[str, Any]:
        asked.append(name)
        if name == "no-such-base-3.7:1":
            raise APIError("the registry does not answer")
        if name not in published:
            raise NotFound("there is no such image")
        return {}

    monkeypatch.setattr(runtime.engine.client, "inspect_distribution", inspect_distribution)
    try:
        assert not runtime.has_interpreter("3.99")
        assert runtime.has_interpreter("3.8")
        assert runtime.has_interpreter(running_version())
        assert not runtime.has_interpreter("3.7")
        assert not runtime.has_interpreter("3.98")
        assert runtime.has_interpreter("3.8")  # as before, though the registry answers no more
        assert not runtime.has_interpreter("3.99")
    finally:
        runtime.close()
    assert asked == ["no-such-base-3.99:1", "no-such-base-3.8:1", "no-such-base-3.7:1"]
