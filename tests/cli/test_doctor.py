"""The doctor command."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_crab.cli.doctor import doctor


def test_tells_about_keys_by_name_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-geheim")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = CliRunner().invoke(doctor, [])
    assert result.exit_code == 0
    assert "geheim" not in result.output
    rows = dict(line.split("  ", 1) for line in result.output.splitlines())
    assert rows["ANTHROPIC_API_KEY"].strip() == "set"
    assert rows["OPENAI_API_KEY"].strip() == "not set"


def test_an_engine_that_is_not_there_is_a_row_and_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    result = CliRunner().invoke(doctor, [])
    assert result.exit_code == 0
    assert "docker engine" in result.output
    assert "base image         unknown" in result.output or "unknown: no engine answers" in result.output


def test_a_base_that_cannot_be_built_fails_with_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    result = CliRunner().invoke(doctor, ["--build-base"])
    assert result.exit_code == 1
    assert result.output.startswith("Error: the Docker engine failed while connecting")
    assert "Traceback" not in result.output


@pytest.mark.docker
def test_a_python_that_is_nowhere_is_named() -> None:
    result = CliRunner().invoke(doctor, ["--build-base", "--python", "3.2", "--from", "cpython"])
    assert result.exit_code == 1
    assert "CPython 3.2" in result.output or "Docker engine failed" in result.output
