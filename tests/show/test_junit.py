from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import junitparser
import pytest

from pytest_crab.results.gate_record import Gate, GateRuling
from pytest_crab.results.summary import summarise
from pytest_crab.show.junit import render, write_junit
from pytest_crab.statistics.comparison import Measured
from pytest_crab.statistics.labels import compare_labels
from pytest_crab.types import CONTROL, CommentResult, Finding, Reason, Review, TestOutcome, Trial

MakeTrial = Callable[..., Trial]
MakeResult = Callable[..., CommentResult]

#: What Jenkins' xunit2 schema allows in each element: attributes, then children.
SCHEMA = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp", "hostname", "id", "package"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    "testcase": ({"name", "time", "classname", "group"}, {"skipped", "error", "failure", "system-out", "system-err"}),
    **dict.fromkeys(("skipped", "error", "failure"), ({"type", "message"}, set())),
    **dict.fromkeys(("system-out", "system-err"), (set(), set())),
}


@pytest.fixture
def trials(make_trial: MakeTrial, make_result: MakeResult) -> list[Trial]:
    stop = TestOutcome(id="test_secret", outcome="failed", exception="AssertionError", where="src/x.py:3")
    return [
        make_trial(
            "codex",
            "a@1",
            make_result("c0", Reason.GREEN),
            make_result("c1", Reason.FAILED, tests=(stop,), path="src/x.py", lines=(3, 3)),
            make_result("c2", Reason.BROKEN, detail="the engine is gone"),
            make_result("c3", Reason.NOT_RUN),
            seconds=0.7,
            review=Review(findings=(Finding(body="look here", path="src/x.py", start=4),)),
        ),
        make_trial("codex", "b@1", Reason.GREEN, seconds=0.1),
        make_trial("none", "a@1", Reason.FAILED, Reason.FAILED, variant=CONTROL),
        make_trial("human", "a@1", Reason.GREEN, repeat=2, privileged=("human",), simulated=True, agent="simulated"),
    ]


def suites(content: bytes) -> dict[str, ET.Element]:
    return {suite.attrib["name"]: suite for suite in ET.fromstring(content)}


def endings(suite: ET.Element) -> list[tuple[str | None, ...]]:
    return [
        (case.get("classname"), case.get("name"), *(one.tag for one in case if one.tag != "system-out"))
        for case in suite.iter("testcase")
    ]


def test_a_case_says_what_became_of_its_oracle(trials: list[Trial]) -> None:
    found = suites(render(trials, summarise(trials)))
    assert list(found) == ["codex", "none", "human"]
    assert endings(found["codex"]) == [
        ("a@1", "c0"),
        ("a@1", "c1", "failure"),
        ("a@1", "c2", "error"),
        ("a@1", "c3", "skipped"),
        ("b@1", "c0"),
    ]
    assert endings(found["human"]) == [("a@1", "c0[2]")]
    counts = {name: found["codex"].get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert counts == {"tests": "5", "failures": "1", "errors": "1", "skipped": "1", "time": "0.8"}
    properties = {one.attrib["name"]: one.attrib["value"] for one in found["codex"].iter("property")}
    expected = {"agent": "claude-code", "rate": "0.666667", "oracles": "5", "known": "3", "outcome.broken": "1"}
    assert {name: properties[f"crab.{name}"] for name in expected} == expected
    assert properties["crab.rate.functional"] == properties["crab.rate.behavioral"] == "0.666667"
    assert properties["crab.interval"] == properties["crab.interval.functional"]
    assert properties["crab.interval"].endswith(" over 2 pull requests, for this 1 repository only")


def test_a_word_of_two_dimensions_has_a_rate_in_each(make_trial: MakeTrial, make_result: MakeResult) -> None:
    labels = [
        {"category": "style", "kind": "static", "severity": "high", "effort": "high"},
        {"category": "style", "kind": "static", "severity": "low"},
        {"category": "naming", "kind": "style", "effort": "high"},
    ]
    reasons = (Reason.GREEN, Reason.FAILED, Reason.FAILED)
    results = [make_result(f"c{at}", reasons[at], labels=own) for at, own in enumerate(labels)]
    trials = [make_trial("codex", "a@1", *results)]
    (suite,) = suites(render(trials, summarise(trials))).values()
    properties = {one.attrib["name"]: one.attrib["value"] for one in suite.iter("property")}
    assert {name: value for name, value in properties.items() if ".rate." in name} == {
        "crab.rate.category.style": "0.5",
        "crab.rate.naming": "0",
        "crab.rate.static": "0.5",
        "crab.rate.kind.style": "0",
        "crab.rate.severity.high": "1",
        "crab.rate.severity.low": "0",
        "crab.rate.effort.high": "0.5",
    }


def test_bodies_say_where_and_why_and_what_was_found_near(trials: list[Trial]) -> None:
    (_, missed, broken, *_) = suites(render(trials, summarise(trials)))["codex"].iter("testcase")
    (failure,) = missed
    assert failure.get("message") == "test failed: AssertionError at src/x.py:3"
    assert (failure.text or "").splitlines() == [
        "c1 (src/x.py:3, functional, behavioral): missed (test failed: AssertionError at src/x.py:3)",
        "    near: src/x.py:4",
        "        look here",
    ]
    assert "the engine is gone" in (broken[0].text or "")


@pytest.mark.parametrize(("misses", "tags"), [("failure", ("failure",)), ("skipped", ("skipped",)), ("none", ())])
def test_a_miss_is_what_was_asked_for_and_never_a_failure_of_the_control(
    trials: list[Trial], misses: str, tags: tuple[str, ...]
) -> None:
    found = suites(render(trials, summarise(trials), misses=misses))
    assert endings(found["codex"])[1] == ("a@1", "c1", *tags)
    assert endings(found["none"]) == [("a@1", "c0"), ("a@1", "c1")]
    assert "missed" in (found["none"].findtext("testcase/system-out") or "")


def test_the_gate_has_a_suite_with_its_reasons(trials: list[Trial]) -> None:
    rulings = tuple(
        GateRuling(reviewer=name, ruling=ruling, lines=(f"{name}: because.",))
        for name, ruling in (("codex", "passed"), ("x", "failed"), ("y", "inconclusive"), (None, "broken"))
    )
    was, now = (
        {(f"i{at}", "c0"): Measured(repo=f"r{at}", caught=caught, missed=1 - caught) for at in range(9)}
        for caught in (1, 0)
    )
    labels = compare_labels(was, now, {key: {"category": "security"} for key in was}, {})
    gate = Gate(
        exit_code=9,
        ruling="broken",
        sentence="Gate broken.",
        rulings=rulings,
        labels={"x": labels, "x against the anchor y": labels},
    )
    suite = suites(render(trials, replace(summarise(trials), gate=gate)))["gate"]
    assert [(name, *rest) for _, name, *rest in endings(suite)] == [
        ("codex",),
        ("x", "failure"),
        ("y", "error"),
        ("run", "error"),
    ]
    passed, failed = [(case[0].text or "").splitlines() for case in suite.iter("testcase")][:2]
    assert (passed, failed[0]) == (["codex: because."], "x: because.")
    tables = [line.split() for line in failed if line.startswith("category security")]
    assert [cells[2:6] for cells in tables] == [["9", "100.0", "0.0", "-100.0"]] * 2
    assert failed[-1].endswith(" 9       0     0.004  9 pull requests, for these 9 repositories only")


def test_the_file_keeps_to_the_schema(trials: list[Trial]) -> None:
    gate = Gate(exit_code=0, ruling="passed", sentence="", rulings=(GateRuling(ruling="passed", lines=("ok",)),))
    content = render(trials, replace(summarise(trials), gate=gate))
    assert content.startswith(b"<?xml version='1.0' encoding='utf-8'?>")
    root = ET.fromstring(content)
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, children = SCHEMA[element.tag]
        assert set(element.attrib) <= attributes
        assert {child.tag for child in element} <= children
        assert re.fullmatch(r"\d+(\.\d{1,3})?", element.get("time", "0"))


def test_hostile_text_is_legal_xml_on_one_line(tmp_path: Path, make_trial: MakeTrial, make_result: MakeResult) -> None:
    result = make_result("c0", Reason.BROKEN, detail="\x00\x1b[31m\ud800\ufffe]]>\n<b>&")
    trials = [make_trial("co\x00dex", "a", result)]
    path = tmp_path / "deep" / "crab.xml"
    write_junit(path, trials, summarise(trials))
    (suite,) = junitparser.JUnitXml.fromfile(str(path))
    (case,) = suite
    assert suite.name == r"co\x00dex"
    assert case.result[0].message == r"broken: \x00\x1b[31m\ud800\ufffe]]> <b>&"


def test_a_trial_without_results_is_a_case_of_its_own(make_trial: MakeTrial) -> None:
    trials = [
        make_trial("codex", "a", skipped="github cannot be reached"),
        make_trial("codex", "b", error="prepare broke: no space left"),
        make_trial("codex", "c", Reason.NOT_RUN, skipped="github cannot be reached"),
        make_trial("codex", "d"),
    ]
    cases = ET.fromstring(render(trials, summarise(trials))).iter("testcase")
    found = [(case.get("classname"), *((one.tag, one.get("message")) for one in case)) for case in cases]
    assert found == [
        ("a", ("skipped", "github cannot be reached")),
        ("b", ("error", "prepare broke: no space left")),
        ("c", ("skipped", "not run: github cannot be reached")),
        ("d",),
    ]


def test_every_oracle_is_one_case_even_if_recorded_twice(make_trial: MakeTrial) -> None:
    trials = [make_trial("codex", "a", Reason.BROKEN), make_trial("codex", "a", Reason.GREEN)]
    root = ET.fromstring(render(trials, summarise(trials)))
    assert [[one.tag for one in case] for case in root.iter("testcase")] == [["system-out"]]
