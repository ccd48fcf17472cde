"""The exit status of a run with a gate, end to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from junitparser import JUnitXml

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def gated(lab: Any) -> Callable[..., pytest.RunResult]:
    """Runs with an agent that a gate accepts."""

    def run(reviewer: str, floor: str, *more: str) -> pytest.RunResult:
        return lab.run(f"--reviewer={reviewer}", "--agent=mine", f"--crab-fail-under={floor}", "instances", *more)

    return run


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("--crab-runtime=local", "--agent=simulated"),
            "*cannot gate*: the agent simulated only compares locations*",
        ),
        (
            ("--crab-runtime=local",),
            "*cannot gate this run: the agent simulated*only the default*compares*locations*",
        ),
        (("--agent=mine",), "*cannot gate this run: the runtime is not named*"),
    ],
)
def test_gates_that_prove_nothing_are_refused(bare: Any, arguments: tuple[str, ...], sentence: str) -> None:
    result = bare.pytester.runpytest("--reviewer=human", "--crab-fail-under=0.5", "instances", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([sentence])
    assert not bare.store.exists()


@pytest.mark.parametrize("term", ["margin=10", "fail-on=worse", "gate-looks=3", "anchor=pinned"])
def test_a_term_of_a_gate_without_a_gate_is_refused(bare: Any, term: str) -> None:
    result = bare.pytester.runpytest("--reviewer=human", f"--crab-{term}", "instances")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--crab-{term.partition('=')[0]} is a term of a gate*add --crab-baseline*"])
    assert not bare.store.exists()


def test_a_project_may_keep_terms_of_its_gates_for_runs_without_one(bare: Any) -> None:
    bare.pytester.makeini("[pytest]\naddopts = --crab-margin=10\n")
    result = bare.pytester.runpytest("--reviewer=human", "--collect-only", "instances")
    assert result.ret == pytest.ExitCode.OK


def test_met_though_items_failed(lab: Any, gated: Any) -> None:
    result = gated("half", "0.5")
    result.assert_outcomes(failed=2)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*gate passed: 2 of 4 oracles caught, a rate of 50%*", "Gate passed, exit status 0.*"])


def test_the_junit_file_has_the_gate_and_leaves_misses_to_it(lab: Any, gated: Any) -> None:
    gated("half", "0.5", "--crab-junit=oracles.xml", "--crab-junit-misses=none", "--crab-control")
    suites = {suite.name: suite for suite in JUnitXml.fromfile(str(lab.path / "oracles.xml"))}
    assert next(iter(suites)) == "gate"
    assert [(case.name, case.classname) for case in suites["gate"]] == [("half", "gate")]
    assert {suite.failures for suite in suites.values()} == {0}
    gated("half", "0.51", "--crab-junit=oracles.xml")
    gate, half = JUnitXml.fromfile(str(lab.path / "oracles.xml"))
    assert (gate.failures, half.failures) == (1, 2)
    (case,) = gate
    assert "below the floor of 51%" in case.result[0].text


def test_not_met(gated: Any) -> None:
    result = gated("half", "0.51")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["Gate failed, exit status 1.*"])


def test_not_shown_either_way(gated: Any) -> None:
    result = gated("moody", "0.8")
    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == 8
    result.stdout.fnmatch_lines(
        ["*gate inconclusive: 2 of 4 oracles caught and 2 unknown*", "Gate inconclusive, exit status 8. Report: *"]
    )


def test_unknown_can_be_booked_as_missed(gated: Any) -> None:
    assert gated("moody", "0.8", "--crab-errors-as-misses").ret == 1


def test_a_world_that_broke(lab: Any, gated: Any) -> None:
    lab.make_sick()
    result = gated("both", "0.5")
    assert result.ret == 9
    result.stdout.fnmatch_lines(["*gate broken: 1 of 6 oracles are broken*", "Gate broken, exit status 9. Report: *"])
    assert gated("both", "0.5", "--crab-max-broken=0.2").ret == 0


def test_a_run_that_was_cut_short(gated: Any) -> None:
    assert gated("half", "0.5", "-x").ret == 8


def test_an_ordinary_failure_stays_one(lab: Any, gated: Any) -> None:
    lab.write({"test_ours.py": "def test_bad():\n    assert 0\n"})
    result = gated("both", "0.5", "test_ours.py")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["Gate not applied, exit status 1: something besides the trials failed.*"])


def test_a_file_that_cannot_be_read_is_forgiven_by_no_gate(lab: Any, gated: Any) -> None:
    (lab.path / "instances" / "till-2" / "instance.yaml").write_text("schema: 1\n")
    assert gated("both", "0.1").ret == pytest.ExitCode.INTERRUPTED
    assert gated("both", "0.1", "--continue-on-collection-errors").ret == 1


def test_nothing_selected_stays_so(gated: Any) -> None:
    assert gated("both", "0.5", "-k", "nowhere").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_rulings_last_word_is_there_when_most_is_hushed(gated: Any) -> None:
    result = gated("half", "0.5", "-qq")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["Gate passed*"])
