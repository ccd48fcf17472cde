"""Sets and stores that lie below what a sandbox shows: nothing of them is seen but what is bound itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

import pytest_crab
from pytest_crab.errors import EngineError
from pytest_crab.protocols import Command, Limits
from pytest_crab.runtimes import RuntimeSettings, hidden_paths
from pytest_crab.runtimes.bubblewrap import run_in_folder
from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime
from pytest_crab.sources import fetcher_for
from pytest_crab.types import Instance

pytestmark = pytest.mark.bubblewrap

LIMITS = Limits(memory=128, processes=24, cpus=1.0, disk=16, file=8)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden_paths, "_places", {})


@pytest.fixture
def system_folder(without: Callable[[str, str], NoReturn]) -> Iterator[Path]:
    """A folder of this test below one that every sandbox sees."""
    if not os.access("/usr/share", os.W_OK):
        without("root", "nothing can be written below /usr/share")
    folder = Path(tempfile.mkdtemp(prefix="crab-test-", dir="/usr/share"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def seen(folder: Path, *paths: Path, readable: list[Path]) -> list[str]:
    """What a sandbox reads of these files."""
    script = 'for path in "$@"; do cat "$path" 2> /dev/null || echo "-"; done'
    folder.mkdir(exist_ok=True)
    done = run_in_folder(["sh", "-c", script, "sh", *map(str, paths)], folder, readable=readable, seconds=20)
    assert done.exit_code == 0, done.stderr
    return done.stdout.decode().split()


def test_only_what_is_bound_is_seen_of_a_hidden_place(tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    tool, kept = write(shown / "tool", "tool\n"), write(shown / "store/steps/kept", "kept\n")
    built, other = (
        write(shown / "store/cache/built/one/tree", "tree\n"),
        write(shown / "store/cache/built/two", "two\n"),
    )
    hidden_paths.hide(shown / "store/cache", "the store's cache")
    hidden_paths.hide(shown / "store", "the store")
    readable = [shown, built.parent]
    assert seen(tmp_path / "clone", tool, kept, built, other, readable=readable) == ["tool", "-", "tree", "-"]


def test_a_hidden_place_is_hidden_by_each_way_to_it(tmp_path: Path) -> None:
    oracle = write(tmp_path / "real/set/one/oracle", "oracle\n")
    (tmp_path / "link").symlink_to("real")
    hidden_paths.hide(tmp_path / "link/set/one", "an instance")
    ways = [tmp_path / "real", tmp_path / "link"]
    for way in ways:
        assert seen(tmp_path / "clone", way / "set/one/oracle", readable=[way]) == ["-"]
    assert seen(tmp_path / "clone", oracle, readable=ways) == ["-"]


def test_what_is_needed_and_hidden_is_an_error(tmp_path: Path) -> None:
    tool = write(tmp_path / "shown/set/tool", "#!/bin/sh\necho ran\n")
    tool.chmod(0o755)
    clone = tmp_path / "clone"
    clone.mkdir()
    assert run_in_folder([str(tool)], clone, readable=[tmp_path / "shown"], seconds=20).stdout == b"ran\n"
    hidden_paths.hide(tool.parent, "an instance")
    for readable in (tmp_path / "shown", tool.parent):
        with pytest.raises(EngineError, match="an instance") as caught:
            run_in_folder([str(tool)], clone, readable=[readable], seconds=20)
        assert str(tool.parent) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert run_in_folder([str(tool)], clone, readable=[tmp_path / "shown", tool], seconds=20).stdout == b"ran\n"


#: Run by an installed copy of the package: prints what a sandbox reads of these files.
READ = """
import sys
from pathlib import Path
from pytest_crab.runtimes import hidden_paths
from pytest_crab.runtimes.bubblewrap import run_in_folder
if sys.argv[2] == "shown":
    hidden_paths._places.clear()
script = 'for path in "$@"; do cat "$path" 2> /dev/null || echo "-"; done; '
script += 'find "$0" -name test_c0.py 2> /dev/null; true'
done = run_in_folder(["sh", "-c", script, *sys.argv[3:]], Path(sys.argv[1]), readable=[], seconds=60)
sys.stdout.buffer.write(done.stdout)
"""


def test_the_set_of_an_installed_package_is_not_seen(system_folder: Path, tmp_path: Path) -> None:
    """The package as a wheel installs it, in a place that every sandbox sees; the attack works where nothing hides."""
    root = Path(pytest_crab.__file__).parents[1]
    package = system_folder / "site/pytest_crab"
    shutil.copytree(root / "pytest_crab", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(root / "instances/quickstart", package / "quickstart")
    oracles = sorted(package.glob("quickstart/*/oracles/test_c0.py"))
    lying = [package / "py.typed", oracles[0], package / "quickstart/crab.lock"]
    (package / "py.typed").write_text("seen\n")

    def read(how: str) -> str:
        (tmp_path / how).mkdir()
        argv = [sys.executable, "-c", READ, str(tmp_path / how), how, str(system_folder), *map(str, lying)]
        own = {**os.environ, "PYTHONPATH": str(package.parent)}
        done = subprocess.run(argv, cwd=tmp_path, env=own, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert read("hidden") == "seen\n-\n-\n"
    told = read("shown")
    assert oracles[0].read_text() in told
    assert sorted(told.splitlines()[-len(oracles) :]) == list(map(str, oracles))


def test_a_set_below_the_systems_folders_is_not_seen_in_an_environment(system_folder: Path, instance: Instance) -> None:
    shutil.copytree(instance.folder, system_folder / "set/one")
    write(system_folder / "set/two/instance.yaml", "schema: 1\n")
    hidden = [
        system_folder / "set/one/reference.diff",
        write(system_folder / "set/two/oracles/test_c0.py", "oracle\n"),
        write(system_folder / "set/recorded/sharp/one.diff", "diff\n"),
        write(system_folder / "cache/kept", "kept\n"),
    ]
    other = write(system_folder / "other", "other\n")
    moved = replace(instance, folder=str(system_folder / "set/one"))
    source = fetcher_for(moved)
    runtime = BubblewrapRuntime(RuntimeSettings(), cache=system_folder / "cache")
    snapshot = source.fetch(moved, system_folder / "cache/sources")
    image = runtime.prepare(moved, snapshot, source.identity(moved))
    argv = ["cat", str(other), *map(str, hidden)]
    (oracle,) = runtime.execute(image, [Command(argv=argv)], limits=LIMITS, seconds=20)
    with runtime.workspace(image, snapshot, limits=LIMITS) as workspace:
        contestant = workspace.run([*argv, "demo.py"], seconds=20)
    runtime.close()
    assert oracle.stdout == b"other\n"
    assert contestant.stdout == b"other\nVALUE = 2\n"
    assert oracle.stderr.count(b"No such file") == contestant.stderr.count(b"No such file") == len(hidden)
