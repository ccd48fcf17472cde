from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

import pytest_crab
from pytest_crab.results.files import write_trials
from pytest_crab.results.oracle_rows import COLUMNS, oracle_rows, write_csv
from pytest_crab.types import CommentResult, Reason, Review, Revision, Trial, Usage


@pytest.fixture
def trials(make_trial: Callable[..., Trial]) -> list[Trial]:
    return [
        make_trial("a", "one", Reason.GREEN, Reason.FAILED, findings=2, regressions=False),
        make_trial('odd,"name"', "two", Reason.BROKEN, findings=None),
    ]


def test_a_row_is_an_oracle(trials: list[Trial], tmp_path: Path) -> None:
    write_csv(tmp_path / "oracles.csv", trials)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "oracles.csv").read_text())))
    assert list(rows[0]) == list(COLUMNS)
    assert [(row["reviewer"], row["comment"], row["verdict"]) for row in rows] == [
        ("a", "c0", "caught"),
        ("a", "c1", "missed"),
        ('odd,"name"', "c0", "unknown"),
    ]
    assert [(row["findings"], row["regressions"]) for row in rows] == [("2", "False"), ("2", "False"), ("", "")]


def test_a_record_that_a_later_one_replaced_has_no_rows(make_trial: Callable[..., Trial], tmp_path: Path) -> None:
    trials = [
        make_trial("a", "one", Reason.BROKEN, Reason.BROKEN, Reason.BROKEN),
        make_trial("a", "two", Reason.GREEN),
        make_trial("a", "one", Reason.GREEN, Reason.FAILED),
        make_trial("a", "one", Reason.GREEN, repeat=2),
    ]
    write_csv(tmp_path / "oracles.csv", trials)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "oracles.csv").read_text())))
    found = [(row["instance"], row["repeat"], row["verdict"]) for row in rows]
    assert found == [("one", "1", "caught"), ("one", "1", "missed"), ("two", "1", "caught"), ("one", "2", "caught")]
    assert [row["verdict"] for row in oracle_rows(trials)] == [row["verdict"] for row in rows]


def test_no_name_is_a_formula_and_none_is_too_odd_to_be_written(
    make_trial: Callable[..., Trial], tmp_path: Path
) -> None:
    names = ["=cmd|'/C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\ud800"]
    write_csv(tmp_path / "oracles.csv", [make_trial(name, "one", Reason.GREEN) for name in names])
    rows = list(csv.DictReader(io.StringIO((tmp_path / "oracles.csv").read_text())))
    assert [row["reviewer"] for row in rows] == [*(f"'{name}" for name in names[:-1]), "\\ud800"]


def test_a_row_says_who_may_not_be_compared_and_what_the_agent_resolves(
    make_trial: Callable[..., Trial], make_result: Callable[..., CommentResult]
) -> None:
    seen, doubtful, unlooked = (
        make_result(f"c{at}", Reason.GREEN, resolvable=own) for at, own in enumerate((True, False, None))
    )
    devin = make_trial("devin", "one", seen, doubtful, unlooked, leaky=("devin",), simulated=True)
    human = make_trial("human", "one", seen, privileged=("human", "simulated"), variant="placebo")
    rows = list(oracle_rows([devin, human]))
    assert [row["resolvable"] for row in rows] == [True, False, None, True]
    marks = [(row["leaky"], row["privileged"], row["simulated"], row["variant"]) for row in rows]
    assert marks == [*[("devin", None, True, None)] * 3, (None, "human, simulated", False, "placebo")]


def test_a_cost_is_known_when_all_of_it_is(make_trial: Callable[..., Trial]) -> None:
    review, cheap = Review(usage=Usage(cost_usd=0.25)), Revision(usage=Usage(cost_usd=0.5))
    both = make_trial("a", "one", Reason.GREEN)
    from dataclasses import replace

    costs = [
        next(oracle_rows([replace(both, review=review, revision=revision)]))["cost_usd"]
        for revision in (cheap, Revision(), None)
    ]
    assert costs == [0.75, None, 0.25]


def test_a_data_frame_has_the_same_rows(trials: list[Trial], tmp_path: Path) -> None:
    write_trials(tmp_path / "trials.jsonl", trials)
    frame = pytest_crab.load_frame(tmp_path)
    assert list(frame.columns) == list(COLUMNS)
    assert frame.groupby("reviewer").verdict.count().to_dict() == {"a": 2, 'odd,"name"': 1}
    assert frame.findings.isna().tolist() == [False, False, True]
