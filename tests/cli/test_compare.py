"""The compare command without names: the last two runs of the same oracles that the store keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_crab.cli.compare import compare
from pytest_crab.results.files import write_summary, write_trials
from pytest_crab.results.summary import summarise
from pytest_crab.types import Reason, Trial


def test_without_names_the_last_two_runs_are_compared_and_named(
    tmp_path: Path, make_trial: Callable[..., Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = CliRunner().invoke(compare, [])
    assert (refused.exit_code, "no two whole runs" in refused.output) == (2, True)
    runs = {"1-mine": ("a", Reason.FAILED), "2-mine": ("b", Reason.GREEN), "3-mine": ("a", Reason.GREEN)}
    for name, (instance, reason) in runs.items():
        trials = [make_trial("mine", instance, reason)]
        folder = tmp_path / ".crab" / "runs" / name
        write_trials(folder / "trials.jsonl", trials)
        write_summary(folder / "summary.json", summarise(trials))
    done = CliRunner().invoke(compare, [])
    assert done.exit_code == 0, done.output
    assert "comparing .crab/runs/1-mine with .crab/runs/3-mine" in done.stderr
    assert "1 more of 1 oracle caught" in done.stdout


@pytest.mark.parametrize("words", [["1-mine"], ["--recorded", "."]])
def test_one_name_and_recorded_tools_without_names_are_refused(words: list[str]) -> None:
    done = CliRunner().invoke(compare, words)
    assert (done.exit_code, "name BEFORE and AFTER" in done.output) == (2, True)
