"""SWE-PRBench's data set: rows of its layout that are made up here, from the importer to the command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.sweprbench.reader import import_sweprbench
from pytest_crab.cli import main
from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instances

TASK = "app__7"


def pull(task: str = TASK, **changes: Any) -> dict[str, Any]:
    number = int(task.partition("__")[2])
    return {
        "task_id": task,
        "repo": "one/app",
        "repo_name": "app",
        "repo_clone_url": "https://github.com/one/app.git",
        "repo_url": "https://github.com/one/app",
        "pr_number": number,
        "pr_url": f"https://github.com/one/app/pull/{number}",
        "title": "Count better",
        "description": "Much better.",
        "language": "Python",
        "pr_type": "bug_fix",
        "difficulty": "Type2_Contextual",
        "severity": None,
        "rvs_score": 0.52,
        "rvs_breakdown": {
            "review_depth": 0.5,
            "code_complexity": 0.5,
            "discussion_signal": 0.25,
            "test_change_signal": 1.0,
            "bug_fix_signal": 1.0,
        },
        "lines_added": 3,
        "lines_removed": 1,
        "files_changed": 1,
        "changed_files": ["app.py"],
        "merged_at": "2026-01-02T03:04:05Z",
        "base_commit": "a" * 40,
        "head_commit": "b" * 40,
        "num_substantive_comments": 2,
        "num_unique_reviewers": 1,
        "has_requested_changes": False,
        "ai_comments_removed": 0,
        "human_review_comments": [],
        "agent_input": None,
        "diff_patch": "diff --git a/app.py b/app.py\n",
    } | changes


def remark(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "comment_id": f"c_{number}",
        "body": "This divides twice.",
        "file": "app.py",
        "line": 12,
        "diff_hunk": "@@ -1 +1 @@",
        "severity": None,
        "is_blocking": False,
        "reviewer": "ann",
        "is_initiating_comment": True,
        "is_reply": False,
        "reply_to": None,
        "requires_change": True,
        "is_in_diff": True,
        "thread_resolved": True,
    } | changes


def annotation(*comments: dict[str, Any], task: str = TASK, **changes: Any) -> dict[str, Any]:
    found = list(comments or [remark(1)])
    return {
        "task_id": task,
        "pr_number": 7,
        "repo": "one/app",
        "has_severity_annotations": False,
        "has_requested_changes": False,
        "total_comment_count": len(found),
        "substantive_comment_count": len(found),
        "changes_required": True,
        "requested_change_count": 0,
        "substantive_comment_ids": [comment["comment_id"] for comment in found],
        "requested_changes": [],
        "comments": found,
    } | changes


def data_set(folder: Path, *tasks: tuple[dict[str, Any], dict[str, Any] | None]) -> Path:
    """Write the layout of the hub; a task without annotation has none there."""
    place = folder / "data"
    (place / "annotations").mkdir(parents=True)
    (place / "evals").mkdir()
    rows = tasks or ((pull(), annotation()),)
    (place / "prs.jsonl").write_text("".join(json.dumps(row) + "\n" for row, _ in rows))
    for row, found in rows:
        if found is not None:
            (place / "annotations" / f"{row['task_id']}_human.json").write_text(json.dumps(found))
    sample = {"description": "x", "n": 1, "stratification": {"Type2_Contextual": 1}, "task_ids": [TASK]}
    (place / "evals" / "eval_100.json").write_text(json.dumps(sample))
    return place


def test_a_task_becomes_an_instance_with_the_substantive_comments(tmp_path: Path) -> None:
    comments = [remark(1), remark(2, line=None, is_in_diff=False, reviewer="gemini-code-assist"), remark(3)]
    place = data_set(tmp_path, (pull(), annotation(*comments, substantive_comment_ids=["c_1", "c_2"])))
    done = import_sweprbench(place, tmp_path / "set")
    assert (done.instances, done.comments, done.notes) == (1, 2, [])
    (instance,) = load_instances(tmp_path / "set")
    assert (instance.id, instance.environment, instance.language) == (TASK, None, "python")
    assert instance.source.git is not None
    assert (instance.source.git.base, instance.source.git.head) == ("a" * 40, "b" * 40)
    assert instance.tags == {
        "base": "unchecked", "rvs": "0.52", "rvs_of_components": "0.625", "difficulty": "Type2_Contextual",
        "pr_type": "bug_fix", "samples": "eval_100",
    }  # fmt: skip
    first, second = instance.comments
    assert (first.id, first.lines, second.lines) == ("c_1", (12, 12), None)
    assert (first.labels["difficulty"], first.labels["in-diff"], first.labels["origin"]) == (
        "Type2_Contextual", "yes", "human",
    )  # fmt: skip
    assert (second.labels["in-diff"], second.labels["origin"]) == ("no", "bot")


def test_a_comment_without_a_file_is_left_out_and_said(tmp_path: Path) -> None:
    place = data_set(tmp_path, (pull(), annotation(remark(1), remark(2, file=None))))
    done = import_sweprbench(place, tmp_path / "set")
    assert (done.instances, done.comments) == (1, 1)
    assert done.notes == ["app__7: c_2 is left out: it names no file"]


def test_without_substantive_ids_those_count_that_open_a_thread(tmp_path: Path) -> None:
    comments = [remark(1), remark(2, is_initiating_comment=False)]
    place = data_set(tmp_path, (pull(), annotation(*comments, substantive_comment_ids=[])))
    import_sweprbench(place, tmp_path / "set")
    (instance,) = load_instances(tmp_path / "set")
    assert [comment.id for comment in instance.comments] == ["c_1"]


@pytest.mark.parametrize(
    ("row", "found", "words"),
    [
        (pull(), None, ["annotations/app__7_human.json", "cannot be read"]),
        (pull(rvs_breakdown=None), annotation(), ["prs.jsonl", "line 1", "rvs_breakdown", "revision b87f5797"]),
        (pull(task_id="no id"), annotation(), ["line 1", "task_id"]),
        (pull(difficulty="Type4"), annotation(), ["app__7", "difficulty", "Type3_Latent_Candidate"]),
        (pull(), annotation(task="app__8"), ["task_id", "app__8"]),
        (pull(), annotation(remark(1), substantive_comment_ids=["c_9"]), ["c_9", "no comment has"]),
        (pull(), annotation(remark(1, line="12 to 9")), ["line"]),
        (pull(), {"comments": []}, ["annotations/app__7_human.json", "task_id"]),
    ],
)
def test_what_is_not_of_this_layout_is_one_sentence_and_nothing_is_written(
    tmp_path: Path, row: dict[str, Any], found: dict[str, Any] | None, words: list[str]
) -> None:
    place = data_set(tmp_path, (row, found))
    with pytest.raises(BadInput) as error:
        import_sweprbench(place, tmp_path / "set")
    assert all(word in str(error.value) for word in words)
    assert not (tmp_path / "set").exists()


def test_a_task_that_cannot_be_an_instance_is_a_note(tmp_path: Path) -> None:
    others = [annotation(remark(1, line=0), task="app__8"), annotation(remark(1), task="app__9") | {"comments": []}]
    others[1]["substantive_comment_ids"] = []
    place = data_set(tmp_path, (pull(), annotation()), (pull("app__8"), others[0]), (pull("app__9"), others[1]))
    done = import_sweprbench(place, tmp_path / "set")
    assert done.instances == 1
    assert [note.partition(":")[0] for note in done.notes] == ["app__8", "app__9"]


def test_the_command_names_a_missing_file_and_takes_a_part(tmp_path: Path) -> None:
    place = data_set(tmp_path, (pull(), annotation()), (pull("app__8"), annotation(task="app__8")))
    told = CliRunner().invoke(
        main, ["benchmark", "sweprbench", "import", str(place), "--out", str(tmp_path / "a"), "--only=8"]
    )
    assert (told.exit_code, told.output) == (0, f"{tmp_path / 'a'}: 1 instances, 1 comments, no oracles\n")
    told = CliRunner().invoke(
        main, ["benchmark", "sweprbench", "import", str(place), f"--out={tmp_path / 's'}", "--sample=eval_100"]
    )
    assert (told.exit_code, [one.id for one in load_instances(tmp_path / "s")]) == (0, [TASK])
    told = CliRunner().invoke(
        main, ["benchmark", "sweprbench", "import", str(place), f"--out={tmp_path / 't'}", "--sample=x"]
    )
    assert (told.exit_code, "its samples are eval_100" in told.output) == (1, True)
    (place / "prs.jsonl").unlink()
    told = CliRunner().invoke(main, ["benchmark", "sweprbench", "import", str(place), "--out", str(tmp_path / "b")])
    assert told.exit_code == 1
    assert "prs.jsonl" in told.output
    with pytest.raises(BadInput, match="no row"):
        import_sweprbench(data_set(tmp_path / "x"), tmp_path / "c", only=re.compile("zzz"))
