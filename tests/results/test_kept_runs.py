"""Runs that a store keeps: their names, their order, and which of them the store shows."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.results.files import write_summary, write_trials
from pytest_crab.results.gate_record import Gate
from pytest_crab.results.kept_runs import kept_runs, new_run, old_runs, show_run, shown_run
from pytest_crab.results.loading import lacks_beside_shown, last_comparable, load_summary, trials_file
from pytest_crab.results.run_progress import PlannedRun, write_plan
from pytest_crab.results.summary import summarise
from pytest_crab.types import Reason, Trial


@pytest.fixture
def keep(tmp_path: Path, make_trial: Callable[..., Trial]) -> Callable[..., Path]:
    def keep(name: str, *instances: str, reason: Reason = Reason.GREEN) -> Path:
        folder = tmp_path / "runs" / name
        trials = [make_trial("mine", instance, reason) for instance in instances]
        write_trials(folder / "trials.jsonl", trials)
        write_summary(folder / "summary.json", summarise(trials))
        return folder

    return keep


def test_a_name_has_time_and_words_and_is_never_that_of_another(tmp_path: Path) -> None:
    names = []
    for _ in range(3):
        run = new_run(tmp_path, "b7ddb3b6", "mine+theirs at: " + "x" * 90, "")
        assert not run.exists()
        run.mkdir(parents=True)
        names.append(run.name)
    assert names == sorted(set(names))
    assert re.fullmatch(r"\d{8}-\d{6}\.\d{3}-b7ddb3b6-mine\+theirs-at-x{25}", names[0])


def test_without_a_link_the_newest_run_is_the_report(tmp_path: Path, keep: Callable[..., Path]) -> None:
    assert (shown_run(tmp_path), kept_runs(tmp_path)) == (None, [])
    first, second = keep("1", "a"), keep("2", "a")
    (tmp_path / "runs" / "3").mkdir()
    assert kept_runs(tmp_path) == [first, second], "what has nothing in it is no run"
    assert trials_file(tmp_path) == second / "trials.jsonl"
    show_run(tmp_path, first)
    assert trials_file(tmp_path).samefile(first / "trials.jsonl")


def test_a_link_takes_the_place_of_a_link_or_of_a_folder_whose_records_stay(
    tmp_path: Path, keep: Callable[..., Path]
) -> None:
    keep("../report", "old")
    for run in (keep("1", "a"), keep("2", "a")):
        show_run(tmp_path, run)
        assert (tmp_path / "report").samefile(run)
    moved = [run for run in kept_runs(tmp_path) if run.name.endswith("-report")]
    assert [(run / "trials.jsonl").is_file() for run in moved] == [True]
    assert {path.name for path in tmp_path.iterdir()} == {"report", "runs"}


def test_a_store_without_links_says_so_and_keeps_what_it_has(tmp_path: Path, keep: Callable[..., Path]) -> None:
    run = keep("1", "a")
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "mine.txt").write_text("")
    with pytest.MonkeyPatch.context() as patch:

        def refuse(*_: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        patch.setattr(Path, "symlink_to", refuse)
        with pytest.raises(OSError, match="not permitted"):
            show_run(tmp_path, run)
    assert (tmp_path / "report" / "mine.txt").is_file()


def test_the_last_two_whole_runs_of_the_same_oracles(tmp_path: Path, keep: Callable[..., Path]) -> None:
    with pytest.raises(BadInput, match="no two whole runs"):
        last_comparable(tmp_path)
    first, _, third = keep("1", "a", "b"), keep("2", "a"), keep("3", "a", "b", reason=Reason.FAILED)
    assert last_comparable(tmp_path) == (first, third)
    keep("4", "a", "b", reason=Reason.NOT_RUN)
    (keep("5", "a", "b") / "summary.json").unlink()
    assert last_comparable(tmp_path) == (first, third), "neither an interrupted nor a killed run is whole"
    fourth = keep("6", "a")
    assert last_comparable(tmp_path) == (tmp_path / "runs" / "2", fourth)


def test_a_run_of_another_version_is_summed_up_from_its_trials_or_passed_over(
    tmp_path: Path, keep: Callable[..., Path]
) -> None:
    first, old, third = keep("1", "a", "b"), keep("2", "a", "b"), keep("3", "a", "b")
    summary = dataclasses.replace(load_summary(old), shard="2/4", gate=Gate(exit_code=1, ruling="fail", sentence="No."))
    gate = {"exit_code": 1, "ruling": "fail", "sentence": "No."}
    own = {"shard": "2/4", "gate": gate, "reviewers": [{"by_kind": {}}]}
    (old / "summary.json").write_text(json.dumps({"schema": 1, "errors_as_misses": True, **own}))
    assert load_summary(old) == dataclasses.replace(summary, errors_as_misses=True)
    assert last_comparable(tmp_path) == (old, third)
    show_run(tmp_path, old)
    assert lacks_beside_shown(tmp_path, {"a"}, [], is_complete=False) == "was ended early"
    (old / "trials.jsonl").unlink()
    assert last_comparable(tmp_path) == (first, third)
    shutil.copy(old / "summary.json", first / "baseline.json")
    with pytest.raises(BadInput, match=r"baseline\.json: schema 1 is not known.* anew.*pytest-crab report DIR"):
        load_summary(first / "baseline.json")


def test_old_runs_are_neither_shown_nor_under_way(tmp_path: Path, keep: Callable[..., Path]) -> None:
    first, second, third = (keep(name, "a") for name in "123")
    show_run(tmp_path, second)
    write_plan(third, PlannedRun(trials=("a::mine",)))
    assert list(old_runs(tmp_path, time.time() + 60)) == [first]
    assert list(old_runs(tmp_path, time.time() - 3600)) == []
