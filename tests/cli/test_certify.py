"""The certify command, from end to end: real trees, real sandboxes, and where an index answers a real environment."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result

from pytest_crab.cli import main
from pytest_crab.instances import load_instance

pytestmark = pytest.mark.bubblewrap

INSTANCE = """\
schema: 1
id: {id}
provenance: {provenance}
repo: owner/shop
license: MIT
pull_request: {{number: 7, title: Add a cart}}
source:
  {source}
environment:
  dockerfile: python
  timeout: 60
comments:
  - id: c0
    path: shop.py
    body: This should say two.
    category: functional
    kind: behavioral
    oracle: oracles/test_c0.py
"""
TREE = "tree: {path: ../projects/shop, head: head.diff, reference: reference.diff}"
CHANGE = "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n ONE = 1\n-{}\n+{}\n"
RED_THEN_GREEN = "import shop\n\ndef test_two() -> None:\n    assert shop.TWO == 2\n"


def write(name: str, oracle: str = RED_THEN_GREEN) -> Path:
    folder = Path("set", name)
    (folder / "oracles").mkdir(parents=True)
    (folder / "oracles" / "test_c0.py").write_text(oracle)
    (folder / "head.diff").write_text(CHANGE.format("TWO = 0", "TWO = 3"))
    (folder / "reference.diff").write_text(CHANGE.format("TWO = 3", "TWO = 2"))
    (folder / "instance.yaml").write_text(INSTANCE.format(id=name, source=TREE, provenance="authored"))
    project = Path("set", "projects", "shop")
    project.mkdir(parents=True, exist_ok=True)
    (project / "shop.py").write_text("ONE = 1\nTWO = 0\n")
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["certify", "--runtime=local", *arguments], catch_exceptions=False)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_is_given_is_proved_as_it_is_and_written_down() -> None:
    folder = write("a")
    before = (folder / "instance.yaml").read_bytes()
    result = run("set")
    assert result.exit_code == 0, result.output
    first, last = result.output.splitlines()
    assert first.startswith("a c0: proved (given, ")
    assert first.endswith(": 1 test, 2 runs")
    assert last == "1 of 1 oracles proved; instances by rung: 1 given"
    assert (folder / "instance.yaml").read_bytes() == before
    entry = json.loads(Path("set/proofs.json").read_text())["instances"]["a"]
    assert entry["oracles"]["c0"]["tests"] == ["test_c0.py::test_two"]
    assert list(Path(".crab").rglob(f"*{entry['oracles']['c0']['key']}*"))


def test_every_oracle_that_is_not_proved_has_its_sentence() -> None:
    write("green", "def test_two() -> None:\n    assert True\n")
    write("right")
    result = run("set", "--jobs=2", "--no-write")
    assert result.exit_code == 1
    lines = result.output.splitlines()
    because = "the oracle of c0 is not red on head: no expected test failed (all passed)"
    assert lines[0] == f"green c0: not proved: {because}"
    assert lines[1].startswith("right c0: proved")
    assert lines[2] == "1 of 2 oracles proved; instances by rung: 1 given"
    assert not Path("set/proofs.json").exists()


def test_faults_of_files_are_told_before_anything_runs() -> None:
    folder = write("a")
    (folder / "oracles" / "test_c0.py").unlink()
    result = run("set")
    assert result.exit_code == 1
    assert "comments[0].oracle.file is 'oracles/test_c0.py', which is not there" in result.output
    assert not Path(".crab").exists()


def test_no_instance_is_a_usage_error() -> None:
    Path("empty").mkdir()
    result = run("empty")
    assert result.exit_code == 2
    assert "there is no instance.yaml at or below empty" in result.output


@functools.cache
def lack_of_an_index() -> str | None:
    if importlib.util.find_spec("uv") is None:
        return "uv is not installed"
    from uv import find_uv_bin

    argv = [find_uv_bin(), "pip", "compile", "-", "--quiet", "--no-cache"]
    done = subprocess.run(argv, input=b"iniconfig\n", capture_output=True, check=False, timeout=60)
    return None if done.returncode == 0 else "no package index answers"


def upstream(folder: Path) -> dict[str, str]:
    """A repository whose pull request needs a package that it declares."""
    who = {"GIT_AUTHOR_NAME": "dev", "GIT_AUTHOR_EMAIL": "dev@example.org", "PATH": os.environ["PATH"]}
    when = "2024-03-01T12:00:00+0000"
    env = {**who, "GIT_COMMITTER_NAME": "dev", "GIT_COMMITTER_EMAIL": "d@example.org", "GIT_COMMITTER_DATE": when}

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    folder.mkdir(parents=True)
    git("init", "--quiet", "--initial-branch=main")
    shas = {}
    for name, number in (("base", 0), ("head", 3), ("merged", 2)):
        (folder / "shop.py").write_text(f"import iniconfig\nimport sortedcontainers\nONE = 1\nTWO = {number}\n")
        (folder / "setup.py").write_text(
            "from setuptools import setup\n"
            "setup(name='shop', version='1', py_modules=['shop'], install_requires=['sortedcontainers'])\n"
        )
        git("add", ".")
        git("commit", "--quiet", "-m", name)
        shas[name] = git("rev-parse", "HEAD")
    return shas


def test_an_environment_is_found_as_of_the_heads_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lack = lack_of_an_index()
    if lack is not None:
        pytest.skip(lack)
    shas = upstream(tmp_path / "mirror" / "owner" / "shop")
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))
    folder = write("real")
    facts = ", ".join(f"{name}: {sha}" for name, sha in shas.items())
    source = f"git: {{url: https://git.invalid/owner/shop, {facts}}}"
    (folder / "instance.yaml").write_text(INSTANCE.format(id="real", source=source, provenance="github"))
    result = run("set")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("real c0: proved (declared, ")
    found = load_instance(folder)
    assert found.tags["rung"] == "declared"
    assert found.environment.resolved == "2024-03-02T12:00:00Z"
    assert found.environment.timeout == 60
    assert {"pytest==8.0.2", "sortedcontainers==2.4.0"} <= set(found.environment.packages)
    again = run("set")
    assert again.output.startswith("real c0: proved (given, ")


def test_it_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from pytest_crab.cli import main; main()", "certify", "--help"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Prove the oracles of the instances at or below PATHS." in done.stdout
