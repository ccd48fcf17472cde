"""The package as a wheel, alone in a virtual environment of another folder, with the set that it brings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NAME = "router-17-middleware"
pytestmark = pytest.mark.slow(reason="the package is built, and installed with all that it asks for")


#: Finds what c0 is about, and says what it can read of the packaged set.
BOT = """
import glob, json, pathlib, sys
json.load(sys.stdin)
package = [pathlib.Path(place, "pytest_crab") for place in sys.path if pathlib.Path(place, "pytest_crab").is_dir()][0]
seen = [len(list(package.glob("*.py"))) > 0, len(list(package.glob("quickstart/**/*")))]
print(json.dumps({"schema": 1, "findings": [{"path": "src/router/app.py", "start": 59, "body": json.dumps(seen)}]}))
"""


@pytest.fixture(scope="module")
def environment(wheel: Path, uv: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with nothing but the wheel and what it asks for."""
    place = tmp_path_factory.mktemp("wheel") / "venv"
    uv("venv", "--python", sys.executable, place)
    uv("pip", "install", "--python", place / "bin" / "python", wheel)
    return place


def measured(environment: Path, places: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    """A run of one of the packaged instances in a copy of the set: its exit status, its trial, what it printed."""
    if not places.exists():
        subprocess.run([environment / "bin" / "pytest-crab", "quickstart", places], check=True)
    env = {name: text for name, text in os.environ.items() if not name.startswith(("CRAB_", "PYTEST_", "PYTHON"))}
    env |= {"PATH": f"{environment}/bin{os.pathsep}{env['PATH']}", "CRAB_PROOF_RUNS": "1"}
    argv = [environment / "bin" / "pytest", "-q", "--crab-report=report", *options, NAME]
    done = subprocess.run(argv, cwd=places, env=env, capture_output=True, text=True, check=False)
    (trial,) = map(json.loads, (places / "report" / "trials.jsonl").read_text().splitlines())
    return done.returncode, trial, done.stdout + done.stderr


def test_the_wheel_holds_the_package_and_nothing_that_is_made(wheel: Path) -> None:
    source = wheel.parent / "source"
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = {str(path.relative_to(source)) for path in source.glob("pytest_crab/**/*.*")}
    files |= {f"pytest_crab/dockerfiles/{path.name}" for path in (source / "dockerfiles").iterdir()}
    assert {name for name in files if "__pycache__" not in name} <= packed
    assert [name for name in packed if "__pycache__" in name] == []


@pytest.mark.docker
def test_a_wheel_measures_a_set_under_docker(environment: Path, tmp_path: Path) -> None:
    places = tmp_path / "set"
    status, trial, printed = measured(environment, places, "--reviewer=human", "--crab-runtime=docker")
    assert status == 0, printed
    assert {score["label"] for score in trial["scores"]} == {"caught", "intact"}, printed
    assert (places / "report" / "index.html").is_file()


@pytest.mark.bubblewrap
def test_a_command_runs_beside_the_packaged_set_and_sees_nothing_of_it(environment: Path, tmp_path: Path) -> None:
    """The interpreter that it is started with has the package, and so the set, among its libraries."""
    places = tmp_path / "set"
    subprocess.run([environment / "bin" / "pytest-crab", "quickstart", places], check=True)
    (places / "bot.py").write_text(BOT)
    (places / "crab.yaml").write_text("reviewers: {bot: {use: command, command: [python3, bot.py], files: [bot.py]}}\n")
    _, trial, printed = measured(environment, places, "--reviewer=bot", "--agent=simulated", "--crab-runtime=local")
    assert "error" not in trial, printed
    assert [finding["body"] for finding in trial["review"]["findings"]] == ["[true, 0]"]
    assert [score["label"] for score in trial["scores"] if score["subject"] == "c0"] == ["caught"], printed
