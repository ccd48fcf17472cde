"""The init command: what it writes is read by a run, and nothing of the user's is replaced unasked."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.cli.init import _gate_terms
from pytest_crab.clients import installed
from pytest_crab.instances import load_instances
from pytest_crab.results.files import write_summary
from pytest_crab.results.summary import summarise
from pytest_crab.settings import load_settings
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import Reason, Trial

QUICKSTART = Path(__file__).parents[2] / "instances" / "quickstart"

#: Imported before tests run pytest within this process, which takes away the modules that it brought.
IMPORTED = [import_module(f"pytest_crab.{name}") for name in ("agents.claude_code", "reviewers.single_shot")]

WHOLE = ("--reviewer=single-shot", "--setting=model=claude-m", "--set=instances/mine", "--ci=github")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder on a machine without clients."""
    monkeypatch.setenv("CRAB_CLIENTS", str(tmp_path))
    monkeypatch.setattr(installed, "_on_path", lambda _kind: None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["init", *arguments], catch_exceptions=False)


def test_without_a_terminal_options_answer(here: Path) -> None:
    done = init(*WHOLE)
    assert done.exit_code == 0
    assert done.output.splitlines()[-1] == "first: pytest --experiment nightly --crab-plan"
    assert "no instance lies in instances/mine yet: pytest-crab quickstart " in done.output
    assert "claude-code is not installed here: pytest-crab doctor --install-client claude-code" in done.output
    settings = load_settings(here)
    assert (settings.reviewers["mine"].use, settings.reviewers["mine"].settings) == (
        "single-shot",
        {"model": "claude-m"},
    )
    nightly, gate = settings.experiments["nightly"], settings.experiments["gate"]
    assert nightly.set == ("instances/mine",)
    assert nightly.options == {"reviewers": ["mine"], "agents": ["claude-code"], "runtime": "docker", "budget": "20"}
    assert (gate.gate, gate.options["replay"]) == (
        {"baseline": "baseline.json", "margin": "5", "fail-on": "worse"},
        "true",
    )


@pytest.mark.parametrize(
    ("ci", "file"), [("github", ".github/workflows/review-agent.yml"), ("gitlab", ".gitlab-ci.yml"), ("none", None)]
)
def test_the_workflow_is_the_one_of_the_docs(here: Path, ci: str, file: str | None) -> None:
    assert init("--reviewer=ruff", "--set=a", f"--ci={ci}").exit_code == 0  # with claude-code for an agent
    written = [str(path.relative_to(here)) for path in here.rglob("*") if path.is_file()]
    assert sorted(written) == sorted(["crab.yaml", *([file] if file else [])])
    if file:
        docs = Path(__file__).parents[2] / "docs" / "examples"
        name = "github-actions.yml" if ci == "github" else "gitlab-ci.yml"
        assert (here / file).read_text() == (docs / name).read_text()


@pytest.mark.parametrize(("ci", "count"), [("github", 2), ("gitlab", 1)])
def test_the_workflow_installs_the_clients_that_are_needed(here: Path, ci: str, count: int) -> None:
    for reviewer, agent, clients in (("pr-agent", "codex", "pr-agent codex"), ("ruff", "suggestions", '""')):
        done = init(f"--reviewer={reviewer}", f"--agent={agent}", "--set=a", f"--ci={ci}", "--overwrite")
        assert done.exit_code == 0, done.output
        text = "".join(path.read_text() for path in here.rglob("*.yml"))
        assert text.lower().count(f"clients: {clients}\n") == count


@pytest.mark.parametrize(("ci", "start"), [("github", "run: if"), ("gitlab", "- if [")])
@pytest.mark.parametrize("count", [2, 17])
def test_the_nightly_run_is_compared_by_the_gates_terms(here: Path, ci: str, start: str, count: int) -> None:
    """The written line itself is run: an unchanged reviewer is green, and without a baseline there is nothing to do."""
    for folder in sorted(path.parent for path in QUICKSTART.glob("*/instance.yaml"))[:count]:
        shutil.copytree(folder, here / "set" / folder.name)
    shutil.copytree(QUICKSTART / "projects", here / "set" / "projects")
    assert init("--reviewer=ruff", "--agent=suggestions", "--set=set", f"--ci={ci}").exit_code == 0
    terms = load_settings(here).experiments["gate"].gate
    (workflow,) = here.rglob("*.yml")
    (line,) = [one.strip() for one in workflow.read_text().splitlines() if " compare " in one]
    assert line.startswith(start)
    assert f"--margin {terms['margin']}" in line
    assert ("--fail-on worse" in line) is (terms.get("fail-on") == "worse") is (count == 2)
    command = ["bash", "-c", line[line.index("if") :]]
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    assert subprocess.run(command, cwd=here, env=env).returncode == 0
    write_summary(here / "nightly" / "summary.json", summarise(list(ran(here / "set"))))
    shutil.copy(here / "nightly" / "summary.json", here / "baseline.json")
    done = subprocess.run(command, cwd=here, env=env, capture_output=True, text=True)
    assert (done.returncode, "the same verdict on all" in done.stdout) == (0, True), done.stdout


def ran(folder: Path) -> Iterator[Trial]:
    """A run of the set that caught the first comment of each pull request."""
    for instance in load_instances(folder):
        results = [
            comment_result(
                comment.id,
                category=comment.category,
                kind=comment.kind,
                reason=Reason.FAILED if at else Reason.GREEN,
            )
            for at, comment in enumerate(instance.with_oracles)
        ]
        yield trial_of(
            instance=instance.id,
            repo=instance.repo,
            provenance=instance.provenance,
            reviewer="mine",
            agent="suggestions",
            runtime="docker",
            results=tuple(results),
        )


@pytest.mark.parametrize(
    ("arguments", "gate", "nightly"),
    [
        (("--reviewer=ruff", "--agent=suggestions"), [], []),
        (("--reviewer=ruff",), [], ["ANTHROPIC_API_KEY"]),
        (("--reviewer=codex",), [], ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"]),
        (
            ("--reviewer=command", "--setting=command=[bot]", "--setting=pass_env=[OUR_KEY]", "--agent=suggestions"),
            ["OUR_KEY"],
            ["OUR_KEY"],
        ),
    ],
)
def test_what_is_written_has_the_keys_that_are_needed(
    here: Path, arguments: tuple[str, ...], gate: list[str], nightly: list[str]
) -> None:
    done = init(*arguments, "--set=a", "--ci=github")
    assert done.exit_code == 0, done.output
    jobs = yaml.safe_load((here / ".github" / "workflows" / "review-agent.yml").read_text())["jobs"]
    assert [list(jobs[name].get("env", {})) for name in ("gate", "shard")] == [gate, nightly]
    assert all(jobs[name]["env"][key] == f"${{{{ secrets.{key} }}}}" for name in ("shard",) for key in nightly)
    asks = any(key not in gate for key in nightly)
    text = (here / "crab.yaml").read_text()
    assert ("cassettes" in text, "replay" in text, "budget" in text, "key" in text.split("experiments")[0]) == (
        asks,
        asks,
        asks,
        asks,
    )
    assert ("as secrets: " + ", ".join(nightly) in done.output) is bool(nightly)


@pytest.mark.parametrize("written", ["python3 bot.py --fast", "[python3, bot.py, --fast]"])
def test_a_program_is_written_as_to_a_shell_and_sees_its_own_files(here: Path, written: str) -> None:
    (here / "bot.py").touch()
    (here / "lib").mkdir()
    arguments = (f"--setting=command={written}", "--agent=suggestions", "--set=a", "--ci=none")
    assert init("--reviewer=command", *arguments).exit_code == 0
    own = load_settings(here).reviewers["mine"].settings
    assert (own["command"], own["files"]) == (["python3", "bot.py", "--fast"], ["bot.py"])
    assert init("--reviewer=command", *arguments, "--setting=files=[lib]", "--overwrite").exit_code == 0
    assert load_settings(here).reviewers["mine"].settings["files"] == ["lib"]


def test_what_is_there_is_left_alone(here: Path) -> None:
    (here / "crab.yaml").write_text("reviewers: {}\n")
    done = init(*WHOLE)
    assert done.exit_code == 1
    assert done.output.startswith("Error: crab.yaml: already there")
    assert done.output.count("\n") == 1
    assert not (here / ".github").exists()
    assert init(*WHOLE, "--overwrite").exit_code == 0
    assert "mine" in load_settings(here).reviewers


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "there is no terminal to ask at: add --reviewer, as in --reviewer=claude-code"),
        (("--reviewer=ruff",), "there is no terminal to ask at: add --set, as in --set=instances/mine"),
        (("--reviewer=rufff",), "'rufff' is no reviewer (did you mean ruff?)"),
        (("--reviewer=single-shot",), "single-shot needs model: add --setting model=VALUE"),
        (("--reviewer=ruff", "--setting=colour=red"), "colour is not a known key"),
        (("--reviewer=ruff", "--agent=simulatd"), "'simulatd' is no agent (did you mean simulated?)"),
        (("--reviewer=command",), "command needs command: add --setting 'command=./bot'"),
        (("--reviewer=command", "--setting=command=[bot"), "--setting command is '[bot' and cannot be read"),
        (("--reviewer=command", "--setting=command=bot 'x"), "No closing quotation"),
        ((f"--reviewer={__file__}",), "a program of yours is --reviewer command --setting 'command=python3 "),
        (("--reviewer=ruff", "--agent=tool-loop"), "--agent: tool-loop needs model; name another"),
        (("--reviewer=ruff", "--set=../x"), "--set is '../x'; it should be a path below this folder"),
    ],
)
def test_each_error_is_a_sentence_and_writes_nothing(here: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = init(*arguments)
    assert done.exit_code == 2
    assert sentence in done.output
    assert list(here.iterdir()) == []


def test_at_a_terminal_it_asks(here: Path) -> None:
    master, slave = pty.openpty()
    argv = [str(Path(sys.executable).with_name("pytest-crab")), "init"]
    process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, cwd=here)
    os.close(slave)
    os.write(master, b"single-shot\ngpt-m\nsets/own\ngitlab\n")
    assert process.wait(300) == 0
    text = os.read(master, 65536).decode()
    os.close(master)
    for question in ("Which reviewer", "needs model", "In which folder", "Whose CI"):
        assert question in text
    settings = load_settings(here)
    assert settings.reviewers["mine"].settings == {"model": "gpt-m"}
    assert settings.experiments["gate"].set == ("sets/own",)
    assert (here / ".gitlab-ci.yml").is_file()


def test_a_gate_has_a_margin_that_its_set_decides(tmp_path: Path) -> None:
    """Quickstart's 17 pull requests decide one of some ten to twenty points."""
    shutil.copytree(QUICKSTART, tmp_path / "set")
    terms, said = _gate_terms(tmp_path / "set")
    assert list(terms) == ["margin"]
    assert 8 <= terms["margin"] <= 20
    assert said.startswith("17 pull requests with 39 oracles decide a margin of ")
    for folder in list((tmp_path / "set").glob("*-*"))[2:]:
        if folder.is_dir():
            shutil.rmtree(folder)
    terms, said = _gate_terms(tmp_path / "set")
    assert (terms["fail-on"], "which takes 6 pull requests" in said) == ("worse", True)
