"""The doctor command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_crab import ecosystems
from pytest_crab.cli import main
from pytest_crab.clients import installed
from pytest_crab.testing.provider import ScriptedProvider, say


def test_tells_about_keys_by_name_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\necho v1 $ANTHROPIC_API_KEY\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-geheim")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 0
    assert "geheim" not in result.output
    assert "yes: v1\n" in result.output
    rows = dict(line.split("  ", 1) for line in result.output.splitlines())
    assert rows["ANTHROPIC_API_KEY"].strip() == "set"
    assert rows["OPENAI_API_KEY"].strip() == "not set"


def rows_with(monkeypatch: pytest.MonkeyPatch, folder: Path, **programs: str) -> dict[str, str]:
    """Return the doctor's rows where these scripts are the only programs on PATH, beside those of the system."""
    for name, script in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{folder}/none.sock")
    output = CliRunner().invoke(main, ["doctor"]).output
    return {name: state.strip() for name, state in (line.split("  ", 1) for line in output.splitlines())}


@pytest.mark.parametrize(
    ("version", "row"), [("2.17.1", "old: git version 2.17.1; 2.25 or later is needed"), ("2.25.0", "yes: git version")]
)
def test_a_git_that_is_too_old_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, row: str) -> None:
    rows = rows_with(monkeypatch, tmp_path, git=f"echo git version {version}")
    assert rows["git"].startswith(row)


def test_what_is_not_here_is_told_with_how_one_gets_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = rows_with(monkeypatch, tmp_path)
    tools = {one.tools.name: one.tools for one in ecosystems.installed() if one.tools is not None}
    linters = [one.linter for one in ecosystems.installed() if one.linter and not one.linter.is_of_environment]
    assert {"go", "java", "cpp"} <= tools.keys()
    assert all(rows[name] == f"no: {one.program} is not on PATH; {one.source}" for name, one in tools.items())
    absent = [one for one in linters if one.find() is None]  # ruff lies beside the interpreter
    assert absent
    assert all(rows[one.program] == f"no: not on PATH; {one.source}" for one in absent)
    assert "apt-get install git" in rows["git"]


def test_a_program_that_does_not_run_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = "echo it is broken >&2; exit 3"
    rows = rows_with(monkeypatch, tmp_path, rubocop=broken, cargo=broken, git=broken)
    assert rows["rubocop"].startswith(f"no: {tmp_path}/rubocop gave no version")
    assert "it is broken" in rows["rubocop"]
    assert rows["rust"].startswith(f"no: {tmp_path}/cargo does not run")
    assert rows["git"].startswith("no: it does not run")


def test_a_toolchain_that_is_old_or_not_whole_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = rows_with(monkeypatch, tmp_path, go="echo go version go1.18.1 linux/amd64", node="echo v20.1.0")
    assert rows["go"].startswith("old: 1.18.1; 1.20 or later is needed; ")
    assert rows["node"] == "partly: 20.1.0, but npm is not on PATH; apt-get install npm"
    rows = rows_with(monkeypatch, tmp_path, npm="")
    assert rows["node"] == f"yes: 20.1.0 at {tmp_path}/node"


@pytest.mark.docker
def test_the_bases_of_tools_are_listed() -> None:
    from pytest_crab.runtimes import docker_status

    before = docker_status.tools_bases(ecosystems.tools())
    output = CliRunner().invoke(main, ["doctor"]).output
    after = docker_status.tools_bases(ecosystems.tools())  # tests beside this one make bases and remove them
    (row,) = [line for line in output.splitlines() if line.startswith("bases of tools")]
    words = set(re.findall(r"[\w./:-]+[\w]", row))
    for name in before:
        assert {*before[name]} & {*after[name]} <= words
        assert before[name] or after[name] or name in words


def test_an_engine_that_is_not_there_is_a_row_and_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 0
    assert "docker engine" in result.output
    assert "base image         unknown" in result.output or "unknown: no engine answers" in result.output


def test_a_base_that_cannot_be_built_fails_with_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    result = CliRunner().invoke(main, ["doctor", "--build-base"])
    assert result.exit_code == 1
    assert result.output.startswith("Error: the Docker engine failed while connecting")
    assert "Traceback" not in result.output


@pytest.mark.docker
def test_a_python_that_is_nowhere_is_named() -> None:
    result = CliRunner().invoke(main, ["doctor", "--build-base", "--python", "3.2", "--from", "cpython"])
    assert result.exit_code == 1
    assert "CPython 3.2" in result.output or "Docker engine failed" in result.output


def test_clients_are_found_or_it_is_said_how_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "claude-code" / "node_modules" / "@anthropic-ai" / "claude-code-linux-x64" / "claude"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\necho 1.2.3\n")
    own.chmod(0o755)
    monkeypatch.setenv("CRAB_CLIENTS", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    result = CliRunner().invoke(main, ["doctor"])
    rows = dict(line.split("  ", 1) for line in result.output.splitlines())
    assert rows["claude-code"].strip() == f"yes: 1.2.3 at {own}"
    assert rows["codex"].strip() == "no: --install-client codex installs it"
    own.write_text("#!/bin/sh\nexit 1\n")
    installed._printed_version.cache_clear()
    result = CliRunner().invoke(main, ["doctor"])
    assert "install it again" in dict(line.split("  ", 1) for line in result.output.splitlines())["claude-code"]


def test_a_call_is_made_only_if_one_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-geheim")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ScriptedProvider(say("yes")) as provider:
        (tmp_path / "crab.yaml").write_text(
            f'models: {{providers: {{anthropic: {{base_url: "{provider.anthropic_url}"}}}}}}\n'
        )
        assert CliRunner().invoke(main, ["doctor"]).exit_code == 0
        assert provider.asked == []
        result = CliRunner().invoke(main, ["doctor", "--call", "anthropic:some-model", "--call", "openai:other"])
        assert result.exit_code == 0, result.output
        assert len(provider.asked) == 1
    rows = dict(line.split("  ", 1) for line in result.output.splitlines())
    assert rows["anthropic:some-model"].strip().startswith("yes: answered in ")
    assert "100 tokens in, 20 out, cost not known" in rows["anthropic:some-model"]
    assert "no: there is no key for openai" in rows["openai:other"]
    assert "geheim" not in result.output


def test_a_call_of_nobody_is_a_sentence() -> None:
    result = CliRunner().invoke(main, ["doctor", "--call", "nobody"])
    assert result.exit_code == 1
    assert "should be PROVIDER:MODEL" in result.output
