"""The local runtime where it may confine nothing, and where it must refuse."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crab.ecosystems import interpreters
from pytest_crab.errors import Cancelled, ImageError
from pytest_crab.protocols import ORACLE_LIMITS, Command, Completed
from pytest_crab.runtimes import RuntimeSettings, seeds, venvs
from pytest_crab.runtimes.bubblewrap import View
from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime
from pytest_crab.runtimes.environments import image_key
from pytest_crab.runtimes.slots import Slots, one_builder
from pytest_crab.runtimes.subprocess_runtime import SubprocessRuntime
from pytest_crab.sources import fetcher_for
from pytest_crab.types import Instance

if TYPE_CHECKING:
    from conftest import Place

#: Waits for the right to build something in a cache for a moment.
OTHER = """
import sys
import sysconfig
from pathlib import Path
from pytest_crab.runtimes.slots import one_builder
looks = [None, None]
try:
    with one_builder(sys.argv[1], looks.pop, Path(sys.argv[2])):
        print("free")
except IndexError:
    print("held")
"""


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], str]:
    """What a process that shares the cache and not the folder for temporary files finds: "free" or "held"."""
    own = {**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("tmp"))}

    def look(key: str, cache: Path) -> str:
        argv = [sys.executable, "-c", OTHER, key, str(cache)]
        return subprocess.run(argv, env=own, capture_output=True, text=True, check=True).stdout.strip()

    return look


@pytest.fixture
def plain(prepared: Callable[[str, Instance], Place], instance: Instance) -> Place:
    return prepared("unconfined", instance)


def test_unconfined_says_so(plain: Place) -> None:
    assert not plain.image.contained
    assert plain.image.workdir != plain.instance.environment.workdir
    assert plain.runtime.identity(plain.instance, {})["confined"] is False


def test_unconfined_runs_in_a_fresh_folder(plain: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "geheim")
    for _ in range(2):
        done = plain.run("sh", "-c", "pwd; ls -A; echo x > left; env")
        lines = done.stdout.decode().splitlines()
        assert lines[0] == plain.image.workdir
        assert "left" not in lines
        assert not any("geheim" in line for line in lines)
    assert not Path(plain.image.workdir).parent.exists()


def test_unconfined_deadline_finds_processes_that_went_their_own_way(plain: Place) -> None:
    mark = f"51{os.getpid()}.{time.monotonic_ns()}"
    done = plain.run("sh", "-c", f"(setsid sh -c 'sleep {mark} & sleep {mark}' &) ; sleep {mark}", seconds=1)
    assert (done.exit_code, done.timed_out) == (None, True)
    mine = [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _read(path)]
    assert mine == []


def test_unconfined_commands_meet(plain: Place) -> None:
    place = plain.image.facts["socket_folder"]
    first = Command(argv=("sh", "-c", f"while [ ! -e {place}/word ]; do sleep 0.05; done; echo met"))
    second = Command(argv=("touch", f"{place}/word"))
    one, _ = plain.runtime.execute(plain.image, [first, second], limits=ORACLE_LIMITS, seconds=20)
    assert one.stdout == b"met\n"


def test_unconfined_calls_on_one_image_wait_for_each_other(plain: Place) -> None:
    script = "ls -A; touch x; sleep 0.2; ls -A"
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: plain.run("sh", "-c", script).stdout, range(3)))
    assert done == [b"x\n"] * 3


def test_unconfined_workspace_has_a_folder_and_a_diff(plain: Place) -> None:
    with plain.runtime.workspace(plain.image, plain.snapshot, limits=ORACLE_LIMITS) as workspace:
        assert workspace.folder is not None
        assert (
            workspace.run(("sh", "-c", "echo 'VALUE = 5' > demo.py; pwd"), seconds=20).stdout.decode().strip()
            == workspace.root
        )
        assert "+VALUE = 5" in workspace.diff()


def test_what_only_docker_can_give_is_refused_by_name(tmp_path: Path, instance: Instance) -> None:
    runtime = BubblewrapRuntime(RuntimeSettings(), cache=tmp_path)
    wishes = {
        "libxml2": {"system": ("libxml2",)},
        "node.Dockerfile": {"dockerfile": "node"},
        "name@sha256:0": {"dockerfile": None, "image": "name@sha256:0"},
        "Python 3.2": {"python": "3.2"},
    }
    for word, wish in wishes.items():
        wanting = replace(instance, environment=replace(instance.environment, **wish))
        with pytest.raises(ImageError, match=f"demo: .*{word}"):
            runtime.identity(wanting, {})


def test_an_upgrade_of_a_package_whose_metadata_is_one_file_makes_another_environment(
    tmp_path: Path, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    told = []
    for version in "12":
        (tmp_path / "shop_crab.egg-info").write_text(f"Metadata-Version: 1.1\nName: shop-crab\nVersion: {version}\n")
        venvs._installed_packages.cache_clear()
        told.append(venvs.choose(instance).identity(instance.required_environment)["packages"])
    venvs._installed_packages.cache_clear()
    assert ["shop-crab==1" in told[0], "shop-crab==2" in told[1], "shop-crab==1" in told[1]] == [True, True, False]


def test_pins_make_an_environment_of_its_own(tmp_path: Path, instance: Instance) -> None:
    runtime = BubblewrapRuntime(RuntimeSettings(), cache=tmp_path)
    pinned = replace(instance, environment=replace(instance.environment, packages=("pytest==8.3.4", "attrs==24.2.0")))
    assert runtime.identity(instance, {})["interpreter"]["kind"] == "running"
    assert runtime.identity(pinned, {})["interpreter"] | {"version": "", "platform": ""} == {
        "kind": "venv",
        "version": "",
        "platform": "",
        "packages": ["pytest==8.3.4", "attrs==24.2.0"],
    }


@pytest.mark.slow(reason="environments are built, one after the other")
def test_a_shared_cache_has_one_builder_of_a_virtual_environment(
    tmp_path: Path, instance: Instance, elsewhere: Callable[[str, Path], str]
) -> None:
    pinned = replace(instance, environment=replace(instance.environment, packages=("pytest==8.3.4", "attrs==24.2.0")))
    chosen = venvs.choose(pinned)
    key = f"venv-{venvs.venv_name(pinned, chosen)}"[:32]
    runtime = SubprocessRuntime(RuntimeSettings(), cache=tmp_path)
    found = []

    def build(view: View, command: Command, seconds: float) -> Completed:
        found.append(elsewhere(key, tmp_path))
        return runtime._run_build(view, command, seconds)

    venvs.venv_layout(tmp_path, pinned, chosen, build, lambda: None)
    runtime.close()
    assert ({*found}, elsewhere(key, tmp_path)) == ({"held"}, "free")


@pytest.mark.slow(reason="environments are built, one after the other")
def test_an_environment_is_a_copy_of_a_seed_that_is_made_again_when_files_of_it_are_gone(
    tmp_path: Path, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeds, "machine_folder", lambda: tmp_path)
    runtime = SubprocessRuntime(RuntimeSettings(), cache=tmp_path)
    commands: list[Command] = []

    def build(view: View, command: Command, seconds: float) -> Completed:
        commands.append(command)
        return runtime._run_build(view, command, seconds)

    def pip_of(package: str) -> str:
        pinned = replace(instance, environment=replace(instance.environment, packages=(package,)))
        layout = venvs.venv_layout(tmp_path, pinned, venvs.choose(pinned), build, lambda: None)
        program = Path(layout.interpreter).with_name("pip")
        return subprocess.run([program, "list"], capture_output=True, text=True, check=True).stdout

    assert "idna" in pip_of("idna==3.4")
    second = pip_of("idna==3.5")
    assert "3.5" in second and "3.4" not in second
    assert len(commands) == 3  # one seed, two installations
    own = interpreters.find(interpreters.running_version())
    seed = seeds.place(own.program, own.full, venvs.VENV)
    next(seed.rglob("pip/__init__.py")).unlink()
    assert "idna" in pip_of("idna==3.6")
    assert len(commands) == 5
    runtime.close()


def test_a_shared_cache_has_one_builder_of_a_tree(
    tmp_path: Path, instance: Instance, elsewhere: Callable[[str, Path], str]
) -> None:
    source = fetcher_for(instance)
    identity = source.identity(instance)
    runtime = SubprocessRuntime(RuntimeSettings(), cache=tmp_path / "cache")
    key = f"tree{image_key(runtime.identity(instance, identity))}"
    found = []

    class Watched:
        """The snapshot, which looks around while it is copied."""

        def __getattr__(self, name: str) -> Any:
            if name == "clone":
                found.append(elsewhere(key, tmp_path / "cache"))
            return getattr(snapshot, name)

    snapshot = source.fetch(instance, tmp_path / "sources")
    runtime.prepare(instance, Watched(), identity)
    runtime.close()
    assert [*found, elsewhere(key, tmp_path / "cache")] == ["held", "free"]


def _read(path: Path) -> bytes:
    """What is in a file of a process; nothing where that has ended meanwhile."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


class Watched(BubblewrapRuntime):
    """The local runtime, which says when it has waited for another's build for a while."""

    waits: threading.Event
    looks = 0

    def _check(self) -> None:
        self.looks += 1
        if self.looks > 5:
            self.waits.set()
        super()._check()


@pytest.mark.bubblewrap
def test_a_wait_for_anothers_packages_takes_no_slot(instance: Instance, tmp_path: Path) -> None:
    runtime = Watched(RuntimeSettings(), cache=tmp_path / "cache", slots=1)
    runtime.slots = Slots(1, tmp_path / "slots")
    runtime.waits = threading.Event()
    pinned = replace(instance, environment=replace(instance.environment, packages=("idna==3.4",)))
    source = fetcher_for(pinned)
    snapshot = source.fetch(pinned, tmp_path / "cache")
    name = venvs.venv_name(pinned, venvs.choose(pinned))
    with one_builder(f"venv-{name}"[:32], lambda: None, runtime._cache), ThreadPoolExecutor(1) as pool:
        future = pool.submit(runtime.prepare, pinned, snapshot, {})
        assert runtime.waits.wait(60)
        late = threading.Timer(10, runtime.stopped.set)
        late.start()
        with runtime.slots.take(runtime.stopped):
            late.cancel()
        runtime.stop()
        with pytest.raises(Cancelled):
            future.result()
    runtime.close()


@pytest.mark.bubblewrap
def test_a_pytest_without_bytecode_is_compiled_once_for_all_sandboxes(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(venvs, "_has_copy", lambda _chosen: True)
    runtime = BubblewrapRuntime(RuntimeSettings(), cache=tmp_path / "cache")
    source = fetcher_for(instance)
    other = replace(instance, environment=replace(instance.environment, paths=("src",)))
    look = "import sys; sys.path += sys.argv[1:]; import pytest, _pytest.config as c; print(c.__cached__, c.__file__)"
    told = []
    for one in (instance, other):
        image = runtime.prepare(one, source.fetch(one, tmp_path / "cache"), source.identity(one))
        command = Command(argv=(image.interpreter, "-I", "-S", "-c", look, *image.site))
        (done,) = runtime.execute(image, [command], limits=ORACLE_LIMITS, seconds=60)
        assert done.exit_code == 0, done.stderr
        told.append(done.stdout.decode().split())
    runtime.close()
    (copy,) = (tmp_path / "cache" / "venvs").iterdir()
    assert told[0] == told[1]
    assert [Path(path).is_relative_to(copy) and Path(path).exists() for path in told[0]] == [True, True]


def test_an_install_that_fails_leaves_nothing(instance: Instance, tmp_path: Path) -> None:
    broken = replace(instance, environment=replace(instance.environment, install=("exit 7",), packages=()))
    source = fetcher_for(broken)
    snapshot = source.fetch(broken, tmp_path / "sources")
    runtime = SubprocessRuntime(RuntimeSettings(), cache=tmp_path / "cache")
    try:
        with pytest.raises(ImageError):
            runtime.prepare(broken, snapshot, source.identity(broken))
        left = [path for place in ("built", "venvs") for path in (tmp_path / "cache" / place).glob("*")]
        assert [path for path in left if not (path / "complete").exists()] == []
    finally:
        runtime.close()


def test_the_running_interpreter_is_named_without_dots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("here", "venv/bin", "venv/lib"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").symlink_to(sys.executable)
    venv = f"{tmp_path}/here/../venv"
    monkeypatch.setattr(sys, "prefix", venv)
    monkeypatch.setattr(sys, "executable", f"{venv}/bin/python")
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: f"{venv}/lib")
    interpreter = interpreters.find(interpreters.running_version())
    assert interpreter is not None
    layout = venvs.running_layout(interpreter)
    assert (layout.interpreter, layout.site) == (f"{tmp_path}/venv/bin/python", (f"{tmp_path}/venv/lib",))
    assert f"{tmp_path}/venv" in layout.binds
    assert [place for place in layout.binds if ".." in place] == []
