"""What comes of trials: outcomes, exit status, tables, records, JUnit files."""

from __future__ import annotations

from typing import Any

import pytest
from junitparser import JUnitXml

pytestmark = pytest.mark.bubblewrap

SECRET = "seven_little_oracles"


def test_the_upper_bound_catches_all_and_passes(lab: Any) -> None:
    result = lab.run("--reviewer=human", "-v", "instances")
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "shop-1::human  2/2 caught; *",
            "till-2::human  2/2 caught; *",
            "human* *4/4 *100.0 *1.9-100.0 *100.0 *100.0 *100.0 *4 *2.0",
        ]
    )
    assert [(trial["instance"], trial["reviewer"], trial["repeat"]) for trial in lab.records()] == [
        ("shop-1", "human", 1),
        ("till-2", "human", 1),
    ]


def test_the_control_misses_all_and_fails(lab: Any) -> None:
    result = lab.run("--reviewer=none", "instances/shop-1")
    result.assert_outcomes(failed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["c0 (shop.py:8-9, functional, behavioral): missed *", "c1 (shop.py:12-13, security, structural): missed *"]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    (trial,) = lab.records()
    assert [found.get("label") for found in trial["scores"]] == ["missed", "missed"]


def test_many_misses_leave_the_results_to_be_read(lab: Any) -> None:
    arguments = ("--reviewer=none", "--crab-repeat=2", "instances")
    result = lab.run(*arguments)
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["Look next: c1, missed by none: pytest-crab show shop-1::none"])
    result.stdout.no_fnmatch_line("*FAILURES*")
    for asked in ("-v", "--tb=short"):
        text = lab.run(*arguments, asked).stdout.str()
        assert text.count("review: 0 findings") == 4
    assert lab.run(*arguments, "-rf").stdout.str().count("\nMISSED ") == 4


def test_errors_with_one_cause_are_told_once(lab: Any) -> None:
    lab.make_sick()
    result = lab.run("--reviewer=human", "--reviewer=none", "instances/worn-3")
    result.assert_outcomes(errors=2)
    assert result.stdout.str().count("worn-3: reviewer") == 1


#: Counts how often trials are submitted, and the records that pytest's reports still hold in the end.
COUNTER = """\
from pytest_crab.plugin.runner import Runner
submit, asked = Runner._submit, []
Runner._submit = lambda self, *trial: asked.append(trial) or submit(self, *trial)

def pytest_terminal_summary(terminalreporter):
    reports = [report for each in terminalreporter.stats.values() for report in each]
    kept = sum(hasattr(report, "crab_trial") for report in reports)
    terminalreporter.write_line(f"{len(reports)} reports, {kept} records in them, {len(asked)} submissions")
"""


def test_a_trial_is_submitted_ahead_once_and_kept_once(lab: Any) -> None:
    lab.write({"conftest.py": COUNTER})
    result = lab.spawn("--reviewer=human", "--crab-repeat=2", "instances")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["12 reports, 0 records in them, 4 submissions"])


ENTRIES = """
import pytest
@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport(call):
    report = yield
    if call.excinfo:
        print("entries:", len(report.longrepr.reprtraceback.reprentries))
    return report
"""


def test_pytest_makes_no_traceback_that_nobody_sees(lab: Any) -> None:
    lab.make_sick()
    lab.write({"conftest.py": ENTRIES})
    result = lab.run("--reviewer=human", "-s", "instances")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*entries: 1"])


def test_an_unproved_oracle_is_an_error_and_the_others_count(lab: Any) -> None:
    lab.make_sick()
    result = lab.run("--reviewer=human", "--junitxml=junit.xml", "instances")
    result.assert_outcomes(passed=2, errors=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of human on worn-3*",
            "*oracle of c1*",
            "human*: 1 oracle has no verdict; the rate lies between 83.3% and 100.0%",
            "human*: 1 verdict unknown, broken: *",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    sick = lab.records()[-1]
    assert [(found.get("label"), found["reason"]) for found in sick["scores"]] == [
        ("caught", "green"),
        (None, "broken"),
    ]
    assert lab.summary()["outcomes"]["broken"] == 1
    assert lab.summary()["overall"]["known"] == 5
    (suite,) = JUnitXml.fromfile(str(lab.path / "junit.xml"))
    assert (suite.tests, suite.errors, suite.failures) == (3, 1, 0)


def test_an_item_with_a_missed_and_an_unknown_oracle_is_an_error(lab: Any) -> None:
    lab.make_sick()
    result = lab.run("--reviewer=none", "instances/worn-3", "-v")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*::none UNKNOWN 0/2 caught, 1 unknown *", "*pytest-crab set certify worn-3"])


def test_a_reviewer_that_fails_is_unknown_and_no_miss(lab: Any) -> None:
    result = lab.run("--reviewer=moody", "--agent=mine", "instances")
    result.assert_outcomes(passed=1, errors=1)
    till = lab.records()[-1]
    assert {found["reason"] for found in till["scores"]} == {"reviewer error"}
    assert "not this one" in till["error"]
    assert lab.summary()["overall"]["micro"] == 1.0


def test_pytests_own_junit_file_gets_a_few_properties_and_no_oracle(lab: Any) -> None:
    lab.run("--reviewer=none", "--junitxml=junit.xml", "instances/shop-1", "-rA")
    text = (lab.path / "junit.xml").read_text()
    assert SECRET not in text
    (suite,) = JUnitXml.fromfile(str(lab.path / "junit.xml"))
    (case,) = suite
    assert (suite.name, case.name, len(case.result)) == ("pytest", "none", 1)
    assert {entry.get("name"): entry.get("value") for entry in case._elem.iter("property")} == {
        "crab.reviewer": "none",
        "crab.agent": "simulated",
        "crab.caught": "0",
        "crab.oracles": "2",
        "crab.unknown": "0",
    }


def test_the_oracle_appears_in_no_output_and_no_file_of_the_report(lab: Any) -> None:
    lab.make_sick()
    arguments = ("--junitxml=junit.xml", "--crab-junit=oracles.xml", "instances", "-vv", "-rA", "--tb=long")
    result = lab.run("--reviewer=none", *arguments)
    result.assert_outcomes(failed=2, errors=1)
    assert len(lab.records()) == 3
    assert SECRET not in result.stdout.str() + result.stderr.str()
    for file in (lab.path / "junit.xml", lab.path / "oracles.xml", lab.report / "summary.json"):
        assert SECRET not in file.read_text()


def test_the_other_junit_file_has_a_case_per_oracle(lab: Any) -> None:
    lab.make_sick()
    lab.run("--reviewer=human", "--reviewer=none", "--crab-junit=oracles.xml", "instances")
    suites = {suite.name: suite for suite in JUnitXml.fromfile(str(lab.path / "oracles.xml"))}
    assert list(suites) == ["human", "none"]
    assert (suites["human"].tests, suites["human"].failures, suites["human"].errors) == (6, 0, 1)
    assert (suites["none"].tests, suites["none"].failures, suites["none"].errors) == (6, 0, 1)
    assert {(case.classname, case.name) for case in suites["none"]} == {
        (instance, comment) for instance in ("shop-1", "till-2", "worn-3") for comment in ("c0", "c1")
    }


def test_records_summary_and_terminal_agree(lab: Any) -> None:
    result = lab.run("--reviewer=half", "--agent=mine", "instances", "-v")
    result.assert_outcomes(failed=2)
    verdicts = [found.get("label") for trial in lab.records() for found in trial["scores"]]
    assert (verdicts.count("caught"), len(verdicts)) == (2, 4)
    score = lab.summary()["overall"]
    assert (score["caught"], score["oracles"], score["micro"], score["macro"]) == (2.0, 4, 0.5, 0.5)
    result.stdout.fnmatch_lines(
        ["functional * 2/2 100.0%*", "security * 0/2 0.0%*", "half *2/4 *50.0 *50.0 *100.0 *0.0 *2 *1.0"]
    )


def test_durations_are_the_trials(lab: Any) -> None:
    result = lab.run("--reviewer=human", "--junitxml=junit.xml", "instances", "--durations=0", "-vv")
    seconds = {trial["instance"]: trial["seconds"] for trial in lab.records()}
    assert all(value > 0 for value in seconds.values())
    (suite,) = JUnitXml.fromfile(str(lab.path / "junit.xml"))
    assert {case.classname.split(".")[1]: case.time for case in suite} == pytest.approx(seconds, abs=0.002)
    result.stdout.fnmatch_lines([f"{seconds['shop-1']:.2f}s call *shop-1/instance.yaml::human"])


def test_a_repeat_is_a_trial_of_its_own(lab: Any) -> None:
    result = lab.run("--reviewer=human", "--crab-repeat=2", "-v", "instances/shop-1")
    result.assert_outcomes(passed=2)
    assert [trial["repeat"] for trial in lab.records()] == [1, 2]
    result.stdout.fnmatch_lines(
        ["shop-1::human  2/2*", "shop-1::human[[]2]  2/2*", "*2 repeats; an oracle counts as the mean of its repeats"]
    )


RUNS_AGAIN = """\
import pytest

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        report.outcome = "rerun"
    return report

def pytest_report_teststatus(report):
    return ("rerun", "R", "RERUN") if report.outcome == "rerun" else None
"""


def test_an_outcome_that_another_plugin_gave_is_its_own_to_name(lab: Any) -> None:
    lab.write({"conftest.py": RUNS_AGAIN})
    result = lab.run("--reviewer=none", "instances")
    result.stdout.fnmatch_lines(["*2 rerun in *"])
    result.stdout.no_fnmatch_line("*passed*")


def test_an_unwritable_report_is_said_and_fails_no_trial(lab: Any) -> None:
    (lab.path / "taken").write_text("a file")
    result = lab.run("--reviewer=human", "--crab-report=taken/report", "instances/shop-1")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*taken/report/trials.jsonl cannot be written: *", "report: none *"])
