"""The package as a wheel, alone in a virtual environment of another folder, with the set that it brings."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAME = "router-17-middleware"


@pytest.mark.docker
def test_a_wheel_measures_a_set_under_docker(tmp_path: Path, needs_an_index: None) -> None:
    from uv import find_uv_bin

    def uv(*argv: str | Path) -> None:
        subprocess.run([find_uv_bin(), *argv, "--quiet"], check=True)

    source, venv, places = tmp_path / "source", tmp_path / "venv", tmp_path / "set"
    for name in ("pytest_crab", "dockerfiles", "instances/quickstart"):
        shutil.copytree(ROOT / name, source / name, symlinks=True)
    for name in ("pyproject.toml", "setup.cfg", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    uv("build", "--out-dir", tmp_path, source)  # the wheel is made of the source distribution
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = {str(path.relative_to(source)) for path in source.glob("pytest_crab/**/*.*")}
    files |= {f"pytest_crab/dockerfiles/{path.name}" for path in (source / "dockerfiles").iterdir()}
    assert {name for name in files if "__pycache__" not in name} <= packed
    assert [name for name in packed if "__pycache__" in name] == []

    uv("venv", "--python", sys.executable, venv)
    uv("pip", "install", "--python", venv / "bin" / "python", wheel)
    subprocess.run([venv / "bin" / "pytest-crab", "quickstart", places], check=True)
    env = {name: text for name, text in os.environ.items() if not name.startswith(("CRAB_", "PYTEST_", "PYTHON"))}
    env |= {"PATH": f"{venv}/bin{os.pathsep}{env['PATH']}", "CRAB_PROOF_RUNS": "1"}
    argv = ["pytest", "-q", "--reviewer=human", "--crab-runtime=docker", "--crab-report=report", NAME]
    done = subprocess.run(argv, cwd=places, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (trial,) = map(json.loads, (places / "report" / "trials.jsonl").read_text().splitlines())
    assert {score["label"] for score in trial["scores"]} == {"caught", "intact"}, done.stdout
    assert (places / "report" / "index.html").is_file()
