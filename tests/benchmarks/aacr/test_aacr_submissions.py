"""The leaderboard's submissions: read beside its comments or in a set, and refused with a sentence for each fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.aacr.reader import import_aacr
from pytest_crab.benchmarks.aacr.submissions import read_submissions
from pytest_crab.cli import main
from pytest_crab.errors import BadInput
from pytest_crab.results.files import write_trials
from pytest_crab.types import Finding, Provenance, Review, Side, StepRecord, Trial, Usage

LEADERBOARD = Path(__file__).parents[4] / "shared" / "data" / "aacr-leaderboard"
AACR = LEADERBOARD.with_name("aacr")

needs_data = pytest.mark.skipif(not LEADERBOARD.is_dir(), reason="../shared/data/aacr-leaderboard is not there")

NAME = "one__app@aaaaaaa"


def finding(**changes: Any) -> dict[str, Any]:
    return {"path": "a.c", "content": "Close it.", "start_line": 3, "end_line": 5, "side": "right"} | changes


def submission(*findings: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "instance_id": NAME,
        "repo": "one/app",
        "base_commit": "b" * 40,
        "head_commit": "a" * 40,
        "started_at": "2026-06-04T07:01:48Z",
        "duration_seconds": 2.5,
        "review": {"summary": {"total_tokens": 0}, "comments": list(findings), "stderr": ""},
    } | changes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A leaderboard of two pull requests with three comments, and nobody's submission."""
    comments = [{"path": "a.c", "start_line": 4, "end_line": 4, "text": "Close it.", "side": "right"}] * 2
    rows = [
        {
            "instance_id": name,
            "repo": "one/app",
            "base_commit": "b" * 40,
            "head_commit": sha * 40,
            "reference_comments": own,
        }
        for name, sha, own in ((NAME, "a", comments), ("one__app@ccccccc", "c", comments[:1]))
    ]
    (tmp_path / "aacr_bench.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "mine").mkdir()
    return tmp_path


def write(folder: Path, content: object, name: str = NAME) -> None:
    (folder / "mine" / f"{name}.json").write_text(json.dumps(content))


def test_submissions_are_matched_with_the_leaderboards_comments(folder: Path) -> None:
    write(folder, submission(finding(), finding(content="Other.", start_line=None, end_line=None), finding(path="b.c")))
    (one, other) = read_submissions(folder)
    assert (len(one.findings or ()), other.findings, len(other.comments)) == (3, None, 1)
    result = CliRunner().invoke(main, ["benchmark", "aacr", "match", str(folder), "--judge", "equal-texts", "--json"])
    assert result.exit_code == 0, result.output
    (mine,) = json.loads(result.output)["reviewers"]
    line, semantic = mine["overall"]["line"], mine["overall"]["semantic"]
    # the second finding names no line, so it is on the second comment's; its words are others
    assert (line["matched_comments"], line["comments"], line["matched_findings"], line["findings"]) == (2, 3, 2, 3)
    assert (semantic["matched_comments"], semantic["findings"]) == (1, 3)
    assert (mine["absent"], mine["per_pull_request"]) == (1, 3.0)
    recorded = CliRunner().invoke(main, ["report", "--recorded", str(folder)])
    assert recorded.exit_code == 0, recorded.output
    assert "1 pull request without a review" in recorded.output


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (submission(finding(), instance_id="one__app@ddddddd"), "name of the file"),
        (submission(finding(), head_commit="d" * 40), "another version of the data"),
        (submission(finding(start_line=9, end_line=3)), "comment 0: end should not lie before start"),
        (submission(finding(start_line=0, end_line=0)), "comment 0: start should be a line number"),
        (submission(finding(side="middle")), "side"),
        (submission(finding()) | {"review": "none"}, "review"),
        ([], "mapping"),
    ],
)
def test_a_file_that_is_no_submission_is_one_sentence(folder: Path, content: object, words: str) -> None:
    write(folder, content)
    with pytest.raises(BadInput) as error:
        read_submissions(folder)
    (problem,) = error.value.problems
    assert problem.startswith(f"mine/{NAME}.json: ")
    assert words in problem


def test_submissions_on_other_pull_requests_and_none_at_all_are_refused(folder: Path) -> None:
    with pytest.raises(BadInput, match="no submission"):
        read_submissions(folder)
    write(folder, submission(finding(), instance_id="one__app@eeeeeee"), "one__app@eeeeeee")
    with pytest.raises(BadInput, match="no pull request of this version"):
        read_submissions(folder)


def export(folder: Path, *options: str) -> tuple[int, str]:
    arguments = [
        "benchmark",
        "aacr",
        "export",
        str(folder),
        "--set",
        str(folder / "set"),
        "--out",
        str(folder / "out"),
        *options,
    ]
    result = CliRunner().invoke(main, arguments)
    return result.exit_code, result.output


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A report of two pull requests of a set of three; the tokens of one review are known, the third was not made."""
    comment = {
        "is_ai_comment": False,
        "note": "Close it.",
        "path": "a.c",
        "side": "right",
        "from_line": 4,
        "to_line": 4,
    }
    rows = [
        {
            "githubPrUrl": f"https://github.com/one/app/pull/{number}",
            "source_commit": "b" * 40,
            "target_commit": f"{number}" * 40,
            "project_main_language": "C",
            "comments": [comment],
        }
        for number in (1, 2, 3)
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    import_aacr(tmp_path / "rows.json", tmp_path / "set")
    findings = (
        Finding(title="Leak", body="Close it.", path="a.c", start=4, side=Side.LEFT),
        Finding(body="As a whole.", path=None),
    )
    reviews = (Review(findings=findings, usage=Usage(input_tokens=900, output_tokens=70)), Review(findings=()))
    steps = (StepRecord(step="fetch", reused=False, seconds=9.0), StepRecord(step="review", reused=False, seconds=2.5))
    trials = [
        Trial(
            instance=f"one__app@{str(number) * 7}",
            repo="one/app",
            provenance=Provenance.GITHUB,
            reviewer="mine",
            agent="none",
            runtime="local",
            review=review,
            steps=steps,
            started="2026-11-23T18:29:47+00:00",
        )
        for number, review in enumerate(reviews, 1)
    ]
    write_trials(tmp_path / "trials.jsonl", trials)
    return tmp_path


def test_reviews_are_exported_as_a_submission(run: Path) -> None:
    code, output = export(run, "--reviewer", "mine")
    assert code == 0, output
    assert "2 reviews by mine" in output
    assert "no review of one__app@3333333" in output
    assert "tokens of 1 review were not measured" in output
    content = json.loads((run / "out" / "one__app@1111111.json").read_text())
    assert (content["repo"], content["base_commit"], content["head_commit"]) == ("one/app", "b" * 40, "1" * 40)
    assert (content["started_at"], content["duration_seconds"]) == ("2026-11-23T18:29:47+00:00", 2.5)
    assert content["review"]["summary"] == {"total_tokens": 970, "input_tokens": 900, "output_tokens": 70}
    place = {"path": "a.c", "start_line": 4, "end_line": 4, "side": "left"}
    assert content["review"]["comments"][0] == {"content": "Leak\n\nClose it.", **place}
    assert content["review"]["comments"][1]["start_line"] is None
    (run / "set" / "recorded").mkdir()
    (run / "out").rename(run / "set" / "recorded" / "mine")
    again = {review.instance: review.findings for review in read_submissions(run / "set")}
    assert [None if found is None else len(found) for found in again.values()] == [2, 0, None]


@needs_data
def test_an_exported_file_has_the_schemas_keys_and_types(run: Path) -> None:
    assert export(run, "--reviewer", "mine")[0] == 0
    schema = json.loads((LEADERBOARD / "submission.schema.json").read_text())
    kinds = {"string": str, "integer": int, "number": (int, float), "object": dict, "array": list, "null": type(None)}

    def check(value: object, rule: dict[str, Any]) -> None:
        names = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
        assert any(isinstance(value, kinds[name]) for name in names), (value, rule)
        if isinstance(value, dict):
            assert set(rule["required"]) <= value.keys() <= rule["properties"].keys()
            for key, item in value.items():
                check(item, rule["properties"][key])
        elif isinstance(value, list):
            for item in value:
                check(item, rule["items"])
        elif isinstance(value, str):
            assert len(value) >= rule.get("minLength", 0)
            assert value in rule.get("enum", [value])
        elif value is not None:
            assert value >= rule.get("minimum", value)  # type: ignore[operator]

    for path in sorted((run / "out").glob("*.json")):
        check(json.loads(path.read_text()), schema)


def test_what_cannot_be_exported_is_one_sentence(run: Path) -> None:
    code, output = export(run, "--reviewer", "nobody")
    assert (code, "no review 1 by 'nobody'; its reviewers are mine" in output) == (1, True), output
    (run / "out").mkdir()
    (run / "out" / "mine.txt").write_text("")
    code, output = export(run, "--reviewer", "mine")
    assert (code, "there is something already" in output) == (1, True), output


@needs_data
def test_the_leaderboards_example_has_its_published_result() -> None:
    result = CliRunner().invoke(
        main, ["benchmark", "aacr", "match", str(LEADERBOARD), "--judge", "equal-texts", "--json"]
    )
    assert result.exit_code == 0, result.output
    (example,) = json.loads(result.output)["reviewers"]
    published = json.loads((LEADERBOARD / "example" / "example-ocr.json").read_text())["summary"]
    semantic = example["overall"]["semantic"]
    precision, recall = (round(semantic[name]["value"], 4) for name in ("precision", "recall"))
    assert (precision, recall) == (published["precision"], published["recall"])
    # theirs is the F1 of the two rounded rates; of the exact ones it is 0.0027
    assert round(2 * precision * recall / (precision + recall), 4) == published["f1"]
    assert round(semantic["f1"]["value"], 4) == 0.0027
    assert (semantic["comments"], semantic["findings"]) == (published["expected_notes"], published["generated_notes"])
    assert (semantic["matched_comments"], example["absent"]) == (
        published["matched_notes"],
        published["missing_instances"],
    )


@needs_data
@pytest.mark.skipif(not AACR.is_dir(), reason="../shared/data/aacr is not there")
def test_every_gold_comment_as_a_finding_is_found_in_every_slice(tmp_path: Path) -> None:
    imported = tmp_path / "set"
    runner = CliRunner()
    assert (
        runner.invoke(
            main, ["benchmark", "aacr", "import", str(AACR / "positive_samples.json"), "--out", str(imported)]
        ).exit_code
        == 0
    )
    (imported / "recorded" / "gold").mkdir(parents=True)
    for row in map(json.loads, (LEADERBOARD / "aacr_bench.jsonl").read_text().splitlines()):
        findings = [
            finding(path=one["path"], content=one["text"], side=one["side"])
            | dict(zip(("start_line", "end_line"), sorted((one["start_line"], one["end_line"])), strict=True))
            for one in row["reference_comments"]
        ]
        content = submission(*findings) | {key: row[key] for key in ("instance_id", "repo", "head_commit")}
        (imported / "recorded" / "gold" / f"{row['instance_id']}.json").write_text(json.dumps(content))
    result = runner.invoke(main, ["report", "--recorded", str(imported), "--json"])
    assert result.exit_code == 0, result.output
    (gold,) = json.loads(result.output)["reviewers"]
    assert gold["overall"]["line"]["matched_comments"] == 1505
    contexts = {label: slice_["line"]["comments"] for label, slice_ in gold["by_label"]["context"].items()}
    assert contexts == {"Diff Level": 754, "File Level": 518, "Repo Level": 233}
    languages = gold["by_label"]["language"]
    assert {label: slice_["line"]["comments"] for label, slice_ in languages.items()}["TypeScript"] == 305
    assert {slice_["line"]["f1"]["value"] for slice_ in languages.values()} == {1.0}
