"""Reports that version 0.1 wrote with schema 1 are still read: real files, kept as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_crab.report.files import read_summary
from pytest_crab.report.files import read_trials
from pytest_crab.report.summary import summarise

OLD = Path(__file__).parent / "schema1"
RECORDS = [json.loads(line) for line in (OLD / "trials.jsonl").read_text().splitlines()]


def test_every_verdict_of_an_old_trial_is_read() -> None:
    assert {record["schema"] for record in RECORDS} == {1}
    for record, trial in zip(RECORDS, read_trials(OLD / "trials.jsonl"), strict=True):
        assert trial.schema == 2
        assert trial.damage == record.get("damage")
        assert [
            (one.comment, str(one.verdict), str(one.reason), one.detail, one.path, one.category, one.kind)
            for one in trial.results
        ] == [
            (one["comment"], one["verdict"], one["reason"], one.get("detail"), *(one[key] for key in PLACE))
            for one in record["results"]
        ]
        assert [len(one.tests) for one in trial.results] == [len(one.get("tests", ())) for one in record["results"]]


PLACE = ("path", "category", "kind")


@pytest.mark.parametrize("at", range(3))
def test_an_old_summary_and_one_that_is_made_anew_have_the_same_rates(at: int) -> None:
    old = json.loads((OLD / "summary.json").read_text())["reviewers"][at]
    read = read_summary(OLD / "summary.json").reviewers[at]
    anew = summarise(read_trials(OLD / "trials.jsonl")).reviewers[at]
    for one in (read, anew):
        assert one.reviewer == old["reviewer"]
        assert one.overall.micro == pytest.approx(old["overall"]["micro"])
        assert {word: rate.caught for word, rate in one.by_category.items()} == {
            word: rate["caught"] for word, rate in old["by_category"].items()
        }
        assert {word: rate.known for word, rate in one.by_kind.items()} == {
            word: rate["known"] for word, rate in old["by_kind"].items()
        }
        assert [oracle.verdicts for oracle in one.oracles] == [oracle["verdicts"] for oracle in old["oracles"]]
