"""The host's side: what is sent, and what of an answer is believed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from pytest_crab import harness
from pytest_crab.harness.inside.channel import frame
from pytest_crab.protocols import Completed
from pytest_crab.types import Ending

if TYPE_CHECKING:
    from conftest import Bench

GOOD: dict[str, Any] = {"id": "a", "ending": "completed", "exit_code": 1, "tests": [], "tripwire": True, "seconds": 1}


HELLO = {"hello": "3"}
OTHER = {**GOOD, "id": "b"}


def answer(
    job: harness.Job, *lines: Any, whole: bool = True, exit_code: int | None = 0, **more: Any
) -> list[Completed]:
    """What a harness sends that says these lines."""
    texts = [json.dumps(line).encode() for line in lines]
    sent = [frame(job.key, number, text) for number, text in enumerate(texts)]
    sent += [frame(job.key, len(sent), b"", last=True)] if whole else []
    return [Completed(exit_code=exit_code, stdout=b"".join(sent), stderr=b"why", **more)]


@pytest.fixture
def job(bench: Bench) -> harness.Job:
    return bench.job([bench.oracle("", name=name) for name in ("a", "b")], {})


def test_a_whole_answer_is_read_in_the_order_asked(job: harness.Job) -> None:
    report = harness.parse(job, answer(job, HELLO, {"run": OTHER}, {"run": GOOD}, {"leaks": {"git": None}}))
    assert [(run.id, run.ending) for run in report.runs] == [("a", Ending.COMPLETED), ("b", Ending.COMPLETED)]
    assert (report.problems, report.leaks) == ((), {"git": None})


@pytest.mark.parametrize(
    "lines",
    [
        [{"run": GOOD}],
        [{"run": GOOD}, {"run": GOOD}, {"run": OTHER}],
        [{"run": GOOD}, {"run": {**GOOD, "id": "z"}}],
        [{"run": GOOD}, {"run": OTHER}, {"run": {**GOOD, "id": "z"}}],
        [{"run": GOOD}, {"run": OTHER}, {"run": []}],
        [{"run": GOOD}, ["run"]],
    ],
)
def test_a_report_that_does_not_hold_each_run_once_is_not_believed_at_all(job: harness.Job, lines: list[Any]) -> None:
    report = harness.parse(job, answer(job, HELLO, *lines))
    assert Ending.COMPLETED not in {run.ending for run in report.runs}
    assert len(report.problems) == 1


@pytest.mark.parametrize(
    ("lines", "more", "endings"),
    [
        ((HELLO, {"run": GOOD}), {"whole": False, "exit_code": 137}, ("lost", "lost")),
        ((HELLO, {"run": GOOD}), {"whole": False}, ("lost", "lost")),
        ((HELLO, {"run": GOOD}, {"run": OTHER}), {"whole": False}, ("lost", "lost")),
        ((HELLO,), {}, ("lost", "unstarted")),
        ((HELLO,), {"whole": False, "exit_code": None, "timed_out": True}, ("timeout", "unstarted")),
        ((HELLO,), {"whole": False, "exit_code": 137, "out_of_memory": True}, ("memory", "unstarted")),
        ((), {"whole": False, "exit_code": 1}, ("unstarted", "unstarted")),
        (({"broken": "no pytest"},), {"exit_code": 0}, ("unstarted", "unstarted")),
    ],
)
def test_nothing_is_believed_of_a_harness_that_did_not_end(
    job: harness.Job, lines: tuple[Any, ...], more: dict[str, Any], endings: tuple[str, ...]
) -> None:
    report = harness.parse(job, answer(job, *lines, **more))
    assert tuple(run.ending.value for run in report.runs) == endings
    assert report.problems and report.leaks is None


@pytest.mark.parametrize("code", [137, None])
def test_a_harness_that_ended_without_a_word_is_said_without_one(job: harness.Job, code: int | None) -> None:
    report = harness.parse(job, [Completed(exit_code=code, stdout=b"", stderr=b" \n")])
    (detail,) = {run.detail for run in report.runs}
    assert detail is not None
    assert detail.endswith(f"(exit code {code})")


@pytest.mark.parametrize("wrong", [{"tests": "x"}, {"tripwire": 7}, {"more": 1}, {"ending": "fine"}, {"tests": [{}]}])
def test_a_run_of_the_wrong_shape_is_exited(job: harness.Job, wrong: dict[str, Any]) -> None:
    report = harness.parse(job, answer(job, HELLO, {"run": {**GOOD, **wrong}}, {"run": OTHER}))
    assert [run.ending for run in report.runs] == [Ending.EXITED, Ending.COMPLETED]
    assert "not well-formed" in report.problems[0]


FORGED = json.dumps({"run": GOOD}).encode()


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("text", [b"\n", b'{"x": ', FORGED + b"\n", b"\0" * 5], ids=["end", "open", "run", "zeros"])
def test_what_another_process_writes_into_a_report_is_tampering_wherever_it_stands(
    job: harness.Job, text: bytes, place: int
) -> None:
    lines = [HELLO, {"run": GOOD}, {"run": OTHER}]
    sent = [frame(job.key, number, json.dumps(line).encode()) for number, line in enumerate(lines)]
    sent.append(frame(job.key, 3, b"", last=True))
    printed = b"".join([*sent[:place], text, *sent[place:]])
    report = harness.parse(job, [Completed(exit_code=0, stdout=printed, stderr=b"")])
    assert [run.ending for run in report.runs] == [Ending.TAMPERED] * 2
    assert report.problems


def test_a_report_to_another_job_is_tampering(job: harness.Job, bench: Bench) -> None:
    lines = [HELLO, {"run": GOOD}, {"run": OTHER}]
    again = bench.job(job.runs, {})
    report = harness.parse(again, answer(job, *lines))
    assert [run.ending for run in report.runs] == [Ending.TAMPERED] * 2


@settings(max_examples=200)
@given(data=st.data())
def test_no_answer_makes_the_reader_fail_or_lose_a_run(data: st.DataObject) -> None:
    values = st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2) |
                          st.dictionaries(st.sampled_from(["run", "id", "bye", "hello", "a", "tests"]), inner, max_size=3))  # fmt: skip # noqa: E501
    lines = data.draw(st.lists(values.map(json.dumps) | st.text(max_size=8), max_size=5))
    texts = [line.encode("utf-8", "surrogatepass") for line in lines]
    whole = data.draw(st.booleans())
    messages = [frame(JOB.key, number, text) for number, text in enumerate(texts)]
    messages += [frame(JOB.key, len(texts), b"", last=True)] if whole else []
    stdout = b"".join(messages) if data.draw(st.booleans()) else b"\n".join(texts)
    code = data.draw(st.sampled_from([0, 1, None]))
    report = harness.parse(JOB, [Completed(exit_code=code, stdout=stdout, stderr=b"\xff")])
    assert [run.id for run in report.runs] == ["a"]


def make_job() -> harness.Job:
    from pytest_crab.protocols import Image
    from pytest_crab.types import Environment, Oracle

    image = Image(key="k", reference="r", tree="/t", workdir="/w", interpreter="/p", site=())
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


def test_the_key_is_new_for_each_job_shown_nowhere_and_only_ahead_of_what_tells(bench: Bench) -> None:
    plain, isolated = (bench.job([bench.oracle("", isolated=isolated)], {}) for isolated in (False, True))
    assert plain.key != isolated.key
    assert repr(plain.key)[2:-1] not in repr(plain)
    (told,) = harness.commands(plain)
    attend, serve = harness.commands(isolated)
    assert told.stdin.startswith(plain.key)
    assert attend.stdin.startswith(isolated.key)
    assert isolated.key not in serve.stdin
    assert (told.first, attend.first, serve.first) == (True, True, False)


def test_the_version_is_a_digest() -> None:
    assert len(bytes.fromhex(harness.VERSION)) == 32
