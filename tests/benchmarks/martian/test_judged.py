"""Recorded judgements of Martian: a made-up release that can be counted, and the real printed numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.martian.judged import judged_release
from pytest_crab.benchmarks.martian.reader import read_martian
from pytest_crab.cli import main
from pytest_crab.errors import BadInput
from pytest_crab.results.judged_runs import JudgedRates, JudgedRelease, summarise_judged

DATA = Path(__file__).parents[4] / "shared" / "data"
martian_data = pytest.mark.skipif(
    not (DATA / "martian").is_dir(), reason="../shared/data/martian is not beside this checkout"
)
ONE, TWO = "https://forge.example/o/r/pull/1", "https://forge.example/o/r/pull/2"


def read_judged(folder: Path) -> JudgedRelease:
    return judged_release(read_martian(folder))


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


def test_a_part_of_a_release_is_named(martian: Path) -> None:
    (martian / "evaluations" / "kind" / "evaluations.json").write_text("{")
    with pytest.raises(BadInput, match=r"evaluations\.json: it is no JSON"):
        read_judged(martian)
    for judge in ("kind", "stern"):
        (martian / "evaluations" / judge / "evaluations.json").unlink()
    with pytest.raises(BadInput, match="it has golden_comments and no results/<judge>/evaluations"):
        read_judged(martian)


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
    matched = CliRunner().invoke(
        main, ["benchmark", "aacr", "match", str(out), "--json"]
    )  # its known issues are on no file
    (bot,) = json.loads(matched.output)["reviewers"]
    assert (bot["overall"]["line"]["comments"], bot["overall"]["line"]["recall"]["undefined"] is None) == (0, False)
    again = CliRunner().invoke(main, ["report", "--recorded", str(martian), "--out", str(out)])
    assert (again.exit_code, "there is something already" in again.output) == (1, True), again.output


def test_an_address_that_is_no_pull_request_has_no_review(martian: Path, tmp_path: Path) -> None:
    for file in martian.rglob("*.json"):
        file.write_text(file.read_text().replace(ONE, "https://forge.example/o/r"))
    told = CliRunner().invoke(main, ["report", "--recorded", str(martian), "--out", str(tmp_path / "report")])
    assert told.exit_code == 1
    assert "https://forge.example/o/r is no address of a pull request" in told.output
    assert not (tmp_path / "report").exists()


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


def test_a_checkout_has_its_judgements_under_results(martian: Path) -> None:
    before = read_judged(martian)
    (martian / "evaluations").rename(martian / "results")
    assert read_judged(martian) == before


def slices(folder: Path, *options: str) -> Any:
    told = CliRunner().invoke(main, ["benchmark", "martian", "slices", str(folder), *options])
    return json.loads(told.output) if told.exit_code == 0 and "--json" in options else (told.exit_code, told.output)


def test_rates_by_label(martian: Path) -> None:
    code, output = slices(martian)
    assert (code, "no pull request has a language; is pr_labels.json there?" in output) == (1, True), output
    low, high = (
        {"derived": {"language": name}, "llm_pr_labels": {"pr_size_category": "small", "domain": "UI"}}
        for name in ("Go", "Java")
    )
    (martian / "evaluations").rename(martian / "results")
    (martian / "results" / "pr_labels.json").write_text(json.dumps({ONE: low, TWO: high}))
    kind = [one for one in slices(martian, "--json") if one["judge"] == "kind"]
    assert [(one["label"], one["expected"], one["matched"], one["incorrect"]) for one in kind] == [
        ("Go", 2, 1, 2),
        ("Java", 1, 1, 0),
    ]
    assert [(one["precision"], one["recall"]) for one in kind] == [(1 / 3, 0.5), (1.0, 1.0)]
    severities = [one for one in slices(martian, "--by=severity", "--json") if one["judge"] == "kind"]
    assert {one["label"]: (one["expected"], one["matched"]) for one in severities} == {"Low": (2, 2), "High": (1, 0)}
    assert all(one.get("precision") is None for one in severities)
    code, output = slices(martian, "--by=size")
    rows = [line.split() for line in output.splitlines() if line.startswith("small")]
    assert rows[0] == ["small", "bot", "3", "2", "2", "50.0", "66.7", "57.1"]


@martian_data
@pytest.mark.parametrize(("dimension", "key"), [("language", "language"), ("size", "pr_size"), ("domain", "domain")])
def test_martians_dashboard_by_label_follows_from_its_judgements(dimension: str, key: str) -> None:
    dashboard = json.loads((DATA / "martian" / "benchmark_dashboard.json").read_bytes())
    printed: dict[tuple[str, str, str], list[int]] = {}
    for judge, model in dashboard["models"].items():
        for pull_request in model["prs"]:
            for tool, counts in pull_request["tool_metrics"].items():
                sums = printed.setdefault((judge, tool, pull_request[key]), [0, 0, 0])
                for at, name in enumerate(("tp", "fp", "fn")):
                    sums[at] += counts[name]
    judges = {path.name for path in (DATA / "martian" / "evaluations").iterdir()}
    found = {
        (one["judge"], one["reviewer"], one["label"]): [
            one["matched"], one["incorrect"], one["expected"] - one["matched"]
        ]
        for one in slices(DATA / "martian", f"--by={dimension}", "--json")
    }  # fmt: skip
    assert found == {which: sums for which, sums in printed.items() if which[0] in judges}


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
