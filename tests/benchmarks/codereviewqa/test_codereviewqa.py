"""CodeReviewQA's rows become instances with probes, and what is no row is a sentence."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.benchmarks.codereviewqa.choices.options import ChangeType, probes_in
from pytest_crab.benchmarks.codereviewqa.reader import import_codereviewqa
from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instances

DATA = Path(__file__).parents[4] / "shared" / "data" / "codereviewqa" / "codereviewqa_c_csharp_200.jsonl"


def row(**changes: Any) -> dict[str, Any]:
    return {
        "old": " def total(prices):\n-    return sum(prices) / 0\n \n \n ",
        "new": " def total(prices):\n+    return sum(prices)\n \n \n ",
        "review": "Why is this divided?",
        "lang": "python",
        "type_correct": "modify",
        "type_wrong": ["add_only", "remove_only"],
        "loc_correct": [2],
        "loc_wrong_easy": [[1], [3], [4]],
        "loc_wrong_hard": [[1], [3], [5]],
        "solution_correct": "2-    return sum(prices) / 0\n2+    return sum(prices)",
        "solution_wrong_easy": ["a", "b", "c"],
        "solution_wrong_hard": ["d", "e", "f"],
        **changes,
    }


DELETION = {
    "type_correct": "remove_only",
    "type_wrong": ["add_only", "modify"],
    "solution_correct": "",
    "solution_wrong_easy": [],
    "solution_wrong_hard": [],
}


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    file = folder / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    return file


def test_a_row_is_code_with_one_comment_and_its_questions(tmp_path: Path) -> None:
    done = import_codereviewqa(write(tmp_path, row(), row(lang="c"), row(**DELETION)), tmp_path / "set")
    assert (done.instances, done.comments, done.notes) == (3, 3, [])
    first, deletion = load_instances(tmp_path / "set")[1:]
    assert (first.id, deletion.id, first.language) == ("python-000", "python-001", "python")
    (comment,) = first.comments
    assert (comment.path, comment.lines, comment.body) == ("snippet.py", (2, 2), "Why is this divided?")
    assert Path(first.folder, "head.txt").read_text() == "def total(prices):\n    return sum(prices) / 0\n\n\n\n"
    assert Path(first.folder, "reference.txt").read_text() == "def total(prices):\n    return sum(prices)\n\n\n\n"
    probes, own = probes_in(first), probes_in(deletion)
    assert probes is not None
    assert probes.lines.hard == ((1,), (3,), (5,))
    assert probes.solution is not None
    assert probes.solution.easy == ("a", "b", "c")
    assert own is not None
    assert own.solution is None


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("  change: modify\n  lines", "  change: rewrite\n  lines", "probes.change"),
        ("correct:", "right:", "probes.lines.right"),
        ("probes:", "- id: c1\n  path: snippet.py\n  body: Why?\nprobes:", "one comment"),
        ("tags: {}", "extra: {}", "extra is not a known key"),
    ],
)
def test_questions_that_cannot_be_asked_are_faults_of_the_file(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    import_codereviewqa(write(tmp_path, row()), tmp_path / "set")
    (file,) = (tmp_path / "set").glob("*/instance.yaml")
    content = f"{file.read_text()}tags: {{}}\n"
    assert before in content
    file.write_text(content.replace(before, after, 1))
    with pytest.raises(BadInput, match=re.escape(said)):
        load_instances(tmp_path / "set")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lang": "perl"}, "lang"),
        ({"type_wrong": ["modify", "add_only"]}, "type_wrong"),
        ({"old": "def total(prices):"}, "old"),
        ({"loc_correct": []}, "line number"),
        ({"loc_wrong_easy": [[9], [1], [3]]}, "5 lines"),
        ({"solution_correct": ""}, "solution_correct"),
        ({"type_correct": "rename"}, "type_correct"),
        ({"review": None}, "review"),
    ],
)
def test_a_line_that_is_no_row_is_named_and_nothing_is_written(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadInput, match=f"line 2.*{said}"):
        import_codereviewqa(write(tmp_path, row(), row(**changes)), tmp_path / "set")
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"loc_wrong_easy": [[1], [3]]},
        {"loc_wrong_hard": [[2], [3], [4]]},
        {"solution_wrong_easy": ["a", "b", "a"]},
        {"review": " "},
    ],
)
def test_a_row_without_four_different_options_is_left_out_with_a_note(tmp_path: Path, changes: dict[str, Any]) -> None:
    done = import_codereviewqa(write(tmp_path, row(), row(**changes)), tmp_path / "set")
    assert done.instances == 1
    (note,) = done.notes
    assert note.startswith("python-001: not imported")


@pytest.mark.skipif(not DATA.is_file(), reason="../shared/data/codereviewqa is not beside this checkout")
def test_the_rows_of_the_release_have_the_structure_that_its_paper_states(tmp_path: Path) -> None:
    done = import_codereviewqa(DATA, tmp_path / "set")
    assert (done.instances, done.notes) == (200, [])
    instances = load_instances(tmp_path / "set")
    with_solution = Counter(each.language for each in instances if (own := probes_in(each)) and own.solution)
    assert with_solution == {"c": 80, "csharp": 77}  # the denominators of tables 11 and 12
    lines = {
        f"{row['lang']}-{number % 100:03d}": row
        for number, row in enumerate(map(json.loads, DATA.read_text().splitlines()))
    }
    for instance in instances:
        probes = probes_in(instance)
        assert probes is not None
        marked = [n for n, line in enumerate(lines[instance.id]["old"].split("\n"), 1) if line.startswith("-")]
        if probes.change is not ChangeType.ADD:
            assert sorted(probes.lines.correct) == marked
