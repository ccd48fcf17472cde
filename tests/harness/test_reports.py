"""The host's side: what is sent, and what of an answer is believed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from pytest_crab import harness
from pytest_crab.protocols import Completed
from pytest_crab.types import Ending

if TYPE_CHECKING:
    from conftest import Bench

GOOD: dict[str, Any] = {"id": "a", "ending": "completed", "exit_code": 1, "tests": [], "tripwire": True, "seconds": 1}


def answer(*lines: Any, exit_code: int | None = 0, **more: Any) -> list[Completed]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return [Completed(exit_code=exit_code, stdout=text.encode(), stderr=b"why", **more)]


@pytest.fixture
def job(bench: Bench) -> harness.Job:
    return bench.job([bench.oracle("", name=name) for name in ("a", "b")], {})


def test_a_whole_answer_is_read_in_the_order_asked(job: harness.Job) -> None:
    lines = [{"hello": "3"}, {"run": {**GOOD, "id": "b"}}, {"run": GOOD}, {"leaks": {"git": None}}, {"bye": True}]
    report = harness.parse(job, answer(*lines))
    assert [(run.id, run.ending) for run in report.runs] == [("a", Ending.COMPLETED), ("b", Ending.COMPLETED)]
    assert (report.problems, report.leaks) == ((), {"git": None})


@pytest.mark.parametrize(
    "line",
    [
        {"run": GOOD},
        {"run": {**GOOD, "tests": [{"id": "x", "outcome": "passed"}]}},
    ],
)
def test_a_run_that_is_told_twice_is_not_believed(job: harness.Job, line: Any) -> None:
    report = harness.parse(
        job, answer({"hello": "3"}, line, {"run": GOOD}, {"run": {**GOOD, "id": "b"}}, {"bye": True})
    )
    assert [run.ending for run in report.runs] == [Ending.EXITED, Ending.COMPLETED]
    assert report.problems == ("a: the run was reported more than once",)


@pytest.mark.parametrize(
    ("lines", "more", "endings"),
    [
        (({"hello": "3"}, {"run": GOOD}, {"bye": True}), {"exit_code": 137}, ("lost", "lost")),
        (({"hello": "3"}, {"run": GOOD}), {}, ("exited", "exited")),
        (({"hello": "3"}, {"bye": True}, {"bye": True}), {}, ("exited", "unstarted")),
        (({"hello": "3"},), {"exit_code": None, "timed_out": True}, ("timeout", "unstarted")),
        (({"hello": "3"},), {"exit_code": 137, "out_of_memory": True}, ("memory", "unstarted")),
        ((), {"exit_code": 1}, ("unstarted", "unstarted")),
        (({"broken": "no pytest"},), {"exit_code": 1}, ("unstarted", "unstarted")),
    ],
)
def test_nothing_is_believed_of_a_harness_that_did_not_end(
    job: harness.Job, lines: tuple[Any, ...], more: dict[str, Any], endings: tuple[str, ...]
) -> None:
    report = harness.parse(job, answer(*lines, **more))
    assert tuple(run.ending.value for run in report.runs) == endings
    assert report.problems and report.leaks is None


@pytest.mark.parametrize("code", [137, None])
def test_a_harness_that_ended_without_a_word_is_said_without_one(job: harness.Job, code: int | None) -> None:
    report = harness.parse(job, [Completed(exit_code=code, stdout=b"", stderr=b" \n")])
    assert {run.detail for run in report.runs} == {f"the harness did not come to its end (exit code {code})"}


@pytest.mark.parametrize("wrong", [{"tests": "x"}, {"tripwire": 7}, {"more": 1}, {"ending": "fine"}, {"tests": [{}]}])
def test_a_run_of_the_wrong_shape_is_exited(job: harness.Job, wrong: dict[str, Any]) -> None:
    report = harness.parse(
        job, answer({"hello": "3"}, {"run": {**GOOD, **wrong}}, {"run": {**GOOD, "id": "b"}}, {"bye": 1})
    )
    assert [run.ending for run in report.runs] == [Ending.EXITED, Ending.COMPLETED]
    assert "not well-formed" in report.problems[0]


def test_strange_lines_are_ignored_and_said(job: harness.Job) -> None:
    lines = [
        {"hello": "3"},
        "1 passed",
        "[1]",
        {"run": {**GOOD, "id": "z"}},
        {"run": GOOD},
        {"run": {**GOOD, "id": "b"}},
    ]
    report = harness.parse(job, answer(*lines, {"bye": True}))
    assert [run.ending for run in report.runs] == [Ending.COMPLETED, Ending.COMPLETED]
    assert len(report.problems) == 3


@settings(max_examples=200)
@given(data=st.data())
def test_no_answer_makes_the_reader_fail_or_lose_a_run(data: st.DataObject) -> None:
    values = st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2) |
                          st.dictionaries(st.sampled_from(["run", "id", "bye", "hello", "a", "tests"]), inner, max_size=3))  # fmt: skip # noqa: E501
    lines = data.draw(st.lists(values.map(json.dumps) | st.text(max_size=8), max_size=5))
    stdout = "\n".join(lines).encode("utf-8", "surrogatepass")
    code = data.draw(st.sampled_from([0, 1, None]))
    report = harness.parse(JOB, [Completed(exit_code=code, stdout=stdout, stderr=b"\xff")])
    assert [run.id for run in report.runs] == ["a"]


def make_job() -> harness.Job:
    from pytest_crab.protocols import Image
    from pytest_crab.types import Environment
    from pytest_crab.types import Oracle

    image = Image(key="k", reference="r", tree="/t", workdir="/w", python="/p", site=())
    run = harness.OracleRun(id="a", state="head", seconds=1, oracle=Oracle(file="test_a.py"), source="")
    return harness.Job(image=image, environment=Environment(dockerfile="python"), states={"head": ()}, runs=[run])


JOB = make_job()


def test_a_job_that_makes_no_sense_cannot_be_made(bench: Bench) -> None:
    twice = [bench.oracle(""), bench.oracle("")]
    mixed = [bench.oracle("", name="a"), bench.oracle("", name="b", isolated=True)]
    for runs, words in ((twice, "same id"), (mixed, "job of their own"), ([bench.oracle("", state="x")], "a state")):
        with pytest.raises(ValueError, match=words):
            bench.job(runs, {})


def test_an_oracles_source_is_not_shown_and_not_sent_to_the_projects_side(bench: Bench) -> None:
    job = bench.job([bench.oracle("very-secret", isolated=True)], {})
    attend, serve = harness.commands(job)
    assert "very-secret" not in repr(job)
    assert (b"very-secret" in attend.stdin, b"very-secret" in serve.stdin) == (True, False)
    assert (attend.user, serve.user) == ("oracle", "project")
    assert "very-secret" not in " ".join(attend.argv)


def test_the_version_is_a_digest() -> None:
    assert len(bytes.fromhex(harness.VERSION)) == 32
