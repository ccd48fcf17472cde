"""Recorded runs of BC-Bench: a made-up release that can be counted, and the real printed numbers."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.bcbench.reader import read_judged
from pytest_crab.benchmarks.bcbench.recorded import read_cases
from pytest_crab.cli import main
from pytest_crab.results.judged_runs import summarise_judged
from pytest_crab.statistics.signal import f_measure

DATA = Path(__file__).parents[4] / "shared" / "data" / "bcbench"
real = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data/bcbench is not beside this checkout")


def bcbench(folder: Path, **changes: Any) -> Path:
    """One run on two cases, of which one is clean; the review says two things, and one of them is expected."""
    counts = {"generated": 2, "expected": 1, "matched": 1, "incorrect": 1, "missed": 0, "ignored_matched": 0}
    run = {
        **{f"{name}_comment_count": count for name, count in counts.items()},
        "total": 2,
        "benchmark_version": "1.2",
        "agent_name": "bot",
        "model": "m",
        "experiment": None,
        "judge_model": "j",
        "instance_results": {"bug": 1.0, "clean": 0.0},
        **changes,
    }
    (folder / "code-review-results.json").write_text(json.dumps({"runs": [run]}))
    cases = [{"instance_id": "bug", "expected_comments": [{}]}, {"instance_id": "clean", "expected_comments": []}]
    (folder / "codereview.jsonl").write_text("".join(f"{json.dumps(case)}\n" for case in cases))
    return folder


def test_a_run_is_shown_with_the_version_of_its_cases(tmp_path: Path) -> None:
    told = CliRunner().invoke(main, ["report", "--recorded", str(bcbench(tmp_path))])
    assert told.exit_code == 0, told.output
    row = next(line for line in told.output.splitlines() if line.startswith("bot m "))
    assert row.split(maxsplit=2)[2].replace("  ", " ").startswith("2 cases of 1.2 ")
    assert [float(word) for word in row.split()[6:]] == [1, 1, 1, 1, 0, 50, 100, 66.7, 55.6, 83.3, 100]
    other = bcbench(tmp_path, expected_comment_count=3, missed_comment_count=2)
    told = CliRunner().invoke(main, ["report", "--recorded", str(other)])
    assert "runs on 2 cases of 1.2 counted 3 known issues; codereview.jsonl has 1 for them" in told.output


def test_a_release_without_texts_becomes_no_report(tmp_path: Path) -> None:
    folder, out = bcbench(tmp_path), str(tmp_path / "out")
    told = CliRunner().invoke(main, ["report", "--recorded", str(folder), "--out", out])
    assert (told.exit_code, "it has no texts of reviews" in told.output) == (1, True), told.output
    told = CliRunner().invoke(main, ["report", str(folder), "--out", out])
    assert (told.exit_code, "--out goes with --recorded" in told.output) == (2, True), told.output


@pytest.mark.parametrize("changes", [{"missed_comment_count": 7}, {"generated_comment_count": 9}])
def test_a_run_whose_counts_do_not_add_up_is_refused(tmp_path: Path, changes: dict[str, int]) -> None:
    told = CliRunner().invoke(main, ["report", "--recorded", str(bcbench(tmp_path, **changes))])
    assert (told.exit_code, "run 0 has counts that do not add up" in told.output) == (1, True), told.output


def test_a_checkout_has_its_files_in_two_folders(tmp_path: Path) -> None:
    before = read_judged(bcbench(tmp_path))
    places = {"code-review-results.json": "docs/_data/code-review.json", "codereview.jsonl": "dataset/codereview.jsonl"}
    for old, new in places.items():
        (tmp_path / new).parent.mkdir(parents=True)
        (tmp_path / old).rename(tmp_path / new)
    assert read_judged(tmp_path) == before
    told = CliRunner().invoke(main, ["report", "--recorded", str(tmp_path)])
    assert (told.exit_code, "means over cases" in told.output) == (0, False), told.output


def test_figures_of_cases_are_shown_as_recorded(tmp_path: Path) -> None:
    macro = {f"macro_{name}": 0.25 for name in ("precision", "recall", "f_beta_05", "f_beta_2")}
    bcbench(tmp_path, **macro, macro_f1=0.5, severity_mae=0.778, valid_review_output_rate=1.0)
    told = CliRunner().invoke(main, ["report", "--recorded", str(tmp_path)])
    last = told.output.splitlines()[-1].replace("2 cases of 1.2", "v").split()
    assert last == ["bot", "m", "v", "25.0", "25.0", "50.0", "25.0", "25.0", "0.778", "100.0"]
    data = json.loads(CliRunner().invoke(main, ["report", "--recorded", str(tmp_path), "--json"]).output)
    assert (data["cases"][0]["severity_error"], data["benchmark"]) == (0.778, "BC-Bench")


def test_a_part_of_a_release_is_named(tmp_path: Path) -> None:
    (bcbench(tmp_path) / "codereview.jsonl").unlink()
    told = CliRunner().invoke(main, ["report", "--recorded", str(tmp_path)])
    assert (told.exit_code, "codereview.jsonl: it cannot be read" in told.output) == (1, True), told.output


@real
def test_bcbenchs_published_rates_follow_from_its_counts() -> None:
    printed = json.loads((DATA / "code-review-results.json").read_bytes())["runs"]
    release = read_judged(DATA)
    assert len(release.runs) == len(printed) == 60
    for run, row in zip(release.runs, printed, strict=True):
        precision, recall = run.matched / (run.matched + run.incorrect), run.matched / run.expected
        for beta, key in ((1, "f1"), (0.5, "f_beta_05"), (2, "f_beta_2")):
            assert f_measure(precision, recall, beta) == pytest.approx(row[key], abs=1e-3)
    assert release.golden.startswith("235 known issues in 144 cases, 37 of them clean, ")
    assert len(summarise_judged(release).rates) == 12


@real
def test_bcbenchs_published_means_over_cases_follow_from_its_runs() -> None:
    printed = json.loads((DATA / "code-review-results.json").read_bytes())
    for run in printed["runs"]:
        assert run["macro_f1"] == pytest.approx(fmean(run["instance_results"].values()), abs=1e-3)
    published = {
        (one["agent_name"], one["model"], one["experiment"] is None, one["benchmark_version"]): one["macro_recall"]
        for one in printed["aggregate"]
    }
    found = list(read_cases(DATA))
    assert sorted(round(one.macro_recall or 0, 4) for one in found) == sorted(round(v, 4) for v in published.values())
    assert len(found) == 12
    errors = [run["severity_mae"] for run in printed["runs"]]  # five runs of each configuration
    assert fmean(one.severity_error or 0 for one in found) == pytest.approx(fmean(errors))
