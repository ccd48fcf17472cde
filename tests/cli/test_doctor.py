"""The doctor command."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

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


@pytest.mark.parametrize(
    ("version", "row"), [("2.17.1", "old: git version 2.17.1; 2.25 or later is needed"), ("2.25.0", "yes: git version")]
)
def test_a_git_that_is_too_old_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, row: str) -> None:
    (tmp_path / "git").write_text(f"#!/bin/sh\necho git version {version}\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    rows = dict(line.split("  ", 1) for line in CliRunner().invoke(main, ["doctor"]).output.splitlines())
    assert rows["git"].strip().startswith(row)


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
