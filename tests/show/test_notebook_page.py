"""The notebook page and the exports that it names, run on a report that is written here."""

from __future__ import annotations

import json
import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.results.files import write_trials
from pytest_crab.results.summary import summarise
from pytest_crab.types import Reason, Trial

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "notebook.md").read_text(encoding="utf-8")
GREEN, FAILED, BROKEN = Reason.GREEN, Reason.FAILED, Reason.BROKEN


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def place(make_trial: Callable[..., Trial], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of two reviewers, in which one trial was measured twice."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".crab/report").mkdir(parents=True)
    trials = [
        make_trial("ruff", "one", FAILED, FAILED),
        make_trial("ruff", "one", GREEN, FAILED),
        make_trial("ruff", "two", GREEN, BROKEN),
        make_trial("<b>", "one", FAILED, FAILED),
    ]
    write_trials(tmp_path / ".crab/report/trials.jsonl", trials)
    return tmp_path


def test_every_block_of_python_runs(place: Path) -> None:
    import pandas

    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "notebook.md", "exec"), names)
    frame, rates, differ, trials = (names[name] for name in ("frame", "rates", "differ", "trials"))
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 6, "what a later record replaced is left out"
    assert isinstance(rates, pandas.DataFrame)
    assert rates.loc["ruff"].tolist() == [pytest.approx(2 / 3), 2, 3]
    assert rates.loc["<b>"].tolist() == [0, 0, 2]
    assert isinstance(differ, pandas.DataFrame)
    assert len(differ) == 1
    assert isinstance(trials, pandas.DataFrame)
    assert len(trials) == 3


def test_the_rates_are_those_of_the_report_with_repeats_too(make_trial: Callable[..., Trial], place: Path) -> None:
    trials = [
        make_trial("ruff", "one", GREEN, FAILED, repeat=1),
        make_trial("ruff", "one", BROKEN, FAILED, repeat=2),
        make_trial("ruff", "one", BROKEN, GREEN, repeat=3),
    ]
    write_trials(place / ".crab/report/trials.jsonl", trials)
    names: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(block, "notebook.md", "exec"), names)
    (own,) = summarise(trials).reviewers
    assert names["rates"].loc["ruff"].tolist() == [
        pytest.approx(each) for each in (own.overall.micro, own.overall.caught, own.overall.known)
    ]
    assert own.overall.micro == pytest.approx(2 / 3)  # one oracle of 1, one of 1/3


def test_every_command_runs(place: Path) -> None:
    import pandas

    (block,) = blocks("sh")
    for line in block.splitlines():
        assert line.startswith("pytest-crab export ")
        result = CliRunner().invoke(main, shlex.split(line)[1:])
        assert result.exit_code == 0, result.output
        if "leaderboard" in line:
            first, _, *rows = result.output.splitlines()
    table = [[cell.strip() for cell in row.split("|")[1:-1]] for row in (first, *rows)]
    found = [(row[0], row[2], row[4], row[5]) for row in table]
    assert found[1:] == [("ruff", "66.7", "2/3", "1"), ("\\<b\\>", "0.0", "0/2", "0")]
    parquet = pandas.read_parquet(place / "oracles.parquet")
    csv = pandas.read_csv(place / "oracles.csv")
    assert list(parquet.columns) == list(csv.columns)
    assert parquet.verdict.tolist() == csv.verdict.tolist()
    svg = ET.fromstring((place / "badge.svg").read_text())
    assert svg.attrib["aria-label"].startswith("crab: ruff: 66.7% (")


def test_a_leaderboard_of_several_reports_names_them(place: Path) -> None:
    trial = json.loads((place / ".crab" / "report" / "trials.jsonl").read_text().splitlines()[0])
    (place / "fewer").mkdir()
    (place / "fewer" / "trials.jsonl").write_text(json.dumps({**trial, "versions": {"instance": "0" * 64}}) + "\n")
    lines = CliRunner().invoke(main, ["export", "leaderboard", ".crab", "fewer"]).output.splitlines()
    assert lines[0].endswith("| Report |")
    assert [line.split("|")[-2].strip() for line in lines[2:] if line.startswith("|")].count("fewer") == 1
    assert lines[-1] == "- the reports are on different instances, so their rates cannot be compared"


def test_a_badge_for_an_endpoint(place: Path) -> None:
    result = CliRunner().invoke(main, ["export", "badge", ".crab", "--reviewer=<b>", "--out=b.json"])
    assert result.exit_code == 0, result.output
    told = json.loads((place / "b.json").read_text())
    assert told["schemaVersion"] == 1
    assert (told["label"], told["color"]) == ("crab: <b>", "red")
    assert CliRunner().invoke(main, ["export", "badge", ".crab", "--reviewer=<b>", "--out=b.svg"]).exit_code == 0
    assert "<b>" not in (place / "b.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["badge", ".crab", "--out=b.svg"], "its reviewers are <b>, ruff; name one with --reviewer"),
        (["badge", ".", "--out=b.svg"], "there is no summary.json and no trials.jsonl"),
        (["csv", ".crab", "--out=.crab/report/trials.jsonl/a.csv"], "trials.jsonl/a.csv cannot be written: "),
    ],
)
def test_what_cannot_be_written_is_one_sentence(place: Path, arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(main, ["export", *arguments])
    assert result.exit_code == 1
    assert sentence in result.output
    assert len(result.output.splitlines()) == 1
