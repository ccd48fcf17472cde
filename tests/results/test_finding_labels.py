from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.errors import BadInput
from pytest_crab.results.files import read_summary, read_trials, write_trials
from pytest_crab.results.finding_labels import add_finding_labels
from pytest_crab.types import Reason, Trial


@pytest.fixture
def records(tmp_path: Path, make_trial: Callable[..., Trial]) -> Path:
    path = tmp_path / "trials.jsonl"
    trials = [make_trial("mine", "a", Reason.GREEN, findings=2), make_trial("mine", "a", findings=1, repeat=2)]
    write_trials(path, trials)
    return path


def labels_of(records: Path) -> list[list[tuple[str, str, str | None]]]:
    return [
        [(one.scorer, one.subject, one.label) for one in trial.scores if one.unit == "finding"]
        for trial in read_trials(records)
    ]


def test_labels_go_into_the_records_and_replace_earlier_ones(records: Path) -> None:
    file = records.with_name("labels.csv")
    file.write_text("trial,finding,category,usefulness\na::mine,0,security,\na::mine[2],0,,noise\n")
    add_finding_labels(records, file)
    assert labels_of(records) == [[("category", "0", "security")], [("usefulness", "0", "noise")]]
    file.write_text("trial,finding,category\na::mine,1,design\n")
    add_finding_labels(records, file)
    assert labels_of(records) == [[("category", "1", "design")], [("usefulness", "0", "noise")]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("trial,finding,category\na::mine,2,x\n", "a::mine has no finding 2"),
        ("trial,finding,category\nb::mine,0,x\n", "b::mine has no finding 0"),
        ("trial,finding,category\na::mine,first,x\n", "line 2: finding should be a number from 0$"),
        ("trial,finding,category\na::mine,-1,x\n", "line 2: finding should be a number from 0$"),
        ("trial,finding,category\na::mine,,x\n", "line 2: finding should be a number from 0$"),
        ("trial,finding,category\na::mine\n", "line 2: finding should be a number from 0$"),
        ("finding,category,trial\n0,x\n", "line 2: '' names no trial"),
        ("trial,finding,severity\na::mine,0,high\n", "the column severity should have another name"),
        ("trial,finding,category\nmine,0,x\n", "line 2: 'mine' names no trial"),
        ("trial,category\na::mine,x\n", "should have the columns"),
        ("trial,finding\na::mine,0\n", "should have the columns"),
    ],
)
def test_a_file_that_names_no_finding_changes_nothing(records: Path, text: str, problem: str) -> None:
    before, file = records.read_bytes(), records.with_name("labels.csv")
    file.write_text(text)
    with pytest.raises(BadInput, match=problem):
        add_finding_labels(records, file)
    assert records.read_bytes() == before


def test_the_command_counts_them(records: Path) -> None:
    file = records.with_name("labels.csv")
    file.write_text("trial,finding,usefulness\na::mine,0,useful\na::mine,1,noise\na::mine[2],0,useful\n")
    result = CliRunner().invoke(main, ["report", str(records.parent), "--finding-labels", str(file)])
    assert result.exit_code == 0, result.output
    (mine,) = read_summary(records.with_name("summary.json")).reviewers
    counts = {word: own.findings for word, own in mine.findings_by_label["usefulness"].items()}
    assert counts == {"useful": 2, "noise": 1}
    assert "useful" in result.output
    page = records.with_name("index.html").read_text()
    (table,) = re.findall(r'<table data-table="findings by usefulness">(.*?)</table>', page, re.DOTALL)
    assert re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", table) == [
        *("Findings by usefulness", "mine"),
        *("useful", "2 66.7%"),
        *("noise", "1 33.3%"),
    ]
