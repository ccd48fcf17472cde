"""The tables of CodeReviewQA's paper from stored trials: by scale, by language, and failures."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.codereviewqa.comprehension import comprehension
from pytest_crab.benchmarks.codereviewqa.exact_match import VARIANTS
from pytest_crab.benchmarks.codereviewqa.records import ProbeReason, ProbeRecord, ProbeResult
from pytest_crab.cli import main
from pytest_crab.results.files import write_records, write_trials
from pytest_crab.statistics.shares import Share
from pytest_crab.types import Judgement, Provenance, Reason, Score, ScoredComment, Trial, verdict_score

ANSWERS = {"c": ProbeReason.CORRECT, "m": ProbeReason.INCORRECT, "-": ProbeReason.NO_ANSWER}
PROBES = ("change-type", "lines-easy", "lines-hard", "solution-easy", "solution-hard")


def trial(reviewer: str, row: str, scores: Iterable[Score], **fields: Any) -> Trial:
    known = {"repo": "r", "provenance": Provenance.GITHUB, "agent": "", "runtime": "local"}
    own, labels = tuple(scores), {"language": row.partition("-")[0]}
    comments = tuple(ScoredComment(id=score.subject, labels=labels) for score in own)
    return Trial(instance=row, reviewer=reviewer, comments=comments, scores=own, **{**known, **fields})


def answered(name: str, row: str, letters: str) -> ProbeRecord:
    """A letter for each probe; three letters where the row has no question on its solution."""
    return ProbeRecord(
        instance=row,
        repo="r",
        answerer=name,
        labels={"language": row.partition("-")[0]},
        measure="letters",
        wording="ours",
        results=tuple(
            ProbeResult(probe=probe, reason=ANSWERS[letter]) for probe, letter in zip(PROBES, letters, strict=False)
        ),
    )


def refined(agent: str, row: str, equal: str, released: str = "") -> Trial:
    """The variants of exact match that hold, as the numbers of their places."""

    def found(places: str) -> dict[str, bool]:
        return {name: str(at) in places for at, name in enumerate(VARIANTS)}

    reason = Reason.CORRECT if "0" in equal else Reason.INCORRECT
    evidence = {**found(equal), "release": found(released)}
    score = verdict_score("refinement", "c0", Judgement(reason=reason), evidence)
    return trial("human+" + agent, row, [score], review_by="human", agent=agent)


RECORDS = [
    answered("big", "c-0", "ccccc"),
    answered("big", "c-1", "cmc"),
    answered("big", "go-0", "ccccm"),
    answered("small", "c-0", "m-cmm"),
    answered("small", "c-1", "mmm"),
    answered("small", "go-0", "ccc-c"),
]

TRIALS = [
    refined("big", "c-0", "0123", "0123"),
    refined("big", "c-1", "1", "12"),
    refined("big", "go-0", "", ""),
    refined("small", "go-0", "03", "03"),
]


def test_shares_are_by_task_and_language() -> None:
    big, small = comprehension(TRIALS, RECORDS, rule="plain")
    assert (big.name, big.measure) == ("big", "letters")
    assert big.tasks["refinement"] == {
        "c": Share(part=1, known=2),
        "go": Share(part=0, known=1),
        "all": Share(part=1, known=3),
    }
    assert big.tasks["solution-hard"]["all"] == Share(part=1, known=2)  # one row has no question on its solution
    assert small.tasks["lines-easy"]["all"] == Share(part=1, known=2, unknown=1)


def test_failures_are_by_step_with_and_without_an_exact_match() -> None:
    big, small = comprehension(TRIALS, RECORDS, rule="plain")
    assert big.failures["missed"] == {
        "any": Share(part=2, known=2),
        "change-type": Share(part=0, known=2),
        "lines": Share(part=1, known=2),
        "solution": Share(part=1, known=1),
    }
    assert big.failures["matched"]["any"] == Share(part=0, known=1)
    assert small.failures["missed"] == {}  # of the rows that it refined none is missed
    assert small.failures["matched"]["any"] == Share(unknown=1)  # no answer is wrong, and one is missing
    assert small.failures["matched"]["lines"] == Share(part=0, known=1)


@pytest.mark.parametrize(("rule", "shares"), [("plain", [1, 2, 1, 1]), ("release", [1, 2, 2, 1])])
def test_the_rule_decides_the_variants(rule: str, shares: list[int]) -> None:
    big, _ = comprehension(TRIALS, RECORDS, rule=rule, variant="em_no_space")
    assert [big.variants[name].part for name in VARIANTS] == shares
    assert big.tasks["refinement"]["all"].part == shares[2]


def test_other_reviewers_and_the_record_of_before_do_not_count() -> None:
    mine = trial("mine", "c-0", refined("big", "c-0", "0").scores, agent="big")
    assert comprehension([mine], [], rule="plain") == []
    score = verdict_score("refinement", "c0", Judgement(reason=Reason.CORRECT), dict.fromkeys(VARIANTS, True))
    (old,) = comprehension([trial("human", "c-0", [score], agent="big")], [], rule="release")
    assert [old.variants[name] for name in VARIANTS] == [Share(part=1, known=1), *[Share(unknown=1)] * 3]


def test_the_command_marks_the_best_of_each_scale(tmp_path: Path) -> None:
    write_trials(tmp_path / "trials.jsonl", TRIALS)
    write_records(tmp_path / "probes.jsonl", [*RECORDS, answered("tiny", "c-0", "mmmmm")])
    arguments = [
        "benchmark",
        "codereviewqa",
        "comprehension",
        str(tmp_path),
        "--scale",
        "small=<=3B",
        "--scale",
        "tiny=<=3B",
        "--scale",
        "big=<=9B",
    ]
    lines = CliRunner().invoke(main, arguments).output.splitlines()
    rows = [line.split() for line in lines]
    assert rows[2:7] == [
        ["<=3B"],
        ["small", "letters", "ours", "**100.0", "*33.3", "*50.0", "*66.7", "*0.0", "**50.0"],
        ["tiny", "letters", "ours", "-", "0.0", "0.0", "0.0", "*0.0", "0.0"],
        ["<=9B"],
        ["big", "letters", "ours", "*33.3", "**100.0", "**66.7", "**100.0", "**100.0", "**50.0"],
    ]
    assert ["big", "2", "100.0", "0.0", "50.0", "100.0"] in rows
    assert any(line.startswith("small: not in these shares") for line in lines)
    data = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).output)
    assert [model["scale"] for model in data] == ["<=3B", "<=3B", "<=9B"]


@pytest.mark.parametrize(
    ("options", "said"), [(["--scale", "big"], "NAME=SCALE"), (["--scale", "bog=1B"], "bog"), (["--rule", "x"], "x")]
)
def test_a_wrong_option_is_said(tmp_path: Path, options: list[str], said: str) -> None:
    write_trials(tmp_path / "trials.jsonl", TRIALS)
    write_records(tmp_path / "probes.jsonl", RECORDS)
    result = CliRunner().invoke(main, ["benchmark", "codereviewqa", "comprehension", str(tmp_path), *options])
    assert (result.exit_code, said in result.output) == (2, True)


def test_letters_that_are_no_answers_are_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "probes.jsonl"
    write_records(file, RECORDS)
    file.write_text(file.read_text().replace('"reason":"correct"', '"letters":"ABC","reason":"correct"', 1))
    result = CliRunner().invoke(main, ["benchmark", "codereviewqa", "probes", str(file)])
    assert result.exit_code == 1
    assert "3 answers are not one for each order of three or four options" in result.output
