from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.results.files import TrialLog, read_summary, read_trials, write_summary, write_trials
from pytest_crab.results.summary import Summary, summarise
from pytest_crab.types import Finding, Reason, Review, Revision, Score, ScoredComment, Trial, Unit, Usage

MakeTrial = Callable[..., Trial]

FINITE = st.floats(0, 1e6)
TEXT = st.text(max_size=20)

FINDINGS = st.builds(
    Finding, body=TEXT, path=st.none() | TEXT, start=st.none(), end=st.none(), title=st.none() | TEXT, severity=TEXT
)
USAGES = st.builds(Usage, cost_usd=st.none() | FINITE, requests=st.none() | st.integers(0, 9))
LABELS = st.dictionaries(TEXT, TEXT, max_size=2)
COMMENTS = st.builds(ScoredComment, lines=st.none() | st.just((1, 2)), labels=LABELS, resolvable=st.none())
SCORES = st.builds(
    Score,
    unit=st.just(Unit.FINDING),
    subject=st.integers(0, 9).map(str),
    label=st.none() | TEXT,
    value=st.none() | FINITE,
    evidence=st.just({"a": [1]}),
)
TRIALS = st.builds(
    Trial,
    schema=st.just(2),
    review=st.none() | st.builds(Review, findings=st.lists(FINDINGS, max_size=2).map(tuple), usage=st.none() | USAGES),
    revision=st.none() | st.builds(Revision, diff=TEXT, usage=USAGES),
    comments=st.lists(COMMENTS, max_size=3).map(tuple),
    scores=st.lists(SCORES, max_size=3).map(tuple),
    steps=st.just(()),
    seconds=FINITE,
    versions=st.dictionaries(TEXT, st.none() | st.integers() | TEXT | st.lists(TEXT), max_size=2),
)


@given(st.lists(TRIALS, max_size=4))
def test_trials_come_back_as_they_went(tmp_path_factory: pytest.TempPathFactory, trials: list[Trial]) -> None:
    path = tmp_path_factory.mktemp("report") / "trials.jsonl"
    write_trials(path, trials)
    assert list(read_trials(path)) == trials
    assert path.read_bytes().isascii()


def test_a_log_is_readable_while_it_grows(tmp_path: Path, make_trial: MakeTrial) -> None:
    path = tmp_path / "deep" / "trials.jsonl"
    with TrialLog(path) as log:
        for at in range(3):
            log.append(make_trial("codex", f"i{at}", Reason.GREEN))
            assert [trial.instance for trial in read_trials(path)] == [f"i{n}" for n in range(at + 1)]
    log.close()


def test_a_new_log_replaces_the_file(tmp_path: Path, make_trial: MakeTrial) -> None:
    path = tmp_path / "trials.jsonl"
    for instance in "ab":
        with TrialLog(path) as log:
            log.append(make_trial("codex", instance, Reason.GREEN))
    assert [trial.instance for trial in read_trials(path)] == ["b"]


def test_two_runs_that_write_the_same_report_leave_whole_records(tmp_path: Path, make_trial: MakeTrial) -> None:
    path = tmp_path / "trials.jsonl"
    first, second, third = (make_trial("codex", name, Reason.GREEN) for name in "abc")
    with TrialLog(path) as one:
        one.append(first)
        with TrialLog(path) as two:
            two.append(second)
            one.append(third)
    assert list(read_trials(path)) == [second]


def test_what_a_kill_leaves_at_any_byte_is_read(tmp_path: Path, make_trial: MakeTrial) -> None:
    path = tmp_path / "trials.jsonl"
    first, second = (make_trial("codex", name, Reason.GREEN) for name in "ab")
    write_trials(path, [first])
    size = path.stat().st_size
    write_trials(path, [first, second])
    whole = path.read_bytes()
    for length in range(size, len(whole) + 1):
        path.write_bytes(whole[:length])
        expected = [first, second] if length >= len(whole) - 1 else [first]
        assert list(read_trials(path)) == expected


def damaged(trial: Trial) -> Iterator[tuple[bytes, str]]:
    value = serialization.dump(trial)
    score = value["scores"][0]
    yield b"{half", "is not JSON"
    yield b"\xff\xfe", "is not JSON"
    yield b"", "is not JSON"
    yield b"[]", "the whole is a list"
    for change, sentence in (
        ({"schema": 3}, "schema 3 is not known here; this version reads 2"),
        ({"colour": "red"}, "colour is not a known key"),
        ({"versions": {"harness": float("inf")}}, "is not JSON: Infinity is no number"),
        ({"repeat": "once"}, "repeat is 'once'; it should be a whole number"),
        ({"scores": [{**score, "label": "missed"}]}, "scores[0].label is missed, but green means caught"),
        ({"scores": [{**score, "subject": "c9"}]}, "scores[0].subject is c9, which is no comment of the trial"),
    ):
        yield json.dumps({**value, **change}).encode(), sentence
    yield b"[" * 100_000, "is nested too deeply to be a record"


def test_a_fault_names_the_file_and_the_line(tmp_path: Path, make_trial: MakeTrial) -> None:
    path = tmp_path / "trials.jsonl"
    good = make_trial("codex", "a", Reason.GREEN)
    for line, sentence in damaged(good):
        write_trials(path, [good, good])
        whole = path.read_bytes().split(b"\n")
        path.write_bytes(b"\n".join([whole[0], line, whole[1], b""]))
        with pytest.raises(BadInput) as caught:
            list(read_trials(path))
        assert str(caught.value).startswith(f"{path}:2: ")
        assert sentence in str(caught.value)


def test_a_score_of_a_finding_without_its_place_is_refused(tmp_path: Path, make_trial: MakeTrial) -> None:
    score = Score(scorer="use", unit=Unit.FINDING, subject="7", label="noise", reason=Reason.GREEN)
    path = tmp_path / "trials.jsonl"
    write_trials(path, [dataclasses.replace(make_trial("mine", "a", Reason.GREEN), scores=(score,))])
    path.write_text(path.read_text().replace('"subject":"7"', '"subject":"f7"'))
    with pytest.raises(
        BadInput, match=r"jsonl:1: scores\[0\]: subject is 'f7'; of a finding it should be its place, from 0"
    ):
        list(read_trials(path))


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.jsonl: cannot be read: No such file or directory"):
        list(read_trials(tmp_path / "none.jsonl"))


def test_a_summary_comes_back(tmp_path: Path, make_trial: MakeTrial) -> None:
    path = tmp_path / "report" / "summary.json"
    summary = summarise([make_trial("codex", "a", Reason.GREEN, Reason.BROKEN, findings=3)])
    write_summary(path, summary)
    assert read_summary(path) == summary
    assert json.loads(path.read_text())["reviewers"][0]["overall"]["high"] == 1


def test_an_oracle_and_the_rate_of_a_label_are_one_line_each(tmp_path: Path, make_trial: MakeTrial) -> None:
    path = tmp_path / "summary.json"
    summary = summarise([make_trial("codex", name, Reason.GREEN) for name in ("a", "b")])
    write_summary(path, summary)
    (codex,) = summary.reviewers
    lines = [line.strip().rstrip(",") for line in path.read_text().splitlines()]
    read = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
    assert [own["instance"] for own in read if "instance" in own] == ["a", "b"]
    rates = {line.partition('": {')[0].strip('"') for line in lines if '"oracles": ' in line and line.endswith("}")}
    words = {word for rates_of in codex.by_label.values() for word in rates_of}
    assert words and words <= rates
    assert codex.overall.macro_interval is not None
    assert all(rate.macro_interval is None for own in codex.by_label.values() for rate in own.values())
    assert read_summary(path) == summary


def records_in(kind: Any) -> Iterator[type]:
    """The dataclasses that a type is made of, itself included; some more than once."""
    if dataclasses.is_dataclass(kind):
        yield kind
    for inner in [
        *typing.get_args(kind),
        *(typing.get_type_hints(kind) if dataclasses.is_dataclass(kind) else {}).values(),
    ]:
        yield from records_in(inner)


@pytest.mark.parametrize("record", [Summary, Trial])
def test_a_field_that_may_be_none_has_a_default_since_files_leave_it_out(record: type) -> None:
    for kind in set(records_in(record)):
        hints = typing.get_type_hints(kind)
        optional = {name for name, hint in hints.items() if type(None) in typing.get_args(hint)}
        needed = {
            one.name for one in dataclasses.fields(kind) if one.default is one.default_factory is dataclasses.MISSING
        }
        assert not optional & needed, kind


def test_an_oracle_is_named_once_and_one_that_differs_is_another(tmp_path: Path, make_trial: MakeTrial) -> None:
    path = tmp_path / "summary.json"
    trials = [make_trial(name, "a", Reason.GREEN, Reason.FAILED, repeat=n) for name in ("one", "two") for n in (1, 3)]
    other = make_trial("three", "a", Reason.GREEN)
    marked = [dataclasses.replace(comment, resolvable=True) for comment in other.comments]
    summary = summarise([*trials, dataclasses.replace(other, comments=tuple(marked))])
    write_summary(path, summary)
    data = json.loads(path.read_text())
    listed = [(one["comment"], one.get("resolvable")) for one in data["oracles"]]
    assert listed == [("c0", None), ("c1", None), ("c0", True)]
    assert data["reviewers"][1]["oracles"] == [
        {"oracle": 0, "verdicts": "cc", "repeats": [1, 3]},
        {"oracle": 1, "verdicts": "mm", "repeats": [1, 3]},
    ]
    assert read_summary(path) == summary


@pytest.mark.parametrize(
    "rows",
    [
        [{"oracle": 2}],
        [{"oracle": -1}],
        [{"oracle": True}],
        [{"oracle": 1.0}],
        [{"oracle": "1"}],
        [{}],
        [{"oracle": 0}, {"oracle": 0}],
        [{"oracle": 0, "repo": "another/one"}],
    ],
)
def test_an_oracle_that_is_no_number_of_the_list_or_twice_there_is_refused(
    tmp_path: Path, make_trial: MakeTrial, rows: list[dict[str, Any]]
) -> None:
    path = tmp_path / "summary.json"
    write_summary(path, summarise([make_trial("codex", "a", Reason.GREEN, Reason.FAILED)]))
    data = json.loads(path.read_text())
    data["reviewers"][0]["oracles"] = [{"verdicts": "c", **row} for row in rows]
    path.write_text(json.dumps(data))
    with pytest.raises(BadInput, match="number of the list of oracles"):
        read_summary(path)


@pytest.mark.parametrize("text", ["", "{", '{"schema": 1}', '{"reviewers": 3}', '{"oracles": [], "reviewers": 3}'])
def test_a_bad_summary_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "summary.json"
    path.write_text(text)
    with pytest.raises(BadInput):
        read_summary(path)


@pytest.mark.parametrize("text", ["{}", "[]", '{"name": "shop", "reviewers": []}'])
def test_what_is_no_summary_is_called_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "package.json"
    path.write_text(text)
    with pytest.raises(BadInput, match="no summary of a run"):
        read_summary(path)


def test_a_number_that_is_none_is_in_no_file(tmp_path: Path, make_trial: MakeTrial) -> None:
    (codex,) = summarise([make_trial("codex", "a", Reason.GREEN)]).reviewers
    endless = Summary(reviewers=(dataclasses.replace(codex, cost_usd=float("inf")),))
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_summary(tmp_path / "summary.json", endless)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, make_trial: MakeTrial) -> None:
    path = tmp_path / "trials.jsonl"
    write_trials(path, [make_trial("codex", "a", Reason.GREEN)])
    before = path.read_bytes()

    def failing() -> Iterator[Trial]:
        yield make_trial("codex", "b", Reason.GREEN)
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        write_trials(path, failing())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_empty_summary_is_a_file_too(tmp_path: Path) -> None:
    write_summary(tmp_path / "summary.json", Summary())
    assert read_summary(tmp_path / "summary.json") == Summary()
