"""Table 4: distances are the least numbers of edits, and the rows of the release spread as the paper says."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.codereviewqa.description import describe_command, levenshtein
from pytest_crab.benchmarks.codereviewqa.reader import import_codereviewqa
from tests.benchmarks.codereviewqa.test_codereviewqa import DATA, DELETION, row, write


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [("", "", 0), ("", "abc", 3), ("abc", "abc", 0), ("kitten", "sitting", 3), ("aab", "ab", 1), ("flaw", "lawn", 2)],
)
def test_the_distance_is_the_least_number_of_edits(first: str, second: str, distance: int) -> None:
    assert levenshtein(first, second) == levenshtein(second, first) == distance


def test_a_text_is_no_farther_from_its_edited_copy_than_there_were_edits() -> None:
    draw = random.Random(3)
    for edits in range(20):
        text = "".join(draw.choices("ab", k=30))
        copy = list(text)
        for _ in range(edits):
            at = draw.randrange(len(copy))
            copy[at : at + draw.randrange(2)] = draw.choice(["", "a", "b"])
        assert abs(len(text) - len(copy)) <= levenshtein(text, "".join(copy)) <= edits


def described(folder: Path) -> dict[str, Any]:
    output = CliRunner().invoke(describe_command, [str(folder), "--json"]).output
    return {one["name"]: one for one in json.loads(output)}


def test_a_set_is_described_by_its_rows(tmp_path: Path) -> None:
    file = write(tmp_path, row(review="Use `prices or 1` here"), row(review="Why?"), row(**DELETION))
    import_codereviewqa(file, tmp_path / "set")
    found = described(tmp_path / "set")
    assert [found["comment (words)"][name] for name in ("rows", "least", "median", "most")] == [3, 1, 4, 5]
    assert found["edit distance"]["mean"] == len(" / 0")
    assert (found["lines, modify"]["rows"], found["lines, remove_only"]["rows"]) == (2, 1)
    assert found["code in comment"]["most"] == pytest.approx(3 / 5)
    assert found["specification"]["most"] == 4


@pytest.mark.skipif(not DATA.is_file(), reason="../shared/data/codereviewqa is not beside this checkout")
def test_the_rows_here_lie_within_what_the_paper_states_of_all(tmp_path: Path) -> None:
    import_codereviewqa(DATA, tmp_path / "set")
    found = described(tmp_path / "set")
    paper = {
        "comment (words)": (2, 98),
        "edit distance": (1, 827),  # the paper's least is 2
        "lines, add_only": (1, 2),
        "lines, remove_only": (1, 19),
        "lines, modify": (1, 15),
        "code in comment": (0, 0.89),
        "specification": (0.04, 165.4),
    }
    for name, (least, most) in paper.items():
        assert least - 0.005 <= found[name]["least"] <= found[name]["most"] <= most + 0.005, name
    assert found["code in comment"]["median"] == 0
    assert found["comment (words)"]["rows"] == 200
