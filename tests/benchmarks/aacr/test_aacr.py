from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.aacr.reader import candidates, import_aacr, read_rows
from pytest_crab.cli import main
from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instances
from pytest_crab.parsing.review_comments import is_bot
from pytest_crab.scoring.location import RULES, Place

DATA = Path(__file__).parents[4] / "shared" / "data" / "aacr"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data/aacr is not beside this checkout")


def comment(**changes: Any) -> dict[str, Any]:
    return {
        "is_ai_comment": False,
        "note": "Close the file.",
        "path": "a.c",
        "side": "right",
        "source_model": "",
        "from_line": 3,
        "to_line": 5,
        "category": "Code Defect",
        "context": "Diff Level",
    } | changes


def row(*comments: dict[str, Any], number: int = 7, **changes: Any) -> dict[str, Any]:
    return {
        "change_line_count": 42,
        "project_main_language": "C++",
        "source_commit": "a" * 40,
        "target_commit": f"{number:x}" * 40,
        "githubPrUrl": f"https://github.com/one/app/pull/{number}",
        "category": "Bug Fix",
        "comments": list(comments or [comment()]),
    } | changes


def write(folder: Path, rows: object) -> Path:
    file = folder / "positive_samples.json"
    file.write_text(json.dumps(rows))
    return file


def test_a_pull_request_becomes_an_instance_with_labels(tmp_path: Path) -> None:
    machine = comment(is_ai_comment=True, source_model="GPT-5.2", side="left", from_line=9, to_line=8)
    done = import_aacr(write(tmp_path, [row(comment(), machine)]), tmp_path / "set")
    assert (done.instances, done.comments, done.notes) == (1, 2, [])
    (instance,) = load_instances(tmp_path / "set")
    assert (instance.id, instance.environment, instance.with_oracles) == ("one__app@7777777", None, ())
    assert instance.source.git is not None
    assert (instance.source.git.head, instance.source.git.merged) == ("7" * 40, None)
    human, model = instance.comments
    assert (human.lines, model.lines, model.side) == ((3, 5), (8, 9), "left")
    shared = {"category": "Code Defect", "context": "Diff Level", "language": "C++", "size": "M"}
    assert human.labels == shared | {"origin": "human", "side": "right", "pull-request-category": "Bug Fix"}
    assert (model.labels["origin"], model.labels["side"]) == ("GPT-5.2", "left")


def test_a_file_in_lines_is_a_source_of_candidates(tmp_path: Path) -> None:
    machine = comment(is_ai_comment=True, source_model="GPT-5.2")
    other = row(number=8, githubPrUrl="https://github.com/two/app/pull/8")
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in (row(comment(), machine), other)))
    source = candidates(file, frozenset({"one/app"}))
    assert source is not None
    (found,) = source.list_candidates()
    assert (found.id, found.origin, found.pull_request.number) == ("one__app@7777777", "aacr", 7)
    assert [is_bot(one.author) for one in found.comments] == [False, True]
    file.write_text("{}")
    assert candidates(file, None) is None


@pytest.mark.parametrize(
    ("lines", "size"), [(0, "XS"), (9, "XS"), (10, "S"), (29, "S"), (99, "M"), (100, "L"), (999, "XL"), (1000, "XXL")]
)
def test_sizes_are_those_of_table_6(tmp_path: Path, lines: int, size: str) -> None:
    (found,) = read_rows(write(tmp_path, [row(change_line_count=lines)]))
    assert found.size == size


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"rows": []}, ["list of pull requests"]),
        ([row(githubPrUrl="https://github.com/one/app")], ["row 0", "githubPrUrl"]),
        ([row(), row()], ["row 1", "twice"]),
        ([row(comment(side="middle"))], ["row 0", "side"]),
        ([row(comment(from_line="x"))], ["row 0", "from_line"]),
        ([{"comments": []}], ["row 0", "githubPrUrl"]),
    ],
)
def test_a_row_that_is_none_is_one_sentence_and_nothing_is_written(
    tmp_path: Path, rows: object, words: list[str]
) -> None:
    with pytest.raises(BadInput) as error:
        import_aacr(write(tmp_path, rows), tmp_path / "set")
    assert all(word in str(error.value) for word in words)
    assert not (tmp_path / "set").exists()


def test_a_pull_request_that_cannot_be_an_instance_is_a_note(tmp_path: Path) -> None:
    done = import_aacr(write(tmp_path, [row(), row(number=8) | {"comments": []}]), tmp_path / "set")
    assert done.instances == 1
    (note,) = done.notes
    assert note.startswith("one__app@8888888: not imported")
    with pytest.raises(BadInput, match="id has zzz"):
        import_aacr(write(tmp_path, [row()]), tmp_path / "other", only=re.compile("zzz"))


def pulls(file: Path, *options: str) -> str:
    told = CliRunner().invoke(main, ["benchmark", "aacr", "pulls", str(file), *options])
    assert told.exit_code == 0, told.output
    return told.output


def test_pull_requests_are_counted_by_domain_size_and_language(tmp_path: Path) -> None:
    file = write(tmp_path, [row(comment(), comment()), row(number=8, change_line_count=None, category="")])
    found = json.loads(pulls(file, "--json"))
    assert found["domain"] == {"Bug Fix": [1, 2], "": [1, 1]}
    assert {size: own for size, own in found["size"].items() if own != [0, 0]} == {"M": [1, 2], "": [1, 1]}
    assert found["language"] == {"C++": [2, 3]}
    text = [line.split() for line in pulls(file).splitlines()]
    assert ["not", "stated", "1", "1"] in text
    assert ["XS", "0", "0"] in text


@needs_data
def test_pull_requests_of_the_release_beside_tables_5_and_6() -> None:
    """The paper counts 200: one more refactoring, dependency update, large and extra large one, two more of others."""
    found = json.loads(pulls(DATA / "positive_samples.json", "--json"))
    assert [own[0] for own in found["domain"].values()] == [53, 44, 27, 19, 18, 13, 12, 8, 2]
    assert {size: own[0] for size, own in found["size"].items()} == {
        "XS": 8, "S": 20, "M": 47, "L": 88, "XL": 33, "XXL": 0,
    }  # fmt: skip


@needs_data
def test_the_release_has_its_published_counts(tmp_path: Path) -> None:
    done = import_aacr(DATA / "positive_samples.json", tmp_path / "set")
    assert (done.instances, done.comments, done.notes) == (196, 1505, [])
    comments = [each for instance in load_instances(tmp_path / "set") for each in instance.comments]
    assert Counter(each.labels["context"] for each in comments) == {
        "Diff Level": 754,
        "File Level": 518,
        "Repo Level": 233,
    }
    assert Counter(each.labels["origin"] for each in comments)["human"] == 391
    assert Counter(each.labels["category"] for each in comments) == {
        "Code Defect": 709,
        "Maintainability and Readability": 626,
        "Performance": 117,
        "Security Vulnerability": 53,
    }


@needs_data
@pytest.mark.parametrize(
    ("rule", "matches"), [("paper", 1505), ("paper-k1", 1505), ("release-2026-01", 196), ("release-2026-07", 1505)]
)
def test_the_gold_comments_as_findings(rule: str, matches: int) -> None:
    line = semantic = 0
    for each in read_rows(DATA / "positive_samples.json"):
        places = [Place(path=one.path, lines=one.lines, side=one.side) for one in each.comments]
        notes = [one.note for one in each.comments]
        found = RULES[rule].match(places, places, lambda one, other, notes=notes: notes[one] == notes[other])
        line, semantic = line + len(found.line), semantic + len(found.semantic)
    assert (line, semantic) == (matches, matches)


@needs_data
@pytest.mark.parametrize(("rule", "of_models", "of_rejected"), [("paper", 80, 125), ("paper-k1", 94, 143)])
def test_models_and_rejected_comments_against_the_gold_ones(rule: str, of_models: int, of_rejected: int) -> None:
    gold = {each.instance_id: each.comments for each in read_rows(DATA / "positive_samples.json")}

    def matches(*sides: list[Any]) -> int:
        findings, comments = ([Place(path=one.path, lines=one.lines, side=one.side) for one in side] for side in sides)
        return len(RULES[rule].match(findings, comments, lambda _one, _other: False).line)

    found = [([c for c in each if c.is_ai_comment], [c for c in each if not c.is_ai_comment]) for each in gold.values()]
    assert sum(matches(models, humans) for models, humans in found) == of_models
    rejected = [each for each in read_rows(DATA / "negative_samples.json") if each.instance_id in gold]
    assert sum(len(each.comments) for each in rejected) == 632
    assert sum(matches(list(each.comments), list(gold[each.instance_id])) for each in rejected) == of_rejected
