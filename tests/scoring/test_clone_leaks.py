"""What a clone tells of an instance and its project, as a real sandbox shows it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from pytest_crab.ecosystems.installed_copies import installed_copies
from pytest_crab.ecosystems.python.packages import is_copy
from pytest_crab.protocols import Completed
from pytest_crab.runtimes import hidden_paths
from pytest_crab.runtimes.bubblewrap import run_in_folder
from pytest_crab.scoring.oracles.clone_leaks import clone_leak
from pytest_crab.scoring.protocols import ScoringContext


@pytest.fixture
def system(without: Callable[[str, str], NoReturn]) -> Iterator[Path]:
    """A folder of this test below one that every sandbox sees, and that is one of packages."""
    if not os.access("/usr/local/lib", os.W_OK):
        without("root", "nothing can be written below /usr/local/lib")
    with tempfile.TemporaryDirectory(prefix="python3.crab-", dir="/usr/local/lib") as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "dist-packages").mkdir()
        yield Path(folder)


def context(instance: Path, clone: Path, masked: Sequence[Path] = ()) -> ScoringContext:
    def look(argv: Sequence[str]) -> Completed:
        clone.mkdir(exist_ok=True)
        return run_in_folder(argv, clone, masked=masked, seconds=60)

    known = SimpleNamespace(folder=str(instance), project="Demo_Crab")
    return cast("ScoringContext", SimpleNamespace(instance=known, look_into_clone=look))


@pytest.mark.bubblewrap
def test_an_installed_copy_of_the_project_is_a_leak_unless_it_is_masked(system: Path, tmp_path: Path) -> None:
    packages = system / "dist-packages"
    for name in ("demo_crab-9.egg-info/top_level.txt", "book/a.py", "demo_crabs/a.py", "demo-9.dist-info/RECORD"):
        (packages / name).parent.mkdir()
        (packages / name).write_text("book\n")
    (packages / "single.py").write_text("")
    (packages / "demo_crab-9.egg-info/top_level.txt").write_text("book\nsingle\n")
    found = installed_copies("Demo_Crab")
    names = {path.name for path in found if path.is_relative_to(packages)}
    assert names == {"demo_crab-9.egg-info", "book", "single.py"}
    assert "an installed copy of the project" in str(clone_leak(context(tmp_path / "set/one", tmp_path / "clone")))
    seen = context(tmp_path / "set/one", tmp_path / "clone", found)
    assert clone_leak(seen) is None
    for name in ("demo_crab-9.egg-info", "book"):
        done = seen.look_into_clone(["ls", "-A", str(packages / name)])
        assert done is not None
        assert done.stdout == b""


@pytest.mark.bubblewrap
def test_an_instance_that_a_clone_shows_is_a_leak(
    system: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden_paths, "_places", {})
    (system / "set/one").mkdir(parents=True)
    (system / "set/one/instance.yaml").write_text("schema: 1\n")
    shown = context(system / "set/one", tmp_path / "clone")
    assert "shows the instance" in str(clone_leak(shown))
    hidden_paths.hide_set(cast("Any", shown.instance))
    assert clone_leak(shown) is None


def test_a_clone_without_a_sandbox_is_not_looked_at(tmp_path: Path) -> None:
    plain = SimpleNamespace(instance=SimpleNamespace(folder=str(tmp_path), project="a"), look_into_clone=lambda _: None)
    assert clone_leak(cast("ScoringContext", plain)) is None


@pytest.mark.parametrize(
    "name", ["demo-crab", "Demo.Crab", "demo_crab-1.0.dist-info", "demo_crab.py", "demo_crab.abi3.so"]
)
def test_a_copy_by_its_name(name: str) -> None:
    assert is_copy(name, "demo_crab")


@pytest.mark.parametrize("name", ["demo", "demo_crab_tools", "demo_crab_tools-1.0.dist-info", "other-demo-crab"])
def test_what_is_no_copy(name: str) -> None:
    assert not is_copy(name, "demo_crab")
