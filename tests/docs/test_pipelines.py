"""The pipelines in docs/examples: every shell step runs here, as it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_crab.plugin.option_table import OPTIONS

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
SET = ROOT / "instances" / "quickstart"
CHOSEN = ("logparse-37-summary", "router-17-middleware")

#: An agent that does the same to every pull request, and so no better with one reviewer than with another.
CRAB_YAML = """
agents:
  careful: {use: command, command: [sh, agent.sh], files: [agent.sh]}
"""
AGENT = """cat > /dev/null
echo '# looked at' >> README.md
echo '{"schema": 1}'
"""


def github() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text())
    return document


def gitlab() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text())
    return document


def steps(job: str, **matrix: object) -> list[str]:
    """The shell of a job of the workflow, but for installing what is installed here."""
    lines = [step["run"] for step in github()["jobs"][job]["steps"] if "run" in step]
    for name, value in matrix.items():
        lines = [line.replace(f"${{{{ matrix.{name} }}}}", str(value)) for line in lines]
    return [line for line in lines if "pip install" not in line]


class Runner:
    """A machine of the pipeline's: a checkout with two instances, and variables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.variables = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "REVIEWER": "ruff",
            "AGENT": "careful",
            "INSTANCES": "instances",
            "RUNTIME": "local",
            "BUDGET": "20",
            "CRAB_PROOF_RUNS": "1",
            "GITHUB_STEP_SUMMARY": str(folder / "step-summary.md"),
        }
        for name in (*CHOSEN, "projects"):
            shutil.copytree(SET / name, folder / "instances" / name)
        (folder / "crab.yaml").write_text(CRAB_YAML)
        (folder / "agent.sh").write_text(AGENT)
        (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """One step, as GitHub runs it."""
        argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(
            argv, cwd=self.folder, env=self.variables | variables, capture_output=True, text=True, check=False
        )

    def well(self, script: str, **variables: str) -> str:
        done = self.run(script, **variables)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout


@pytest.mark.bubblewrap
def test_the_github_workflow_from_night_to_gate(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    assert github()["jobs"]["shard"]["strategy"]["matrix"]["shard"] == [1, 2, 3, 4]
    for shard in (1, 2):  # of two, as there are two instances here
        (script,) = steps("shard", shard=shard)
        runner.well(script.replace(f"{shard}/4", f"{shard}/2"))
    merge, *rest = steps("merge")
    assert "ruff" in runner.well(merge)
    shutil.copy(tmp_path / "nightly" / "summary.json", tmp_path / "baseline.json")
    compare, summary = rest
    done = runner.run(compare)
    assert done.returncode == 8, "so few oracles cannot pass a margin of 3 points, even without any change"
    assert "Gate inconclusive, exit status 8. ruff: unchanged against " in done.stdout
    runner.well(summary)

    gate, show = steps("gate")
    done = runner.run(gate)
    assert done.returncode == 8
    assert "even with every verdict unchanged this gate cannot pass at a margin of 5 points" in done.stdout
    assert "Gate inconclusive, exit status 8." in done.stdout
    assert "ruff: unchanged against " in done.stdout
    met = runner.run(gate.replace("--crab-margin=5", "--crab-margin=100"))
    assert met.returncode == 0, met.stdout[-3000:]
    assert "Gate passed, exit status 0." in met.stdout
    runner.well(show)
    text = (tmp_path / "step-summary.md").read_text()
    assert text.count("## Results") == 2
    assert "Gate " in text


@pytest.mark.bubblewrap
def test_the_gitlab_scripts_run(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    (shard,) = gitlab()["shard"]["script"]
    for index in ("1", "2"):
        runner.well(shard, CI_NODE_INDEX=index, CI_NODE_TOTAL="2")
    merge, _ = gitlab()["merge"]["script"]
    runner.well(merge)
    shutil.copy(tmp_path / "nightly" / "summary.json", tmp_path / "baseline.json")
    (gate,) = gitlab()["gate"]["script"]
    assert runner.run(gate).returncode in (0, 8)
    assert (tmp_path / "report" / "crab.xml").is_file()


def test_a_shard_that_was_broken_fails_its_step(tmp_path: Path) -> None:
    (script,) = steps("shard", shard=1)
    done = Runner(tmp_path).run(script, REVIEWER="nobody")
    assert done.returncode != 0


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_every_option_exists(name: str) -> None:
    known = {f"--crab-{option.name}" for option in OPTIONS}
    assert set(re.findall(r"--crab-[a-z-]+", (EXAMPLES / name).read_text())) <= known
