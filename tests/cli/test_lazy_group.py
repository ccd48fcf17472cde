"""Names of commands: the nearest one is named where there is none, or the group that has it."""

from __future__ import annotations

import io
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.cli.lazy_group import LazyGroup
from pytest_crab.registry import Subcommand


@pytest.mark.parametrize(("called", "meant"), [("new", "set new"), ("shwo", "show"), ("import", "set import")])
def test_the_command_that_was_meant(called: str, meant: str) -> None:
    done = CliRunner().invoke(main, [called])
    assert done.exit_code == 2
    assert f"did you mean {meant}?" in done.output


class _Reading(LazyGroup):
    """A group with one command, which reads a file."""

    def load(self, name: str, command: Subcommand) -> click.Command:
        return click.Command(name, callback=lambda: Path("nowhere").read_text("utf-8"))


def test_a_file_that_cannot_be_read_is_an_error_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    group = _Reading("crab", sections=lambda: {"All": {"read": Subcommand("", "")}})
    done = CliRunner().invoke(group, ["read"])
    assert (done.exit_code, done.exception.__class__) == (1, SystemExit)
    assert "No such file or directory: nowhere" in done.output


class _Wrong(LazyGroup):
    """A group with one command, which asks for what no machine has."""

    def load(self, name: str, command: Subcommand) -> click.Command:
        return click.Command(name, callback=io.StringIO().fileno)


def test_a_call_that_is_wrong_on_each_machine_keeps_its_traceback() -> None:
    group = _Wrong("crab", sections=lambda: {"All": {"ask": Subcommand("", "")}})
    assert isinstance(CliRunner().invoke(group, ["ask"]).exception, io.UnsupportedOperation)


def test_settings_that_are_no_text_are_an_error_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crab.yaml").write_bytes(b"agents: {}\n# caf\xe9\n")
    done = CliRunner().invoke(main, ["set", "curate", "init"])
    assert (done.exit_code, done.exception.__class__) == (1, SystemExit)
    assert "line 2 is not UTF-8" in done.output
