"""The action and the workflows of CI: their schemas hold, and every shell step runs here, as it stands there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_crab.option_table import OPTIONS
from scripted_forge import ScriptedForge

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
SET = ROOT / "instances" / "quickstart"
CHOSEN = ("logparse-37-summary", "router-17-middleware")
ACTION = "OWNER/pytest-crab@main"

#: An agent that does the same to every pull request, and so no better with one reviewer than with another.
CRAB_YAML = """
agents:
  careful: {use: command, command: [sh, agent.sh], files: [agent.sh]}
experiments:
  nightly: {reviewers: [ruff], agents: [careful], set: instances, runtime: local, budget: 20}
  gate:
    reviewers: [ruff]
    agents: [careful]
    set: instances
    runtime: local
    replay: true
    gate: {baseline: baseline.json, margin: 5}
"""
AGENT = """cat > /dev/null
echo '# looked at' >> README.md
echo '{"schema": 1}'
"""


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(path.read_text())
    return document


def action() -> dict[str, Any]:
    return read(ROOT / "action.yml")


def jobs() -> dict[str, Any]:
    found: dict[str, Any] = read(EXAMPLES / "github-actions.yml")["jobs"]
    return found


def gitlab() -> dict[str, Any]:
    return read(EXAMPLES / "gitlab-ci.yml")


def expand(text: object, context: Mapping[str, str]) -> str:
    """A text of a workflow with its expressions replaced, of which it has names only."""
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: context[found[1]], str(text))


def holds(condition: str, context: Mapping[str, str], *, failed: bool) -> bool:
    """Whether a step is run: names, texts, == and != and && are all that conditions have here."""
    parts = [part.strip() for part in condition.split("&&")]
    if failed and "always()" not in parts:
        return False
    for part in parts:
        if part and part != "always()":
            name, sign, wanted = re.fullmatch(r"([\w.-]+) (==|!=) '(.*)'", part).groups()  # type: ignore[union-attr]
            if (context[name] == wanted) is not (sign == "=="):
                return False
    return True


class Machine:
    """A runner of a pipeline's: a checkout with two instances, and the files and variables that its steps have."""

    def __init__(self, folder: Path, crab_yaml: str = CRAB_YAML) -> None:
        self.folder = folder
        self.output, self.summary = folder / "output", folder / "step-summary.md"
        self.used: list[str] = []
        aside = folder / "aside"
        aside.mkdir()
        for program in ("python", "pytest-crab"):
            (aside / program).write_text('#!/bin/sh\necho "$@" >> "$(dirname "$0")/installed"\n')
            (aside / program).chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRAB_", "GITHUB_"))}
        self.variables = {
            **kept,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "CRAB_PROOF_RUNS": "1",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_OUTPUT": str(self.output),
        }
        for name in (*CHOSEN, "projects"):
            shutil.copytree(SET / name, folder / "instances" / name)
        (folder / "crab.yaml").write_text(crab_yaml)
        (folder / "agent.sh").write_text(AGENT)
        (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """One step, as GitHub runs it; installing is only noted, as what is installed is here."""
        argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        environ = self.variables | variables
        if "pip install" in script:
            environ["PATH"] = f"{self.folder / 'aside'}:{environ['PATH']}"
        return subprocess.run(argv, cwd=self.folder, env=environ, capture_output=True, text=True, check=False)

    def well(self, script: str, **variables: str) -> str:
        done = self.run(script, **variables)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def act(self, event: str = "pull_request", **given: str) -> tuple[bool, list[str]]:
        """Run the steps of the action with these inputs: whether it failed, and what each shell step printed."""
        known = action()["inputs"]
        assert given.keys() <= known.keys()
        context = {
            "github.action_path": str(ROOT), "github.event_name": event, "github.job": "gate", "github.run_id": "1",
            "github.run_attempt": "1", "github.token": self.variables.get("GITHUB_TOKEN", ""),
        }  # fmt: skip
        for name, one in known.items():
            context[f"inputs.{name}"] = given.get(name, expand(one["default"], context))
        failed, printed = False, []
        for step in action()["runs"]["steps"]:
            if not holds(step.get("if", ""), context, failed=failed):
                continue
            if "uses" in step:
                self.used.append(step["uses"])
                assert all(expand(value, context) for value in step["with"].values())
                continue
            done = self.run(step["run"], **{name: expand(text, context) for name, text in step.get("env", {}).items()})
            printed.append(done.stdout + done.stderr)
            failed |= done.returncode != 0 and not step.get("continue-on-error", False)
        return failed, printed

    def installed(self) -> list[str]:
        return (self.folder / "aside" / "installed").read_text().splitlines()


def inputs_of(job: str, **matrix: object) -> dict[str, str]:
    """The inputs with which a job of the workflow uses the action."""
    (step,) = [step for step in jobs()[job]["steps"] if step.get("uses") == ACTION]
    context = {f"matrix.{name}": str(value) for name, value in matrix.items()}
    return {name: expand(value, context) for name, value in step["with"].items()}


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[ScriptedForge]:
    with ScriptedForge() as found:
        yield found


def open_pull_request(machine: Machine, forge: ScriptedForge) -> None:
    event = {"pull_request": {"number": 7, "head": {"sha": "b" * 40, "repo": {"full_name": "owner/name"}}}}
    (machine.folder / "event.json").write_text(json.dumps(event))
    machine.variables |= {
        "GITHUB_ACTIONS": "true", "GITHUB_API_URL": forge.url, "GITHUB_SERVER_URL": forge.url,
        "GITHUB_REPOSITORY": "owner/name", "GITHUB_RUN_ID": "1", "GITHUB_TOKEN": next(iter(forge.accounts)),
        "GITHUB_EVENT_PATH": str(machine.folder / "event.json"),
    }  # fmt: skip


@pytest.fixture
def proved(first_run: Path, tmp_path: Path) -> Machine:
    """A machine whose cache has the proofs and environments of the two instances."""
    machine = Machine(tmp_path)
    for kind in ("cache", "steps/proof"):
        shutil.copytree(first_run / ".crab" / kind, tmp_path / ".crab" / kind, symlinks=True)
    return machine


@pytest.mark.slow(reason="a pipeline's scripts run whole, each a process of its own")
@pytest.mark.bubblewrap
def test_the_github_workflow_from_night_to_gate(tmp_path: Path, proved: Machine, forge: ScriptedForge) -> None:
    machine = proved
    assert jobs()["shard"]["strategy"]["matrix"]["shard"] == [1, 2, 3, 4]
    for shard in (1, 2):  # of two, as there are two instances here
        given = inputs_of("shard", shard=shard)
        failed, printed = machine.act("schedule", **{**given, "options": given["options"].replace("/4", "/2")})
        assert not failed, printed
    install, merge, compare, summary = [step["run"] for step in jobs()["merge"]["steps"] if "run" in step]
    machine.well(install)
    assert "ruff" in machine.well(merge)
    assert machine.well(compare) == "", "without a baseline there is nothing to compare"
    shutil.copy(tmp_path / "nightly" / "summary.json", tmp_path / "baseline.json")
    assert machine.well(compare).startswith("ruff: cannot tell whether it is worse than baseline.json: ")
    machine.well(summary)

    open_pull_request(machine, forge)
    failed, (_, ran, _, commented) = machine.act(**inputs_of("gate"))
    assert failed
    assert "even with every verdict unchanged this gate cannot pass at a margin of 5 points" in ran
    assert "Gate inconclusive, exit status 8." in ran
    assert (tmp_path / "output").read_text().splitlines()[-1] == "status=8"
    assert "comment written" in commented
    assert "::error title=pytest-crab::Gate inconclusive, exit status 8." in commented
    assert "ruff: nothing lost and nothing gained against the baseline" in forge.notes[0].body

    failed, _ = machine.act(**inputs_of("gate"), margin="100")
    assert not failed
    assert [note.edits for note in forge.notes] == [1]
    assert "Gate passed, exit status 0." in forge.notes[0].body
    assert (tmp_path / "crab-report" / "junit.xml").is_file()
    text = machine.summary.read_text()
    assert text.count("## Results") == 5
    assert machine.installed()[:2] == [f"-m pip install {ROOT}[models,comment]", "doctor --install-client claude-code"]


def test_a_run_that_is_refused_fails_and_the_rest_of_the_steps_do_not(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    failed, printed = machine.act(experiment="nighly", **{"allow-misses": "true", "comment": "true"})
    assert failed
    assert "did you mean nightly?" in printed[1]
    assert printed[2:] == ["", ""], "no report, no summary and no comment"
    assert machine.used[-2:] == ["actions/upload-artifact@v4", "actions/cache/save@v4"]


def test_inputs_are_no_shell(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "reviewers: {}\n")
    hostile = "$(touch pwned); `touch pwned` *"
    given = dict.fromkeys(
        ("experiment", "instances", "reviewer", "agent", "options", "comment-name", "clients"), hostile
    )
    assert machine.act(**given, comment="true")[0]
    assert not (tmp_path / "pwned").exists()


def test_a_switch_turns_each_part_off(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    off = {"cache": "false", "summary": "false", "artifact": "", "python-version": "", "install": "./local"}
    _, printed = machine.act(reviewer="nobody", **off)
    assert machine.used == []
    assert len(printed) == 2
    assert machine.installed() == ["-m pip install ./local"]


@pytest.mark.slow(reason="a pipeline's scripts run whole, each a process of its own")
@pytest.mark.bubblewrap
def test_the_gitlab_scripts_run(tmp_path: Path, proved: Machine) -> None:
    machine = proved
    _, *installing = gitlab()[".pytest-crab"]["before_script"]
    machine.well("\n".join(installing), **gitlab()[".pytest-crab"]["variables"])
    assert machine.installed()[-1] == "doctor --install-client claude-code"
    (shard,) = gitlab()["crab-shard"]["script"]
    for index in ("1", "2"):
        machine.well(shard, CI_NODE_INDEX=index, CI_NODE_TOTAL="2")
    merge, _ = gitlab()["crab-merge"]["script"]
    machine.well(merge)
    shutil.copy(tmp_path / "nightly" / "summary.json", tmp_path / "baseline.json")
    (gate,) = gitlab()["crab-gate"]["script"]
    assert machine.run(gate).returncode == 8
    assert (tmp_path / "report" / "junit.xml").is_file()
    (after,) = gitlab()["crab-gate"]["after_script"]
    assert machine.well(after, GITLAB_TOKEN="") == ""


def test_a_shard_that_was_broken_fails_its_step(tmp_path: Path) -> None:
    (script,) = gitlab()["crab-shard"]["script"]
    done = Machine(tmp_path).run(script, CRAB_REVIEWER="nobody", CI_NODE_INDEX="1", CI_NODE_TOTAL="2")
    assert done.returncode != 0


@pytest.mark.parametrize(
    ("schema", "path", "more"),
    [
        ("github-actions", ROOT / "action.yml", ()),
        ("github-workflows", EXAMPLES / "github-actions.yml", ()),
        ("gitlab-ci", EXAMPLES / "gitlab-ci.yml", ("--data-transform=gitlab-ci",)),
    ],
)
def test_the_forge_would_take_it(
    schema: str, path: Path, more: tuple[str, ...], without: Callable[[str, str], Any]
) -> None:
    program = Path(sys.executable).with_name("check-jsonschema")
    if not program.exists():
        without("check-jsonschema", "check-jsonschema is not installed")
    argv = [program, "--builtin-schema", f"vendor.{schema}", *more, path]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", [ROOT / "action.yml", EXAMPLES / "github-actions.yml", EXAMPLES / "gitlab-ci.yml"])
def test_every_option_exists(path: Path) -> None:
    known = {f"--crab-{option.name}" for option in OPTIONS} | {option.variable for option in OPTIONS}
    assert set(re.findall(r"--crab-[a-z-]+[a-z]|\bCRAB_[A-Z_]+", path.read_text())) <= known


def test_the_page_has_every_input() -> None:
    page = (ROOT / "docs" / "how-to" / "ci.md").read_text().split("## GitHub Actions")[1].split("## GitLab")[0]
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert sorted(name for row in rows for name in re.findall(r"`([\w-]+)`", row)) == sorted(action()["inputs"])
