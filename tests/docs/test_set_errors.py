"""The README of each set gives the error rates of its oracles that ``check --stats`` prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main

SETS = Path(__file__).parents[2] / "instances"


@pytest.mark.slow(reason="the error rates of whole sets are reckoned")
@pytest.mark.parametrize("name", ["github", "pypi", "quickstart"])
def test_the_readme_of_a_set_has_the_measured_error_rates(name: str) -> None:
    printed = CliRunner().invoke(main, ["set", "check", "--stats", str(SETS / name)]).output
    rates = re.findall(r"(mutants|near misses|right fixes) \S+ \((\d+ of \d+)\)", printed)
    assert sorted(source for source, _ in rates) == ["mutants", "near misses", "right fixes"]
    table = (SETS / name / "README.md").read_text("utf-8")
    for source, rate in rates:
        assert rate in table, (source, rate)
