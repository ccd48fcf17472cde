"""The compare-sets command: rankings of the same reviewers by injected faults and by comments of people."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.results.files import write_trials
from pytest_crab.types import Provenance, Reason, Trial

MakeTrial = Callable[..., Trial]


def write_run(folder: Path, make_trial: MakeTrial, provenance: Provenance, caught: Mapping[str, int]) -> None:
    """A run in which each reviewer catches the first so many of ten pull requests."""
    trials = [
        make_trial(name, f"pr-{at}", Reason.GREEN if at < count else Reason.FAILED, provenance=provenance)
        for name, count in caught.items()
        for at in range(10)
    ]
    write_trials(folder / "trials.jsonl", trials)


@pytest.fixture
def run(tmp_path: Path, make_trial: MakeTrial) -> Callable[..., Result]:
    write_run(tmp_path / "one", make_trial, Provenance.INJECTED, {"good": 9, "fair": 5, "poor": 1, "own": 3})
    write_run(tmp_path / "other", make_trial, Provenance.GITHUB, {"good": 8, "fair": 1, "poor": 4, "else": 3})

    def invoke(*options: str) -> Result:
        return CliRunner().invoke(main, ["compare-sets", str(tmp_path / "one"), str(tmp_path / "other"), *options])

    return invoke


def test_rates_stand_apart_and_places_that_change_are_named(run: Callable[..., Result]) -> None:
    done = run()
    assert done.exit_code == 0, done.output
    assert "ONE: injected faults" in done.output
    assert "OTHER: not injected" in done.output
    assert [line.split()[0] for line in done.output.splitlines()[1:5] if line.startswith(("good", "fair", "poor"))] == [
        "good", "fair", "poor",
    ]  # fmt: skip
    assert "tau-b 0.33" in done.output
    assert "fair is above poor on ONE, and below on OTHER" in done.output
    found = json.loads(run("--json").output)
    assert found["injected"] == [True, False]
    assert found["ranks"]["low"] <= found["ranks"]["tau"] <= found["ranks"]["high"]


def test_too_few_reviewers_in_both_cannot_be_ranked(run: Callable[..., Result]) -> None:
    done = run("--reviewer=good", "--reviewer=fair")
    assert (done.exit_code, "3 are needed" in done.output) == (1, True)
    assert "own is not in both runs" in run("--reviewer=own").output
