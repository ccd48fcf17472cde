"""The README installs the package twice in one environment, built and editable: either may come first."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of what a clone's installation reads."""
    folder = tmp_path / "clone"
    for name in ("pytest_crab", "dockerfiles", "instances/quickstart"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture
def shell(
    tmp_path: Path, environ: Callable[..., dict[str, str]], wheel: Path, uv: Callable[..., None]
) -> Callable[..., str]:
    """Runs a program of a new virtual environment, which has what the package asks for, and returns its output."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    python = venv / "bin" / "python"
    uv("pip", "install", "--python", python, wheel)
    uv("pip", "uninstall", "--python", python, "pytest-crab")
    variables = environ(XDG_CACHE_HOME=str(tmp_path / "cache"))
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH"):
        variables.pop(name, None)

    def run(program: str, *arguments: str, folder: Path = tmp_path) -> str:
        argv = [str(venv / "bin" / program), *arguments]
        done = subprocess.run(argv, cwd=folder, env=variables, capture_output=True, text=True)
        assert done.returncode in ((0, 1) if program == "pytest" else (0,)), done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.slow(reason="the package is built and installed three times")
@pytest.mark.bubblewrap
def test_built_and_editable_may_follow_each_other(
    tmp_path: Path, clone: Path, shell: Callable[..., str], needs_an_index: object
) -> None:
    instance = clone / "instances" / "quickstart" / "ledger-8-csv-import"
    for at, where in enumerate((["."], ["-e", "."], ["."])):
        shell("pip", "install", "-q", *where, folder=clone)
        place = Path(shell("python", "-c", "import pytest_crab; print(pytest_crab.__file__)").strip())
        assert place.is_relative_to(clone) is ("-e" in where)
        shell("pytest-crab", "quickstart", f"first{at}")
        chosen = ("--reviewer=ruff", "--crab-trust", f"--crab-report=report{at}", str(instance))
        printed = shell("pytest", "-q", *chosen)
        assert "1 of 2 oracles" in printed, printed
        assert (tmp_path / f"report{at}" / "index.html").is_file()
        assert {path.suffix for path in unrecorded(place.parent)} <= {".pyc"}


def unrecorded(package: Path) -> set[Path]:
    """The files of an installed package that its installer would not remove; of one in place, none."""
    found = next(package.parent.glob("pytest_crab-*.dist-info"), None)
    if found is None:
        return set()
    with (found / "RECORD").open(newline="") as text:
        recorded = {os.path.normpath(package.parent / row[0]) for row in csv.reader(text)}
    return {path for path in package.rglob("*") if path.is_file() and str(path) not in recorded}
