"""Names of commands: the nearest one is named where there is none, or the group that has it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main


@pytest.mark.parametrize(("called", "meant"), [("new", "set new"), ("shwo", "show"), ("import", "set import")])
def test_the_command_that_was_meant(called: str, meant: str) -> None:
    done = CliRunner().invoke(main, [called])
    assert done.exit_code == 2
    assert f"did you mean {meant}?" in done.output
