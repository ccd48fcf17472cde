"""Recorded judgements of Martian and BC-Bench: made-up releases that can be counted, and the real printed numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.martian.judged import JudgedRelease, JudgedRun, read_judged
from pytest_crab.benchmarks.martian.judged_results import JudgedRates, judged_lines, summarise_judged
from pytest_crab.cli import main
from pytest_crab.errors import BadInput
from pytest_crab.statistics.signal import f_measure

DATA = Path(__file__).parents[4] / "shared" / "data"
martian_data = pytest.mark.skipif(
    not (DATA / "martian").is_dir(), reason="../shared/data/martian is not beside this checkout"
)
bcbench_data = pytest.mark.skipif(
    not (DATA / "bcbench").is_dir(), reason="../shared/data/bcbench is not beside this checkout"
)
ONE, TWO = "https://forge.example/o/r/pull/1", "https://forge.example/o/r/pull/2"


def result(*hits: str, missing: tuple[str, ...] = (), wrong: int = 0) -> dict[str, Any]:
    hit = [{"golden_comment": text, "matched_candidate": "x"} for text in hits]
    missed = [{"golden_comment": text} for text in missing]
    others = [{"candidate": str(number)} for number in range(wrong)]
    return {"true_positives": hit, "false_positives": others, "false_negatives": missed}


@pytest.fixture
def martian(tmp_path: Path) -> Path:
    """Three known issues, two of the same words; one tool under two judges, one of whom saw less."""
    (tmp_path / "golden_comments").mkdir()
    golden = [
        {
            "url": ONE,
            "pr_title": "One",
            "comments": [{"comment": "twice", "severity": level} for level in ("Low", "High")],
        },
        {"url": TWO, "pr_title": "Two", "comments": [{"comment": "once", "severity": "Low"}]},
    ]
    (tmp_path / "golden_comments" / "r.json").write_text(json.dumps(golden))
    found = {
        "kind": {ONE: {"bot": result("twice", missing=("twice",), wrong=2)}, TWO: {"bot": result("once")}},
        "stern": {ONE: {"bot": result(missing=("twice", "twice"), wrong=3)}, TWO: {"bot": result("once")}},
    }
    for judge, results in found.items():
        (tmp_path / "evaluations" / judge).mkdir(parents=True)
        (tmp_path / "evaluations" / judge / "evaluations.json").write_text(json.dumps(results))
    return tmp_path


def test_a_known_issue_counts_once_for_each_match_on_record(martian: Path) -> None:
    kind, stern = read_judged(martian).runs
    assert (kind.matched, kind.incorrect, kind.expected) == (2, 2, 3)
    assert list(kind.found.values()) == [True, False, True]
    assert (stern.matched, stern.incorrect) == (1, 3)


def test_rates_union_and_kappa(martian: Path) -> None:
    summary = summarise_judged(read_judged(martian))
    kind, stern = summary.rates
    assert (kind.precision, kind.recall) == (0.5, pytest.approx(2 / 3))
    assert (kind.f1, kind.false_alarms) == (pytest.approx(4 / 7), None)
    assert stern.precision == 0.25
    assert summary.union == {"kind": 2, "stern": 1}
    (agreement,) = summary.agreements  # agree on 2 of 3; by chance 2/3 * 1/3 + 1/3 * 2/3
    assert (agreement.compared, agreement.kappa) == (3, pytest.approx((2 / 3 - 4 / 9) / (5 / 9)))


@pytest.mark.parametrize(
    ("precision", "recall", "beta", "value"),
    [(0.5, 0.25, 1, 1 / 3), (0.5, 0.25, 2, 0.2777777778), (0.0, 0.0, 1, 0.0), (None, 0.5, 1, None)],
)
def test_the_f_measure(precision: float | None, recall: float | None, beta: float, value: float | None) -> None:
    assert f_measure(precision, recall, beta) == (None if value is None else pytest.approx(value))


def test_a_release_of_another_shape_is_one_sentence(martian: Path) -> None:
    (martian / "evaluations" / "kind" / "evaluations.json").write_text('{"x": 1}')
    with pytest.raises(BadInput, match="no release of this shape"):
        read_judged(martian)
    told = CliRunner().invoke(main, ["report", "--recorded", str(martian)])
    assert told.exit_code == 1
    assert "fetch it again" in told.output


def test_judgements_on_other_known_issues_are_refused(martian: Path) -> None:
    golden = json.loads((martian / "golden_comments" / "r.json").read_text())
    golden[1]["comments"].append({"comment": "found later", "severity": "Low"})
    (martian / "golden_comments" / "r.json").write_text(json.dumps(golden))
    told = CliRunner().invoke(main, ["report", "--recorded", str(martian)])
    assert told.exit_code == 1
    (sentence,) = told.output.strip().splitlines()
    assert "of https://forge.example/o/r/pull/2 it judged 1 known issues, and golden_comments has 2" in sentence


def test_a_part_of_a_release_is_named(martian: Path, tmp_path: Path) -> None:
    (martian / "evaluations" / "kind" / "evaluations.json").write_text("{")
    with pytest.raises(BadInput, match=r"evaluations\.json: it is no JSON"):
        read_judged(martian)
    for judge in ("kind", "stern"):
        (martian / "evaluations" / judge / "evaluations.json").unlink()
    with pytest.raises(BadInput, match="it has golden_comments and no evaluations"):
        read_judged(martian)
    (tmp_path / "other").mkdir()
    (bcbench(tmp_path / "other") / "codereview.jsonl").unlink()
    told = CliRunner().invoke(main, ["report", "--recorded", str(tmp_path / "other")])
    assert (told.exit_code, "codereview.jsonl: it cannot be read" in told.output) == (1, True), told.output


def test_reviews_of_a_release_become_a_report_that_every_ruler_reads(martian: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    told = CliRunner().invoke(main, ["report", "--recorded", str(martian), "--out", str(out)])
    assert told.exit_code == 0, told.output
    assert "bot: 66.7% (2 of 3 comments caught" in told.output
    compared = CliRunner().invoke(main, ["compare-rulers", str(out), "--similarity", "--json"])
    assert compared.exit_code == 0, compared.output
    found = json.loads(compared.output)
    assert found["rulers"] == ["kind", "stern", "bleu-4", "rouge-l", "chrf"]
    version = f"Martian, {read_judged(martian).golden}"
    assert {name: own["versions"] for name, own in found["recorded"].items()} == {"kind": [version], "stern": [version]}
    (pair,) = [one for one in found["pairs"] if (one["one"], one["other"]) == ("kind", "stern")]
    assert (pair["both"], pair["only_one"], pair["only_other"], pair["neither"]) == (1, 1, 0, 1)
    (differing,) = found["differing"]
    assert (differing["comment"], differing["text"], differing["matched"]) == ("c0", "twice", "x")
    matched = CliRunner().invoke(main, ["match", str(out), "--json"])  # its known issues are on no file
    (bot,) = json.loads(matched.output)["reviewers"]
    assert (bot["overall"]["line"]["comments"], bot["overall"]["line"]["recall"]["undefined"] is None) == (0, False)
    again = CliRunner().invoke(main, ["report", "--recorded", str(martian), "--out", str(out)])
    assert (again.exit_code, "there is something already" in again.output) == (1, True), again.output


def test_a_release_without_texts_becomes_no_report(tmp_path: Path) -> None:
    told = CliRunner().invoke(main, ["report", "--recorded", str(tmp_path), "--out", str(tmp_path / "out")])
    assert (told.exit_code, "it has no texts of reviews" in told.output) == (1, True), told.output
    told = CliRunner().invoke(main, ["report", str(tmp_path), "--out", str(tmp_path / "out")])
    assert (told.exit_code, "--out goes with --recorded" in told.output) == (2, True), told.output


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


@pytest.mark.parametrize("changes", [{"missed_comment_count": 7}, {"generated_comment_count": 9}])
def test_a_run_whose_counts_do_not_add_up_is_refused(tmp_path: Path, changes: dict[str, int]) -> None:
    told = CliRunner().invoke(main, ["report", "--recorded", str(bcbench(tmp_path, **changes))])
    assert (told.exit_code, "run 0 has counts that do not add up" in told.output) == (1, True), told.output


def test_names_in_a_release_cannot_steer_a_terminal() -> None:
    runs = tuple(
        JudgedRun(
            reviewer="a\x1b[2J",
            judge=judge,
            golden="g",
            pull_requests=1,
            expected=1,
            matched=1,
            incorrect=0,
            found={("p", 1): True},
        )
        for judge in ("j\x1b[2J", "k\x1b[2J")
    )
    lines = list(judged_lines(summarise_judged(JudgedRelease(benchmark="b\x1b[2J", golden="g", runs=runs))))
    assert all(line.isprintable() for line in lines)
    assert any(line.startswith(r"a\x1b[2J ") for line in lines)


def test_verdicts_of_oracles_are_not_compared_with_judgements(martian: Path) -> None:
    told = CliRunner().invoke(main, ["report", "--recorded", str(martian), "--against", str(martian)])
    assert told.exit_code == 2
    assert "judgements only" in told.output


def rows(folder: Path, judge: str) -> dict[str, JudgedRates]:
    return {row.reviewer: row for row in summarise_judged(read_judged(folder)).rates if row.judge == judge}


@martian_data
def test_martians_published_rows_follow_from_its_judgements() -> None:
    dashboard = json.loads((DATA / "martian" / "benchmark_dashboard.json").read_bytes())
    for judge in ("anthropic_claude-opus-4-5-20251101", "openai_gpt-5.2"):
        printed: dict[str, list[int]] = {}
        for pull_request in dashboard["models"][judge]["prs"]:
            for tool, counts in pull_request["tool_metrics"].items():
                sums = printed.setdefault(tool, [0, 0])
                sums[0] += counts["tp"]
                sums[1] += counts["fp"]
        found = rows(DATA / "martian", judge)
        assert {tool: [row.matched, row.incorrect] for tool, row in found.items()} == printed
        assert len(printed) == 12
    augment = rows(DATA / "martian", "anthropic_claude-opus-4-5-20251101")["augment"]
    rates = [round(100 * (value or 0), 1) for value in (augment.precision, augment.recall, augment.f1)]
    assert (augment.matched, augment.incorrect, rates) == (86, 97, [47.0, 62.8, 53.8])


@martian_data
def test_martians_judges_agree_as_published() -> None:
    summary = summarise_judged(read_judged(DATA / "martian"))
    (agreement,) = summary.agreements
    assert (agreement.compared, round(agreement.kappa or 0, 4)) == (1644, 0.9425)
    assert summary.union == {"anthropic_claude-opus-4-5-20251101": 118, "openai_gpt-5.2": 117}
    assert summary.golden.startswith("137 known issues, sha256 ")


@martian_data
def test_martians_judges_rank_its_tools_nearly_alike(tmp_path: Path) -> None:
    out = tmp_path / "report"
    told = CliRunner().invoke(main, ["report", "--recorded", str(DATA / "martian"), "--out", str(out)])
    assert told.exit_code == 0, told.output
    (pair,) = json.loads(CliRunner().invoke(main, ["compare-rulers", str(out), "--json"]).output)["pairs"]
    assert (pair["reviewers"], pair["both"] + pair["only_one"], pair["both"] + pair["only_other"]) == (12, 613, 597)
    assert (round(pair["kappa"], 4), round(pair["ranks"]["tau"], 2)) == (0.9425, 0.89)


@bcbench_data
def test_bcbenchs_published_rates_follow_from_its_counts() -> None:
    printed = json.loads((DATA / "bcbench" / "code-review-results.json").read_bytes())["runs"]
    release = read_judged(DATA / "bcbench")
    assert len(release.runs) == len(printed) == 60
    for run, row in zip(release.runs, printed, strict=True):
        precision, recall = run.matched / (run.matched + run.incorrect), run.matched / run.expected
        for beta, key in ((1, "f1"), (0.5, "f_beta_05"), (2, "f_beta_2")):
            assert f_measure(precision, recall, beta) == pytest.approx(row[key], abs=1e-3)
    assert release.golden.startswith("235 known issues in 144 cases, 37 of them clean, ")
    assert len(summarise_judged(release).rates) == 12
