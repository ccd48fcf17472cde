from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import junitparser

from pytest_crab.report.junit import render
from pytest_crab.report.junit import write_junit
from pytest_crab.report.summary import summarise
from pytest_crab.types import CommentResult
from pytest_crab.types import Reason
from pytest_crab.types import TestOutcome
from pytest_crab.types import Trial

MakeTrial = Callable[..., Trial]
MakeResult = Callable[..., CommentResult]

EXPECTED = """\
<testsuites name="pytest-crab" tests="5" failures="1" errors="1" skipped="1" time="6.0">
<testsuite name="codex" tests="4" errors="1" failures="1" skipped="1" time="6.0">
<properties>
<property name="crab.agent" value="claude-code"/>
<property name="crab.runtime" value="local"/>
<property name="crab.rate" value="0.5"/>
<property name="crab.macro" value="0.5"/>
<property name="crab.low" value="0.25"/>
<property name="crab.high" value="0.75"/>
<property name="crab.oracles" value="4"/>
<property name="crab.known" value="2"/>
<property name="crab.rate.behavioral" value="0.5"/>
<property name="crab.rate.functional" value="0.5"/>
<property name="crab.outcome.caught" value="1"/>
<property name="crab.outcome.missed" value="1"/>
<property name="crab.outcome.reviewer-error" value="0"/>
<property name="crab.outcome.agent-error" value="0"/>
<property name="crab.outcome.broken" value="1"/>
<property name="crab.outcome.not-run" value="1"/>
<property name="crab.comments" value="2"/>
<property name="crab.authored" value="1"/>
<property name="crab.github" value="0"/>
</properties>
<testcase name="c0" classname="a@1" time="1.5"/>
<testcase name="c1" classname="a@1" time="1.5">
<failure message="test failed: AssertionError at src/x.py:3" type="test failed"/>
</testcase>
<testcase name="c2" classname="a@1" time="1.5">
<error message="broken: the engine is gone" type="broken"/>
</testcase>
<testcase name="c3" classname="a@1" time="1.5">
<skipped message="not run" type="not run"/>
</testcase>
</testsuite>
<testsuite name="human" tests="1" errors="0" failures="0" skipped="0" time="0.0">
<properties>
<property name="crab.agent" value="reference"/>
<property name="crab.runtime" value="local"/>
<property name="crab.rate" value="1"/>
<property name="crab.macro" value="1"/>
<property name="crab.low" value="1"/>
<property name="crab.high" value="1"/>
<property name="crab.oracles" value="1"/>
<property name="crab.known" value="1"/>
<property name="crab.rate.behavioral" value="1"/>
<property name="crab.rate.functional" value="1"/>
<property name="crab.outcome.caught" value="1"/>
<property name="crab.outcome.missed" value="0"/>
<property name="crab.outcome.reviewer-error" value="0"/>
<property name="crab.outcome.agent-error" value="0"/>
<property name="crab.outcome.broken" value="0"/>
<property name="crab.outcome.not-run" value="0"/>
<property name="crab.comments" value="0"/>
<property name="crab.authored" value="1"/>
<property name="crab.github" value="0"/>
<property name="crab.notes" value="privileged, shown the answer: human; simulated agent: location overlap only"/>
</properties>
<testcase name="c0[2]" classname="a@1" time="0.0"/>
</testsuite>
</testsuites>"""


def test_the_whole_file(make_trial: MakeTrial, make_result: MakeResult) -> None:
    stop = TestOutcome(id="test_secret", outcome="failed", exception="AssertionError", where="src/x.py:3")
    trials = [
        make_trial(
            "codex",
            "a@1",
            make_result("c0", Reason.GREEN),
            make_result("c1", Reason.FAILED, tests=(stop,)),
            make_result("c2", Reason.BROKEN, detail="the engine is gone"),
            make_result("c3", Reason.NOT_RUN),
            seconds=6.0,
            findings=2,
        ),
        make_trial("human", "a@1", Reason.GREEN, repeat=2, privileged=("human",), simulated=True, agent="reference"),
    ]
    declaration, body = render(trials, summarise(trials)).decode().split("\n", 1)
    assert declaration.lower() == "<?xml version='1.0' encoding='utf-8'?>"
    assert body.replace(" />", "/>").replace("><", ">\n<") == EXPECTED


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
    assert [len(case) for case in root.iter("testcase")] == [0]
