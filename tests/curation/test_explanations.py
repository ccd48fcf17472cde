"""Plain words for every way in which an oracle can be wrong, and the shares that an audit makes of them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pytest_crab.curation.assessment import Role, StateAssessment, judge_states
from pytest_crab.curation.audit import OracleAudit, _share, code_lines, table
from pytest_crab.curation.explanations import explain
from pytest_crab.ecosystems.python.own_runner import own_runner
from pytest_crab.statistics.shares import Share
from pytest_crab.types import Ending, Run, TestOutcome


def ran(outcome: str, ending: Ending = Ending.COMPLETED) -> Run:
    tests = (TestOutcome(id="test_c0.py::test", outcome=outcome),) if outcome else ()
    return Run(id="r", ending=ending, exit_code=1, tests=tests, tripwire=True)


def states(**outcomes: str) -> tuple[StateAssessment, ...]:
    """What was seen of a good oracle but for the outcomes that are named; two of one state are two runs."""
    seen = {"HEAD": "failed", "REFERENCE": "passed", "OWN": "passed", "ACCEPT": "passed", "REJECT": "failed"} | outcomes
    made = []
    for name, text in seen.items():
        role = Role[name]
        runs = tuple(ran(outcome) for outcome in text.split())
        made.append(
            StateAssessment(
                role=role, name="head" if role is Role.HEAD else f"{name.lower()}.diff", fault=None, runs=runs
            )
        )
    return judge_states("c0", made)


def test_an_oracle_that_does_not_build_is_told_so() -> None:
    test = TestOutcome(id="session", outcome="error", exception="BuildFailed")
    run = Run(id="r", ending=Ending.COMPLETED, exit_code=1, tests=(test,), tripwire=True)
    seen = [StateAssessment(role=role, name=role.name, fault=None, runs=(run,)) for role in (Role.HEAD, Role.REFERENCE)]
    (sentence,) = explain(judge_states("c0", seen))
    assert sentence.startswith("the oracle does not build, not even with the reference (")


def test_a_right_oracle_needs_no_advice() -> None:
    assert explain(states()) == ()


@pytest.mark.parametrize(
    ("outcomes", "telling"),
    [
        ({"HEAD": "passed"}, "the oracle is green at head (no expected test failed"),
        ({"HEAD": "error"}, "the oracle is not properly red on head (no expected"),
        ({"REFERENCE": "failed"}, "the reference does not resolve it (test failed: test_c0.py::test failed)"),
        ({"REFERENCE": "failed", "OWN": "failed"}, "the reference does not resolve it (test failed: test_c0.py::test"),
        ({"HEAD": "passed", "REFERENCE": "failed", "REJECT": "failed"}, "the test is green at head and red on the ref"),
        ({"REFERENCE": "error"}, "no test of the oracle runs on the reference (test failed"),
        ({"OWN": "failed"}, "its own reference own.diff does not resolve it (test failed"),
        ({"ACCEPT": "failed"}, "another right fix is refused: accept.diff, test failed: test_c0.py::test failed"),
        ({"REJECT": "passed"}, "a near miss passes: reject.diff, no expected test failed (all passed)"),
        ({"HEAD": "failed passed"}, "the oracle is flaky: 2 runs on head do not agree; take out what changes"),
        (dict.fromkeys(("HEAD", "REFERENCE", "OWN", "ACCEPT", "REJECT"), "error"), "no test of the oracle runs"),
    ],
)  # fmt: skip
def test_each_fault_has_its_words(outcomes: dict[str, str], telling: str) -> None:
    (sentence,) = explain(states(**outcomes))
    assert sentence.startswith(telling)


def test_a_diff_that_does_not_apply_and_a_run_without_an_end() -> None:
    lost = StateAssessment(role=Role.ACCEPT, name="a.diff", fault="it does not apply to head: no such file")
    hangs = StateAssessment(role=Role.REJECT, name="b.diff", fault=None, runs=(ran("failed", Ending.TIMEOUT),))
    good = [state for state in states() if state.role in (Role.HEAD, Role.REFERENCE)]
    first, second = explain(judge_states("c0", [*good, lost, hangs]))
    assert first.startswith("a.diff cannot be used: it does not apply to head: no such file; make it again")
    assert second.startswith("the oracle does not come to an end on b.diff (the run ended as timeout)")


def test_what_was_never_started_is_not_the_oracles_doing() -> None:
    idle = StateAssessment(role=Role.ACCEPT, name="x", fault=None, runs=(ran("", Ending.UNSTARTED),))
    assert not judge_states("c0", [idle])[0].is_known
    assert explain(judge_states("c0", [*states(), idle])) == ()
    assert _share([idle], Role.ACCEPT) is None
    assert _share(states(), Role.ACCEPT) == Share(part=1, known=1)


@given(st.integers(0, 50), st.integers(0, 50))
def test_a_share_is_between_nothing_and_all(part: int, more: int) -> None:
    share = Share(part=part, known=part + more)
    assert (share.rate is None) == (part + more == 0)
    assert share.rate is None or 0 <= share.rate <= 1


def row(
    strict: tuple[int, int], sharp: tuple[int, int], company: tuple[int, int] = (0, 0), *, proved: bool = True
) -> OracleAudit:
    strictness, beside, sharpness = (Share(part=part, known=whole) for part, whole in (strict, company, sharp))
    return OracleAudit(
        instance="i", comment="c0", strictness=strictness, company=beside, sharpness=sharpness, flake_bound=0.95,
        lines=9, kind="behavioral", isolation="none", proved=proved,
    )  # fmt: skip


def test_faults_and_lacks() -> None:
    assert row((2, 2), (2, 2)).faults == ()
    assert row((1, 2), (0, 3)).faults == (
        "over-fitted: it refuses 1 of 2 other right fixes",
        "loose: it passes 3 of 3 near misses",
    )
    assert row((2, 2), (2, 2), (3, 4)).faults == ("it refuses right fixes in company: 1 of 4",)
    assert row((2, 2), (2, 2), proved=False).faults == ("not proved",)
    assert row((1, 1), (2, 2)).lacks(2) == "has 1 accept; at least 2 of each are needed to trust it"
    assert row((2, 2), (2, 2)).lacks(2) is None
    assert list(table([row((1, 2), (0, 0))]))[1].split() == [
        *("i", "c0", "0.50", "(1/2)", "-", "-"),
        *("0.95", "9", "behavioral", "none"),
    ]


def test_lines_that_hold_something() -> None:
    assert code_lines("# a\n\nimport x\n    # b\nassert x\n") == 2


@pytest.mark.parametrize(
    ("roots", "known"),
    [((".", "src"), True), (("src",), True), ((".",), False)],
)
@pytest.mark.parametrize(
    ("project", "file"),
    [("pytest", "_pytest/__init__.py"), ("pluggy", "pluggy/__init__.py"), ("pygments", "pygments/__init__.py")],
)
def test_an_oracle_of_what_runs_it_is_told_whose_release_it_imports(
    roots: tuple[str, ...], project: str, file: str, *, known: bool
) -> None:
    tree = {f"src/{file}": b"", "pytest.py": b"", "config.py": b""}
    said = own_runner(tree.get, roots)
    assert (f"the project is {project} itself" in said) is ("isolation: process" in said) is known
