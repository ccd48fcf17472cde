from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.ccrab import reader as ccrab
from pytest_crab.benchmarks.ccrab.importing import changes, import_ccrab
from pytest_crab.benchmarks.ccrab.recorded import read_recording
from pytest_crab.benchmarks.ccrab.recorded_results import recorded_lines, summarise_recording
from pytest_crab.cli import main
from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instance, load_instances
from pytest_crab.results.summary import Summary
from pytest_crab.types import Category, Kind


@pytest.fixture(autouse=True)
def no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRAB_GIT_MIRROR", raising=False)


def rates(summary: Summary) -> dict[str, Any]:
    return {
        own.reviewer: (own.comments, own.overall.caught, own.overall.known, own.overall.macro)
        for own in summary.reviewers
    }


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("imported", [True, False])
def test_recorded_verdicts_give_the_hand_counted_totals(
    tmp_path: Path, made: Any, *, zipped: bool, imported: bool
) -> None:
    release = made.write(tmp_path / "release", zipped=zipped)
    if imported:
        import_ccrab(release, tmp_path / "set")
        summary = summarise_recording(read_recording(tmp_path / "set"))
    else:
        summary = summarise_recording(ccrab.recording(ccrab.read(ccrab.find(release))))
    assert rates(summary) == {
        "alpha": (5, 2, 4, 0.5),
        "beta": (5, 3, 4, pytest.approx(2 / 3)),
        "human": (4, 4, 4, 1.0),
    }
    alpha, beta, human = summary.reviewers
    assert [own.comments_per_pull_request for own in (alpha, beta)] == [pytest.approx(5 / 3)] * 2
    assert (summary.together.reviewers, summary.together.union) == (("alpha", "beta"), 4)
    assert {overlap.reviewers: overlap.oracles for overlap in summary.together.overlaps} == {
        (): 0,
        ("alpha",): 1,
        ("beta",): 2,
        ("alpha", "beta"): 1,
    }
    assert alpha.notes[0] == f"no result of 1 instances, which count as missed: {made.names[2]}"
    assert not any("which count as missed" in note for note in beta.notes)
    assert {kind: rate.oracles for kind, rate in human.by_kind.items()} == {"behavioral": 2, "structural": 2}
    assert alpha.by_kind["behavioral"].caught == 1
    lines = list(recorded_lines(summary))
    assert lines[0] == "recorded verdicts, nothing was run: 4 oracles, 3 instances, 2 repositories"
    assert [line.split() for line in lines if line.startswith(("one/app", "two/lib"))] == [
        ["one/app", "3", "2", "(66.7%)", "2", "(66.7%)"],
        ["two/lib", "1", "0", "(0.0%)", "1", "(100.0%)"],
    ]


def test_the_import_counts_what_is_there_and_what_is_not(tmp_path: Path, made: Any) -> None:
    done = import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    assert (done.instances, done.comments, done.oracles) == (2, 3, 3)
    assert dict(done.recorded) == {"human": 3, "alpha": 2, "beta": 3}
    assert dict(done.kinds) == {Kind.BEHAVIORAL: 1, Kind.STRUCTURAL: 2}
    assert dict(done.resolved_kinds) == {Kind.BEHAVIORAL: 2, Kind.STRUCTURAL: 2}
    assert done.notes == [
        "1 of 3 instances with resolved comments have no row: only their recorded results are here",
        "1 of 3 instances have no result of alpha: they count as missed",
    ]
    assert done.rows == []
    assert dict(done.unchecked) == {"CRAB_GIT_MIRROR names no folder": 2}


def test_an_instance_is_joined_by_text_and_says_what_is_inferred(tmp_path: Path, made: Any) -> None:
    import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    instance = load_instance(tmp_path / "set" / made.names[0])
    assert instance.pull_request.title == "Count better"
    assert instance.pull_request.body == ""
    assert instance.license == "NOASSERTION"
    assert instance.language == "python"
    assert dict(instance.tags) == {
        "category": "inferred",
        "kind": "inferred",
        "base": "unchecked",
        "title": "head commit",
        "body": "missing",
        "difficulty": "low",
        "review_effort": "2",
    }
    first, second = instance.comments
    assert (first.id, first.body, first.kind, first.lines) == ("c0", made.text("a0"), Kind.BEHAVIORAL, None)
    assert (second.id, second.body, second.kind) == ("c1", made.text("a1"), Kind.STRUCTURAL)
    assert "import app" in (tmp_path / "set" / instance.id / first.required_oracle.file).read_text()
    recorded = read_recording(tmp_path / "set").results
    assert dict(recorded["human"][instance.id].verdicts) == {"c0": True, "c1": True}
    assert dict(recorded["alpha"][instance.id].verdicts) == {"c0": True, "c1": False}
    assert recorded["alpha"][instance.id].source == f"results_eval_alpha.zip: {instance.id}/result.json"


def test_recorded_revisions_end_with_a_line_and_empty_ones_stay_empty(tmp_path: Path, made: Any) -> None:
    made.archives["results_eval_alpha"][1]["agent_diff"] = ""
    import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    folder = tmp_path / "set" / "recorded" / "alpha"
    assert (folder / f"{made.names[0]}.diff").read_text().endswith("+two\n")
    assert (folder / f"{made.names[1]}.diff").read_bytes() == b""
    assert not (folder / f"{made.names[2]}.diff").exists()


def test_lines_are_those_of_the_reviewed_commit(tmp_path: Path, made: Any) -> None:
    remark = made.rows[1]["reference_review_comments"][0]
    remark |= {"line": 90, "start_line": 80, "original_line": 9, "original_start_line": 7}
    made.rows[0]["reference_review_comments"][0] |= {"line": 5}
    made.rows[0]["reference_review_comments"][1] |= {"original_line": 3, "original_start_line": 4}
    import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    a, b = load_instances(tmp_path / "set")
    assert [comment.lines for comment in (*a.comments, *b.comments)] == [(5, 5), None, (7, 9)]


def test_titles_and_bodies_are_taken_where_they_are_and_never_made_up(tmp_path: Path, made: Any) -> None:
    made.rows[0] |= {"title": "Add totals", "body": "So that\r\nit counts."}
    made.rows[1]["commit_to_review"]["head_commit_message"] = None
    import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    a, b = load_instances(tmp_path / "set")
    assert (a.pull_request.title, a.pull_request.body) == ("Add totals", "So that\r\nit counts.")
    assert "title" not in a.tags
    assert "body" not in a.tags
    assert (b.pull_request.title, b.tags["title"]) == ("(not in the release)", "missing")


def test_tests_for_jest_keep_their_suffix(tmp_path: Path, made: Any) -> None:
    (test,) = made.archives["testgen_combined"][1]["results"]
    test |= {"language": "typescript", "test_file": "x/test_review_comment_0.test.ts", "test_code": "test('x', f)\n"}
    import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    instance = load_instance(tmp_path / "set" / made.names[1])
    (comment,) = instance.comments
    assert (comment.required_oracle.file, comment.required_oracle.runner) == (
        "oracles/test_c0.test.ts",
        "jest",
    )
    environment = instance.environment
    assert (environment.dockerfile, environment.node, environment.packages) == ("node", "20", ("jest@29.7.0",))
    assert load_instance(tmp_path / "set" / made.names[0]).environment.node is None


def test_what_cannot_be_joined_is_listed_and_left_without_oracle(tmp_path: Path, made: Any) -> None:
    a = made.archives["testgen_combined"][0]["results"]
    a[:] = [
        made.generated("a0", "x = 1\n"),
        made.generated("a0", "x = 2\n"),
        made.generated("a1"),
        made.generated("a1"),
    ]
    (b,) = made.archives["testgen_combined"][1]["results"]
    b["test_file"] = "x/test_review_comment_0_test.go"
    made.rows[1]["reference_review_comments"] *= 2
    done = import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    assert done.rows == [
        f"{made.names[1]}: nothing here runs test_review_comment_0_test.go; its comment gets no oracle",
        f"{made.names[0]}: c0 has no oracle: no one generated test of its text",
        f"{made.names[1]}: c0 has no oracle: no one generated test of its text",
        f"{made.names[1]}: c1 has no oracle: an earlier comment has the same text",
    ]
    one, two = load_instances(tmp_path / "set")
    assert [comment.oracle is None for comment in one.comments] == [True, False]
    assert two.with_oracles == ()


def test_rows_that_say_different_things_of_one_comment_say_nothing(tmp_path: Path, made: Any) -> None:
    made.archives["results_eval_beta"][0]["results"] = [made.judged("a0", True), made.judged("a0", False)]
    import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    recording = read_recording(tmp_path / "set")
    assert dict(recording.results["beta"][made.names[0]].verdicts) == {"c0": None, "c1": None}
    beta = summarise_recording(recording).reviewers[1]
    unjudged = f"no verdict on 2 oracles, which count as missed: {made.names[0]}: c0, {made.names[0]}: c1"
    assert (beta.overall.caught, beta.notes[0]) == (1, unjudged)


def test_only_takes_the_instances_with_a_match(tmp_path: Path, made: Any) -> None:
    done = import_ccrab(made.write(tmp_path / "release"), tmp_path / "set", only=re.compile("app-2"))
    assert (done.instances, dict(done.recorded)) == (1, {"human": 1, "alpha": 1, "beta": 1})
    with pytest.raises(BadInput, match="it has no row whose id has nowhere"):
        import_ccrab(tmp_path / "release", tmp_path / "other", only=re.compile("nowhere"))
    assert not (tmp_path / "other").exists()


def test_without_the_human_results_every_comment_counts_that_any_tool_names(tmp_path: Path, made: Any) -> None:
    del made.archives["agent_resolution_combined"]
    for tool, comment in (("alpha", "a0"), ("beta", "a1")):  # each names one that the other does not
        made.archives[f"results_eval_{tool}"] = [made.tool_file(made.names[0], 1, made.judged(comment, True))]
    summary = summarise_recording(ccrab.recording(ccrab.read(ccrab.find(made.write(tmp_path / "release")))))
    assert (summary.together.oracles, summary.together.union) == (2, 2)
    assert [(own.overall.caught, own.notes[0].rpartition(": ")[2]) for own in summary.reviewers] == [
        (1, "c1"),
        (1, "c0"),
    ]


def test_what_is_there_is_enough(tmp_path: Path, made: Any) -> None:
    for part in ("testgen_combined", "agent_resolution_combined", "results_eval_beta"):
        del made.archives[part]
    done = import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    assert (done.instances, done.comments, done.oracles, dict(done.recorded)) == (2, 3, 0, {"alpha": 2})
    assert done.notes == [
        "testgen_combined is not there: no comment gets an oracle",
        "agent_resolution_combined is not there: which comments were resolved is not known, so all of the rows count",
    ]
    summary = summarise_recording(read_recording(tmp_path / "set"))
    (alpha,) = summary.reviewers
    assert (alpha.reviewer, alpha.overall.oracles, alpha.notes) == (
        "alpha",
        3,
        ("which comments were resolved is not on record: every comment that a result names counts",),
    )
    assert not any("caught by any" in line for line in recorded_lines(summary))


@pytest.mark.parametrize("before", ["nothing", "an empty folder"])
def test_without_its_rows_nothing_is_imported_and_a_retry_works(tmp_path: Path, made: Any, before: str) -> None:
    release = made.write(tmp_path / "release")
    if before == "an empty folder":
        (tmp_path / "set").mkdir()
    with pytest.raises(BadInput, match=r"stage3_\*\.jsonl.* is not there.*--stage 4") as problem:
        import_ccrab(release, tmp_path / "set", stage=3)
    assert len(problem.value.problems) == 1
    rows = next(release.rglob("stage4_*.jsonl"))
    rows.rename(tmp_path / "rows")
    with pytest.raises(BadInput, match=r"stage4_\*\.jsonl.* is not there"):
        import_ccrab(release, tmp_path / "set")
    assert not list((tmp_path / "set").iterdir()) if before == "an empty folder" else not (tmp_path / "set").exists()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
    (tmp_path / "rows").rename(rows)
    assert import_ccrab(release, tmp_path / "set").instances == 2


def test_rows_of_which_none_can_be_imported_are_an_error_with_every_reason(tmp_path: Path, made: Any) -> None:
    made.rows[0]["reference_review_comments"][0]["path"] = "../x"
    made.rows[1]["merged_commit"] = "short"
    with pytest.raises(BadInput, match="no row that can be imported") as problem:
        import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    assert sum("not imported: " in fault for fault in problem.value.problems) == 2
    assert not (tmp_path / "set").exists()


def test_a_recorded_catch_without_a_revision_is_noted(tmp_path: Path, made: Any) -> None:
    made.archives["results_eval_alpha"][1]["agent_diff"] = ""
    done = import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    (note,) = done.rows
    assert note.startswith(f"{made.names[1]}: alpha: c0: recorded caught with an empty revision")


def test_an_instance_that_the_loader_refuses_is_listed_and_not_there(tmp_path: Path, made: Any) -> None:
    made.rows[0]["reference_review_comments"][0]["path"] = "../x"
    made.rows.append(made.row(made.names[2], "c0", merged_commit="short"))
    done = import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    assert done.instances == 1
    assert [note for note in done.rows if "not imported" in note] == [
        f"{made.names[0]}: not imported: comments[0].path is '../x'; it should be relative to the tree, without ..",
        f"{made.names[2]}: not imported: merged is not a full sha of 40 hex digits",
    ]
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == [made.names[1], "recorded"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"pull_number": None}, "line 1: pull_number is missing"),
        ({"pull_number": "many"}, "line 1: pull_number is 'many'; it should be a whole number"),
        ({"commit_to_review": []}, "line 1: commit_to_review is a list; it should be a mapping"),
        ({"instance_id": "../x"}, "line 1: instance_id is '../x'; it should be such as"),
        ({"instance_id": "ONE__app-2@bbbbbbb"}, "line 2: one__app-2@bbbbbbb is also on line 1; one should go"),
        ({"title": "\ud800"}, "line 1: a text holds half a surrogate pair"),
    ],
)
def test_a_bad_row_is_one_sentence_and_nothing_is_written(
    tmp_path: Path, made: Any, change: dict[str, Any], sentence: str
) -> None:
    made.rows[0] |= change
    with pytest.raises(BadInput) as caught:
        import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    assert caught.value.where.endswith("stage4_agent_resolved.jsonl")
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(sentence)
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


def test_nothing_that_is_there_is_overwritten(tmp_path: Path, made: Any) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "mine").touch()
    with pytest.raises(BadInput, match="there is something already; name a new folder"):
        import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")


def test_an_empty_folder_may_become_the_set(tmp_path: Path, made: Any) -> None:
    (tmp_path / "set").mkdir()
    assert import_ccrab(made.write(tmp_path / "release"), tmp_path / "set").instances == 2


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, made: Any) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="file/set: it cannot be written"):
        import_ccrab(made.write(tmp_path / "release"), tmp_path / "file" / "set")


def test_the_current_folder_may_become_the_set(tmp_path: Path, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    release = made.write(tmp_path / "release")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    import_ccrab(release, Path())
    assert len(load_instances(tmp_path / "here")) == 2


def test_a_folder_that_is_no_release_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="it holds no part of c-CRAB's release"):
        ccrab.find(tmp_path)


def test_a_part_that_is_there_twice_is_named(tmp_path: Path, made: Any) -> None:
    release = made.write(tmp_path / "release")
    (release / "results_eval_beta").mkdir()
    with pytest.raises(
        BadInput, match=r"results_eval_beta is there twice, as raw_results_compressed/results_eval_beta\.zip"
    ):
        ccrab.find(release)


def test_two_files_of_one_stage_are_named(tmp_path: Path, made: Any) -> None:
    release = made.write(tmp_path / "release")
    rows = next(release.rglob("stage4_*.jsonl"))
    rows.with_name("stage4_other.jsonl").write_bytes(rows.read_bytes())
    with pytest.raises(BadInput, match=r"stage4 is there twice, as .*stage4_\w+\.jsonl and .*stage4_other\.jsonl"):
        ccrab.find(release)


def test_a_tool_cannot_be_called_human(tmp_path: Path, made: Any) -> None:
    made.archives["results_eval_human"] = made.archives.pop("results_eval_beta")
    with pytest.raises(BadInput, match="no tool may be called human"):
        ccrab.read(ccrab.find(made.write(tmp_path / "release")))


def test_an_oracle_without_category_words_takes_the_release_s_own_type(tmp_path: Path, made: Any) -> None:
    (test,) = made.archives["testgen_combined"][1]["results"]
    test["comment_type"] = "style"
    import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    (comment,) = load_instance(tmp_path / "set" / made.names[1]).comments
    assert comment.category is Category.MAINTAINABILITY


def test_diffs_are_alike_whoever_printed_them() -> None:
    header = "diff --git a/x b/x\n"
    ours = header + "index 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ def f\n one\n-two\n+too\n"
    theirs = header + "index 1111..2222\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+too"
    assert changes(ours) == changes(theirs)
    assert changes(ours) != changes(ours.replace("+too", "+to"))
    assert changes(ours) != changes(ours.replace("b/x", "b/y"))
    assert changes(ours + header.replace("x", "y") + "similarity index 100%\n") != changes(ours)
    assert changes("no diff") != changes("")


def test_the_sizes_of_a_release(tmp_path: Path, made: Any) -> None:
    release = made.write(tmp_path / "release")
    told = CliRunner().invoke(main, ["benchmark", "ccrab", "statistics", str(release), "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.output) == {
        "repositories": 2,
        "instances": 3,  # the fourth has no resolved comment
        "patches": 2,  # of rows that are there
        "modified_lines": 2.0,
        "comments": 4,
        "kinds": {"behavioral": 2, "structural": 2},
        "tests_per_instance": pytest.approx(4 / 3),
        "lines_per_test": 3.5,
    }
    told = CliRunner().invoke(main, ["benchmark", "ccrab", "statistics", str(release)])
    assert "tests that are structural, inferred  2 (50.0%)" in told.output
    told = CliRunner().invoke(main, ["benchmark", "ccrab", "statistics", str(tmp_path / "release" / "none")])
    assert told.exit_code == 2
