"""Reports that version 0.1 wrote with schema 1 are still read: real files, kept as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_crab.results.files import read_summary, read_trials
from pytest_crab.results.recorded_rulers import recorded_rulers
from pytest_crab.results.summary import summarise
from pytest_crab.results.upgrades import upgraded_summary
from pytest_crab.scoring.judges.calibration import Calibration

OLD = Path(__file__).parent / "schema1"
RECORDS = [json.loads(line) for line in (OLD / "trials.jsonl").read_text().splitlines()]


def test_every_verdict_of_an_old_trial_is_read() -> None:
    assert {record["schema"] for record in RECORDS} == {1}
    for record, trial in zip(RECORDS, read_trials(OLD / "trials.jsonl"), strict=True):
        assert trial.schema == 2
        assert trial.regressions == record.get("damage")
        assert trial.variant == record.get("arm")
        assert [
            (one.comment, str(one.verdict), str(one.reason), one.detail, one.path, one.category, one.kind)
            for one in trial.results
        ] == [
            (one["comment"], one["verdict"], one["reason"], one.get("detail"), *(one[key] for key in PLACE))
            for one in record["results"]
        ]
        assert [len(one.tests) for one in trial.results] == [len(one.get("tests", ())) for one in record["results"]]


PLACE = ("path", "category", "kind")


def test_usage_that_was_a_score_or_one_sum_is_read_as_the_usage_of_each_scorer(tmp_path: Path) -> None:
    plain = {"schema": 2, "instance": "i", "repo": "o/r", "provenance": "authored", "agent": "a", "runtime": "local"}
    used = {"input_tokens": 3, "output_tokens": 1, "cost_usd": 0.25, "requests": 2, "models": ["m"]}
    evidence = {"votes": 2, "usage": used, "calibration": {"compared": 4, "agreed": 3, "unknown": 0}}
    about = {"scorer": "strict", "unit": "trial", "subject": "usage", "label": "known", "value": 0.25, "reason": "hit"}
    probe = {"scorer": "choices", "unit": "probe", "subject": "p", "label": "caught", "value": 1.0, "reason": "correct"}
    lines = [
        {**plain, "reviewer": "judged", "scores": [{**about, "evidence": evidence}]},
        {**plain, "reviewer": "answers", "scores": [probe], "scoring": used},
    ]
    file = tmp_path / "trials.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    judged, answers = read_trials(file)
    (strict,) = judged.scoring.values()
    assert (strict.answers, strict.judge, judged.scores, judged.usages) == (2, True, (), ())
    assert strict.usage is not None
    assert strict.usage.cost_usd == 0.25
    (ruler,) = recorded_rulers([judged]).values()
    assert (ruler.name, ruler.votes, ruler.cost_usd, ruler.calibration) == (
        "strict", 2, 0.25, Calibration(compared=4, agreed=3, unknown=0),
    )  # fmt: skip
    assert (list(answers.scoring), answers.scoring["choices"].answers) == (["choices"], 1)
    assert [own.cost_usd for own in answers.usages if own is not None] == [0.25]


@pytest.mark.parametrize("at", range(3))
def test_an_old_summary_and_one_that_is_made_anew_have_the_same_rates(at: int) -> None:
    old = json.loads((OLD / "summary.json").read_text())["reviewers"][at]
    read = read_summary(OLD / "summary.json").reviewers[at]
    anew = summarise(read_trials(OLD / "trials.jsonl")).reviewers[at]
    for one in (read, anew):
        assert one.reviewer == old["reviewer"]
        assert one.variant == old.get("arm")
        assert (one.regressions.broken, one.regressions.measured) == tuple(old["damage"].values())
        assert one.overall.micro == pytest.approx(old["overall"]["micro"])
        assert {word: rate.caught for word, rate in one.by_category.items()} == {
            word: rate["caught"] for word, rate in old["by_category"].items()
        }
        assert {word: rate.known for word, rate in one.by_kind.items()} == {
            word: rate["known"] for word, rate in old["by_kind"].items()
        }
        assert [oracle.verdicts for oracle in one.oracles] == [oracle["verdicts"] for oracle in old["oracles"]]


def test_a_share_of_older_summaries_is_read_under_its_present_names() -> None:
    agents = [{"agent": "one", "human": {"caught": 1.5, "known": 2}}, {"agent": "two", "human": None}]
    value = {"reviewers": [], "mediators": {"reviewers": [], "oracles": 2, "agents": agents}}
    one, two = upgraded_summary(value)["mediators"]["agents"]
    assert (one["human"], two["human"]) == ({"part": 1.5, "known": 2}, None)
