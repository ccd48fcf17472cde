"""Wrong lines for one's own rows, filters of comments, and the command that makes rows of them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st

from pytest_crab.benchmarks.codereviewqa import import_codereviewqa
from pytest_crab.benchmarks.distractors import ReviewedCode, fault_of_comment, wrong_lines
from pytest_crab.cli import main
from pytest_crab.instances import load_instances

DATA = Path(__file__).parents[3] / "shared" / "data" / "codereviewqa" / "codereviewqa_c_csharp_200.jsonl"
ROW = {
    "old": " def total(prices):\n-    x = 1\n-    return x\n \n \n ",
    "new": " def total(prices):\n+    return sum(prices)\n \n \n ",
    "review": "Why is this one?",
    "lang": "python",
}


def jaccard(one: Any, other: Any) -> float:
    return len({*one} & {*other}) / len({*one} | {*other})


@given(st.data())
def test_wrong_lines_are_as_many_others_and_as_near_or_as_far_as_can_be(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 15))
    correct = sorted(data.draw(st.sets(st.integers(1, count), min_size=1, max_size=6)))
    for hard in (True, False):
        found = wrong_lines(correct, range(1, count + 1), hard=hard, seed="s")
        if found is None:
            assert count - len(correct) < 3
            continue
        options = [correct, *found]
        assert len({tuple(each) for each in options}) == 4
        assert all(len(set(each)) == len(correct) and {*each} <= {*range(1, count + 1)} for each in found)
        shares = [jaccard(correct, each) for each in found]
        if hard:
            assert shares == [pytest.approx((len(correct) - 1) / (len(correct) + 1))] * 3
        elif count >= 4 * len(correct):
            assert all(not {*one} & {*other} for one, other in itertools.combinations(options, 2))
        assert found == wrong_lines(correct, range(1, count + 1), hard=hard, seed="s")


@pytest.mark.parametrize(
    ("review", "said"),
    [
        ("Why?", "short"),
        ("123 + 456 = 579", "no letters"),
        ("Rather ```x = 1``` here", "copied"),
        ("The Indentation is off", "formatting"),
        ("Please run the linter", "formatting"),
        ("Same here, ditto.", "something else"),
        ("Rename this splinter please", None),
        ("Why is this public at all?", None),
    ],
)
def test_comments_that_say_too_little_are_left_out(review: str, said: str | None) -> None:
    found = fault_of_comment(review)
    assert (found is None) if said is None else (said in str(found))


def test_rows_become_questions_that_can_be_imported(tmp_path: Path) -> None:
    added = {**ROW, "old": " a\n b\n c\n d", "new": "+first\n a\n b\n+x\n+y\n c\n d", "kept": 1}
    same = {**ROW, "new": ROW["old"].replace("-", " "), "old": ROW["old"].replace("-", " ")}
    small = {**ROW, "old": "-a", "new": "+b"}
    rows = [ROW, added, {**ROW, "review": "Lint it, please."}, same, small]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    done = CliRunner().invoke(main, ["distractors", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "q.jsonl")])
    assert done.exit_code == 0, done.output
    assert "2 rows with questions, 3 left out" in done.output
    for why in ("the comment is on formatting", "no line is marked as changed", "the code has too few other lines"):
        assert f"  1: {why}" in done.output
    first, second = map(json.loads, (tmp_path / "q.jsonl").read_text().splitlines())
    assert (first["type_correct"], first["loc_correct"]) == ("modify", [2, 3])
    assert (second["type_correct"], second["loc_correct"], second["kept"]) == ("add_only", [0, 2], 1)
    assert import_codereviewqa(tmp_path / "q.jsonl", tmp_path / "set").instances == 2
    assert all(each.probes and each.probes.solution is None for each in load_instances(tmp_path / "set"))
    again = CliRunner().invoke(main, ["distractors", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "q.jsonl")])
    assert (again.exit_code, "there already" in again.output) == (1, True)


def test_a_line_that_is_no_row_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(ROW)}\n{{}}\n")
    done = CliRunner().invoke(main, ["distractors", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "q.jsonl")])
    assert done.exit_code == 1
    assert "line 2" in done.output
    assert not (tmp_path / "q.jsonl").exists()


@pytest.mark.skipif(not DATA.is_file(), reason="../shared/data/codereviewqa is not beside this checkout")
def test_type_and_lines_are_those_of_the_release() -> None:
    for row in map(json.loads, DATA.read_text().splitlines()):
        code = ReviewedCode(**{name: row[name] for name in ("old", "new", "review", "lang")})
        assert code.change == row["type_correct"]
        assert sorted(code.lines) == sorted(row["loc_correct"])
