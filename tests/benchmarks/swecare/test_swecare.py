from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.benchmarks.swecare.reader import import_swecare
from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instances


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")
    return path


def test_rows_become_instances_without_oracles(tmp_path: Path, made: Any) -> None:
    made.rows[1]["language"] = "Type Script"
    done = import_swecare(write(tmp_path / "dev.jsonl", made.rows), tmp_path / "set")
    assert (done.instances, done.comments, done.notes) == (2, 3, [])
    one, two = load_instances(tmp_path / "set")
    assert one.with_oracles == two.with_oracles == ()
    assert [comment.body for comment in one.comments] == [made.text("a0"), made.text("a1")]
    assert {comment.kind for comment in one.comments} == {None}
    assert (two.language, two.tags["base"], "kind" in two.tags) == ("type-script", "unchecked", False)


def test_rows_that_cannot_be_instances_are_listed(tmp_path: Path, made: Any) -> None:
    made.rows[0]["reference_review_comments"] = []
    made.rows[1]["reference_review_comments"][0]["text"] = " "
    made.rows.append(made.row(made.names[2], "c0"))
    done = import_swecare(write(tmp_path / "dev.jsonl", made.rows), tmp_path / "set")
    assert done.instances == 1
    first, second = done.notes
    assert first.startswith(f"{made.names[0]}: not imported: an instance without comments")
    assert second.startswith(f"{made.names[1]}: not imported: comments[0].body is empty")


def test_only_takes_the_rows_with_a_match(tmp_path: Path, made: Any) -> None:
    file = write(tmp_path / "dev.jsonl", made.rows)
    assert import_swecare(file, tmp_path / "set", only=re.compile("app-2")).instances == 1
    with pytest.raises(BadInput, match="it has no row whose id has zzz that can be imported"):
        import_swecare(file, tmp_path / "other", only=re.compile("zzz"))


def test_every_line_that_is_no_row_is_one_sentence(tmp_path: Path, made: Any) -> None:
    file = write(tmp_path / "dev.jsonl", [*made.rows, {"instance_id": "x"}])
    with file.open("a") as lines:
        lines.write("{\n")
    with pytest.raises(BadInput) as caught:
        import_swecare(file, tmp_path / "set")
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["line 3", "line 5"]
    assert not (tmp_path / "set").exists()
