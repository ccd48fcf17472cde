"""The part of the public release that may lie beside the checkout."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_crab.benchmarks.ccrab import reader as ccrab
from pytest_crab.benchmarks.ccrab.importing import import_ccrab
from pytest_crab.benchmarks.ccrab.recorded import read_recording
from pytest_crab.benchmarks.ccrab.recorded_results import summarise_recording
from pytest_crab.benchmarks.ccrab.statistics import release_statistics
from pytest_crab.instances import load_instances
from pytest_crab.types import Kind

RELEASE = Path(__file__).parents[4] / "shared" / "data" / "ccrab"

pytestmark = pytest.mark.skipif(not RELEASE.is_dir(), reason="../shared/data/ccrab is not beside this checkout")


def test_recorded_verdicts_give_the_paper_s_numbers() -> None:
    summary = summarise_recording(ccrab.recording(ccrab.read(ccrab.find(RELEASE))))
    rows = {own.reviewer: own for own in summary.reviewers}
    human = rows.pop("human")
    repositories = {oracle.repo for oracle in human.oracles}
    assert (len(human.oracles), human.trials, len(repositories)) == (234, 184, 67)
    found = {name: (row.comments, row.overall.caught, row.notes[0].split(",")[0]) for name, row in rows.items()}
    assert found == {
        "codex": (324, 47, "no result of 20 instances"),
        "pr-agent": (524, 54, "no result of 6 instances"),
    }
    assert {name: f"{100 * (row.overall.macro or 0):.1f}" for name, row in rows.items()} == {
        "codex": "21.6",
        "pr-agent": "25.4",
    }
    assert summary.together.union == 68
    assert not any("no verdict on" in note for row in rows.values() for note in row.notes)


def test_every_row_is_imported_with_all_its_oracles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRAB_GIT_MIRROR", raising=False)
    done = import_ccrab(RELEASE, tmp_path / "set")
    assert (done.instances, done.comments, done.oracles) == (37, 49, 49)
    (note,) = done.rows  # its agent moved a file with git mv, and the release kept what was not staged
    assert note.startswith("ManimCommunity__manim-482@f2fd3e3: human: c0: recorded caught with an empty revision")
    assert dict(done.resolved_kinds) == {Kind.BEHAVIORAL: 45, Kind.STRUCTURAL: 189}
    instances = load_instances(tmp_path / "set")
    assert sum(len(instance.with_oracles) for instance in instances) == 49
    from_set = summarise_recording(read_recording(tmp_path / "set"))
    from_release = summarise_recording(ccrab.recording(ccrab.read(ccrab.find(RELEASE))))
    stages = "671 pull requests and 1313 comments"  # in no set
    assert all(any(stages in note for note in own.notes) for own in from_release.reviewers)
    assert [dataclasses.replace(own, notes=()) for own in from_set.reviewers] == [
        dataclasses.replace(own, notes=()) for own in from_release.reviewers
    ]


def test_its_sizes_are_near_those_of_table_4() -> None:
    """The paper has 42 and 192 tests by kind, 31.8 lines per test, and 418.1 modified lines over all 184 rows."""
    found = release_statistics(ccrab.read(ccrab.find(RELEASE)))
    assert (found.repositories, found.instances, found.comments, found.patches) == (67, 184, 234, 37)
    assert found.kinds == {"behavioral": 45, "structural": 189}
    assert (round(found.tests_per_instance or 0, 2), round(found.lines_per_test or 0, 1)) == (1.27, 31.5)
