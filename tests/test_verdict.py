"""What runs prove and mean: the table of the design, and properties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_crab.types import Ending, OraclePart, Proof, Reason, Run, TestOutcome, Verdict
from pytest_crab.verdict import (
    ProofEvidence,
    audit,
    flake_bound,
    judge,
    leaks,
    outcomes_for_record,
    part_results,
    pass_to_pass_fault,
    prove,
)

A, B = "test_c0.py::test_a", "test_c0.py::test_b"
PROOF = Proof(comment="c0", expected=(A, B), altered=("os.read",), runs=2, flake_bound=0.8)
OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")


def outcome(name: str, word: str = "passed", **more: Any) -> TestOutcome:
    return TestOutcome(id=name, outcome=word, **more)


def run(*tests: TestOutcome, **changes: Any) -> Run:
    fields: dict[str, Any] = {"ending": Ending.COMPLETED, "exit_code": 1, "tripwire": True, **changes}
    return Run(id="r", tests=tests, **fields)


GREEN = run(outcome(A), outcome(B))
RED = run(outcome(A), outcome(B, "failed", exception="AssertionError"))


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (GREEN, Reason.GREEN),
        (run(outcome(B), outcome(A)), Reason.GREEN),
        (replace(GREEN, altered=("os.read",)), Reason.GREEN),
        (RED, Reason.FAILED),
        (run(outcome(A), outcome(B, "error")), Reason.FAILED),
        (run(outcome(A), outcome(B, "failed"), altered=("x.y",), tripwire=False), Reason.FAILED),
        (run(outcome(A), outcome(B, "skipped")), Reason.SKIPPED),
        (run(outcome(A), outcome(B, "xfailed")), Reason.SKIPPED),
        (run(outcome(A), outcome(B, "xpassed")), Reason.SKIPPED),
        (run(outcome("test_c0.py", "skipped")), Reason.SKIPPED),
        (run(outcome("test_c0.py", "error")), Reason.NOT_COLLECTED),
        (run(), Reason.NOT_COLLECTED),
        (run(outcome(A)), Reason.NOT_COLLECTED),
        (run(outcome(A), altered=("os.read", "x.y")), Reason.TAMPERED),
        (run(altered=("os.read",)), Reason.NOT_COLLECTED),
        (run(outcome(A), outcome(B), outcome("test_c0.py::test_c")), Reason.NOT_COLLECTED),
        (run(outcome(A), outcome(B), outcome(B)), Reason.NOT_COLLECTED),
        (run(outcome(A), outcome(B), outcome(B), altered=("x.y",)), Reason.TAMPERED),
        (run(outcome(A), outcome(B), outcome("test_c0.py::test_c"), altered=("x.y",)), Reason.TAMPERED),
        (run(outcome(A), tripwire=None, exit_code=2), Reason.EXITED),
        (replace(GREEN, tripwire=None, exit_code=0), Reason.EXITED),
        (replace(GREEN, tripwire=False), Reason.TAMPERED),
        (replace(GREEN, altered=("os.read", "pytest.raises")), Reason.TAMPERED),
        (replace(GREEN, exit_code=0), Reason.TAMPERED),
        (replace(GREEN, exit_code=None), Reason.TAMPERED),
        (run(outcome(A), outcome(B, "superb")), Reason.FAILED),
        (run(outcome(A), outcome(B, "cheered")), Reason.FAILED),
        (run(outcome(A), outcome(B), outcome("test_c0.py::test_c", "failed")), Reason.NOT_COLLECTED),
        (replace(GREEN, ending=Ending.TIMEOUT), Reason.TIMEOUT),
        (replace(GREEN, ending=Ending.MEMORY), Reason.MEMORY),
        (replace(GREEN, ending=Ending.PROCESSES), Reason.PROCESSES),
        (replace(GREEN, ending=Ending.OUTPUT), Reason.OUTPUT),
        (replace(GREEN, ending=Ending.CRASHED), Reason.CRASHED),
        (replace(GREEN, ending=Ending.EXITED), Reason.EXITED),
        (replace(GREEN, ending=Ending.UNSTARTED), Reason.BROKEN),
    ],
)
def test_each_run_has_one_reason(seen: Run, reason: Reason) -> None:
    assert judge(PROOF, seen).reason is reason


def test_one_failure_alone_has_no_others_beside_it() -> None:
    assert judge(PROOF, RED).detail == f"{B} failed with AssertionError"
    missing = judge(replace(PROOF, expected=(B, A)), run())
    assert missing.detail.startswith(A)  # in one order, whatever the proof's is
    replaced = judge(PROOF, replace(GREEN, altered=("z.z", "a.a", "m.m")))
    assert replaced.detail == "a.a was replaced"


@pytest.mark.parametrize(
    ("failed", "reason", "named"),
    [((A,), Reason.GUARD, A), ((B,), Reason.FAILED, B), ((A, B), Reason.FAILED, B)],
)
def test_a_broken_guard_is_another_reason_than_a_failed_test_of_the_concern(
    failed: tuple[str, ...], reason: Reason, named: str
) -> None:
    proof = prove(ProofEvidence(instance="i-1", comment="c0", head=[RED, RED], reference=[GREEN, GREEN]))
    assert isinstance(proof, Proof)
    assert proof.guards == (A,)
    seen = judge(proof, run(*(outcome(name, "failed" if name in failed else "passed") for name in (A, B))))
    assert seen.reason is reason
    assert seen.verdict is Verdict.MISSED
    assert (seen.detail or "").startswith(named)


def test_a_test_that_failed_in_one_run_at_head_is_no_guard() -> None:
    head = [RED, run(outcome(A, "failed"), outcome(B, "failed"))]
    reference = [GREEN, GREEN]
    assert not isinstance(prove(ProofEvidence(instance="i", comment="c", head=head, reference=reference)), Proof)
    once = prove(ProofEvidence(instance="i", comment="c", head=head[1:], reference=reference))
    assert isinstance(once, Proof)
    assert once.guards == ()


def test_nothing_expected_is_nothing_caught() -> None:
    assert judge(replace(PROOF, expected=()), run()).reason is Reason.NOT_COLLECTED


def test_a_failure_says_which_test_and_where() -> None:
    seen = run(outcome(A, "failed", exception="KeyError", where="src/x.py:7"), outcome(B, "failed"))
    assert judge(PROOF, seen).detail == f"{A} failed with KeyError in src/x.py:7 and 1 more"


@pytest.mark.parametrize(
    ("seen", "named"),
    [
        (replace(GREEN, altered=("os.read", "pytest raises")), "pytest_raises"),
        (replace(GREEN, tripwire=False), "must fail"),
        (replace(GREEN, exit_code=137), "137"),
        (run(outcome(A), outcome(B, "superb")), "not known"),
        (replace(GREEN, ending=Ending.TIMEOUT, detail="after 60 s"), "after 60 s"),
    ],
)
def test_a_run_that_cannot_be_believed_says_why(seen: Run, named: str) -> None:
    assert named in (judge(PROOF, seen).detail or "")


@pytest.mark.parametrize(
    ("seen", "first"),
    [
        (run(), A),
        (run(outcome(A)), B),
        (run(outcome(A), outcome(B), outcome("z"), outcome("y")), "y"),
        (run(outcome(B), outcome(B), outcome(A)), B),
        (run(outcome("y", "skipped"), outcome("x", "xfailed")), "y"),
        (run(outcome("y", "error"), outcome("x", "failed")), "y"),
    ],
)
def test_the_first_test_that_is_missing_or_too_many_is_named(seen: Run, first: str) -> None:
    assert judge(PROOF, seen).detail.startswith(first)


def test_the_record_holds_every_expected_test_and_twenty_others_by_safe_names() -> None:
    strangers = [outcome(f"other::{number}") for number in range(30)]
    failed = outcome(A, "failed", exception="Error: " + "x" * 90, where="a b.py:7" + "y" * 300)
    told = outcomes_for_record(PROOF, run(*strangers, failed, outcome("said to you", "passed")))
    assert [test.id for test in told] == [A, *(f"other::{number}" for number in range(20))]
    assert (told[0].exception, told[0].where) == ("Error:_" + "x" * 53, "a_b.py:7" + "y" * 192)
    assert [test.id for test in outcomes_for_record(PROOF, RED)] == [A, B]
    (stranger,) = outcomes_for_record(PROOF, run(outcome("say yes!")))
    assert (stranger.id, stranger.exception, stranger.where) == ("say_yes_", None, None)


RUNS = st.builds(
    Run,
    id=st.just("r"),
    ending=st.sampled_from(Ending),
    exit_code=st.sampled_from([None, 0, 1, 2]),
    tests=st.lists(
        st.builds(TestOutcome, id=st.sampled_from([A, B, "test_c0.py"]), outcome=st.sampled_from(OUTCOMES)), max_size=3
    ).map(tuple),
    tripwire=st.sampled_from([None, True, False]),
    altered=st.lists(st.sampled_from(["os.read", "builtins.len"]), max_size=2).map(tuple),
)


@given(RUNS)
def test_only_a_run_that_is_right_in_everything_is_caught(seen: Run) -> None:
    right = (
        seen.ending is Ending.COMPLETED
        and sorted((test.id, test.outcome) for test in seen.tests) == [(A, "passed"), (B, "passed")]
        and seen.tripwire is True
        and seen.exit_code == 1
        and "builtins.len" not in seen.altered
    )
    judgement = judge(PROOF, seen)
    assert (judgement.verdict is Verdict.CAUGHT) == right
    assert (judgement.verdict is Verdict.UNKNOWN) == (seen.ending is Ending.UNSTARTED)


@given(RUNS, st.permutations([0, 1, 2]))
def test_the_order_of_tests_changes_no_verdict(seen: Run, order: list[int]) -> None:
    tests = tuple(seen.tests[n] for n in order if n < len(seen.tests))
    assert judge(PROOF, replace(seen, tests=tests)).verdict is judge(PROOF, seen).verdict


@given(st.lists(RUNS, min_size=1, max_size=2), st.lists(RUNS, min_size=1, max_size=2))
def test_a_proof_calls_its_reference_caught_and_its_head_missed(head: list[Run], reference: list[Run]) -> None:
    proof = prove(ProofEvidence(instance="i", comment="c0", head=head, reference=reference))
    if isinstance(proof, Proof):
        assert {judge(proof, seen).verdict for seen in reference} == {Verdict.CAUGHT}
        assert {judge(proof, seen).verdict for seen in head} == {Verdict.MISSED}
    else:
        assert proof


def evidence(**changes: Any) -> ProofEvidence:
    fields: dict[str, Any] = {"head": (RED, RED), "reference": (GREEN, GREEN), **changes}
    return ProofEvidence(instance="inst", comment="c0", **fields)


def test_red_at_head_and_green_at_the_reference_is_a_proof() -> None:
    own = replace(GREEN, altered=("json.dumps",))
    assert prove(evidence(own=(own, own))) == Proof(
        comment="c0", expected=(A, B), guards=(A,), altered=("json.dumps",), runs=6, flake_bound=1 - 0.05 ** (1 / 6)
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"head": (GREEN,)}, "is not red on head: no expected test failed (all passed)"),
        ({"head": (run(),)}, "is not red on head: no test was collected"),
        (
            {"reference": (run(outcome("session", "error")),)},
            f"{B} failed, and no test of this name ran on the reference",
        ),
        (
            {"head": (run(outcome("test_c0.py", "error")),)},
            "is not red on head: no expected test failed (test_c0.py error)",
        ),
        ({"head": (run(outcome(A), outcome(B, "error")),)}, f"is not red on head: no expected test failed ({B} error)"),
        ({"head": (replace(RED, ending=Ending.TIMEOUT),)}, "is not red on head: the run ended as timeout"),
        (
            {"head": (replace(RED, ending=Ending.TIMEOUT, detail="after 60 s"),)},
            "is not red on head: the run ended as timeout: after 60 s",
        ),
        (
            {"head": (run(*(outcome(f"test_c0.py::test_{n}", "error") for n in "wxyz")),)},
            "(test_c0.py::test_w error, test_c0.py::test_x error, test_c0.py::test_y error)",
        ),
        ({"reference": ()}, "never ran on the reference"),
        ({"head": (replace(RED, tripwire=False),)}, "is not red on head: the session did not come to its own end"),
        ({"head": ()}, "never ran on head"),
        ({"reference": (RED,)}, f"is not green on the reference: test failed: {B} failed with AssertionError"),
        ({"reference": (run(),)}, "is not green on the reference: tests did not run: no test was collected"),
        (
            {"reference": (run(outcome(A), outcome(B, "skipped")),)},
            f"is not green on the reference: tests were skipped: {B}",
        ),
        ({"reference": (replace(GREEN, tripwire=None),)}, "is not green on the reference: exited early"),
        ({"reference": (GREEN, RED)}, "2 runs on the reference do not agree, so it is flaky"),
        ({"head": (RED, run(outcome(A, "failed"), outcome(B)))}, "2 runs on head do not agree"),
        ({"own": (RED,)}, "is not green on its own reference"),
    ],
)
def test_every_reason_against_a_proof_is_a_sentence(changes: dict[str, Any], words: str) -> None:
    reasons = prove(evidence(**changes))
    assert isinstance(reasons, tuple)
    assert any(reason.startswith("inst: the oracle of c0 ") and words in reason for reason in reasons)


@pytest.mark.parametrize(
    ("green", "red", "words"),
    [
        ({"ok.diff": (GREEN,)}, {"no.diff": (RED,)}, []),
        ({"ok.diff": (run(outcome(A)),)}, {}, ["is not green on ok.diff: tests did not run"]),
        ({}, {"no.diff": (GREEN,), "never.diff": ()}, ["never ran on never.diff", "is not red on no.diff"]),
    ],
)
def test_an_audit_has_a_sentence_for_each_check_that_fails(
    green: dict[str, tuple[Run, ...]], red: dict[str, tuple[Run, ...]], words: list[str]
) -> None:
    reasons = audit("inst", PROOF, green=green, red=red)
    assert len(reasons) == len(words)
    for reason, word in zip(reasons, words, strict=True):
        assert reason.startswith("inst: the oracle of c0 ")
        assert word in reason


def test_all_reasons_are_given_at_once() -> None:
    reasons = prove(evidence(head=(GREEN,), reference=(RED,)))
    assert isinstance(reasons, tuple)
    assert len(reasons) == 2


@pytest.mark.parametrize(("runs", "bound"), [(1, 0.95), (2, 0.776393), (5, 0.450720), (59, 0.049508)])
def test_flake_bound_is_the_rule_of_three(runs: int, bound: float) -> None:
    assert flake_bound(runs) == pytest.approx(bound, abs=1e-6)
    with pytest.raises(ValueError, match="no run"):
        flake_bound(0)


REFS = {"refs/heads/main", "refs/heads/pull-request", "refs/remotes/origin/main"}
CLEAN: dict[str, Any] = {
    "git": {"refs": sorted(REFS), "remotes": [], "extra": [], "logged": 0, "commits": 2},
    "caches": [],
    "installed": [["demo", "1.0", "/site"]],
    "files": [],
}


def test_a_clean_workspace_tells_nothing() -> None:
    assert leaks(CLEAN, refs=REFS, version="1.0") == ()
    assert leaks({**CLEAN, "git": None, "installed": []}, refs=REFS) == ()
    assert leaks({**CLEAN, "git": {"refs": [], "commits": 0}}, refs=REFS) == ()
    assert leaks({"git": {}}, refs=REFS) == ()
    assert leaks({**CLEAN, "git": {**CLEAN["git"], "logged": 2}}, refs=REFS) == ()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"git": {**CLEAN["git"], "refs": ["refs/heads/main", "refs/heads/fix-of-17"]}}, "refs/heads/fix-of-17"),
        ({"git": {**CLEAN["git"], "refs": ["refs/pull/7/head"]}}, "refs/pull/7/head"),
        ({"git": {**CLEAN["git"], "refs": ["refs/tags/main"]}}, "refs/tags/main"),
        ({"git": {**CLEAN["git"], "remotes": ['[remote "origin"]']}}, "remote"),
        ({"git": {**CLEAN["git"], "extra": ["FETCH_HEAD"]}}, "FETCH_HEAD"),
        ({"git": {**CLEAN["git"], "logged": 9}}, "9 entries"),
        ({"git": {**CLEAN["git"], "commits": 3}}, "3 commits"),
        ({"caches": ["/root/.cache/pip"]}, "/root/.cache/pip"),
        ({"installed": [["demo", "2.0", "/site"]]}, "2.0"),
        ({"installed": [["demo", "0.9", "/site"]]}, "0.9"),
        ({"installed": [["demo", "1.0", "/a"], ["demo", "1.0", "/b"]]}, "2 times"),
        ({"files": ["/tmp/test_c0.py"]}, "/tmp/test_c0.py"),
    ],
)
def test_each_leak_is_one_sentence(change: dict[str, Any], word: str) -> None:
    (sentence,) = leaks({**CLEAN, **change}, refs=REFS, version="1.0")
    assert word in sentence


C, D = "test_c0.py::test_c[1]", "test_c0.py::test_c[2]"
PARTS = (OraclePart(asks="say b", tests=("test_b",)), OraclePart(asks="say c", tests=("test_c", "test_a")))


def four(**words: str) -> Run:
    """A run of a guard and of three tests of the concern, which pass if nothing is said of them."""
    return run(*(outcome(name, words.get(key, "passed")) for key, name in zip("abcd", (A, B, C, D), strict=True)))


def in_parts(head: Run | None = None, parts: tuple[OraclePart, ...] = PARTS) -> Proof | tuple[str, ...]:
    red = head or four(b="failed", c="failed", d="failed")
    return prove(ProofEvidence(instance="inst", comment="c0", head=(red,), reference=(four(),), parts=parts))


@pytest.mark.parametrize(
    ("words", "reason", "resolved", "detail"),
    [
        ({}, Reason.GREEN, [True, True], None),
        ({"b": "failed"}, Reason.FAILED, [False, True], f"part 1 of 2 is not resolved: say b ({B} failed)"),
        ({"d": "failed"}, Reason.FAILED, [True, False], f"part 2 of 2 is not resolved: say c ({D} failed)"),
        (
            {"b": "failed", "c": "error"},
            Reason.FAILED,
            [False, False],
            f"part 1 of 2 is not resolved: say b; part 2 of 2 is not resolved: say c ({B} failed and 1 more)",
        ),
        (
            {"b": "failed", "c": "skipped"},
            Reason.FAILED,
            [False, False],
            f"part 1 of 2 is not resolved: say b; part 2 of 2 is not resolved: say c ({B} failed)",
        ),
        ({"a": "failed"}, Reason.GUARD, [True, True], f"{A} failed"),
        ({"b": "skipped"}, Reason.SKIPPED, [], f"{B} skipped"),
    ],
)
def test_an_oracle_is_green_once_all_its_parts_are_resolved(
    words: dict[str, str], reason: Reason, resolved: list[bool], detail: str | None
) -> None:
    proof = in_parts()
    assert isinstance(proof, Proof)
    assert [part.tests for part in proof.parts] == [(B,), (C, D)]  # a guard is no test of a part
    seen = four(**words)
    judgement = judge(proof, seen)
    assert (judgement.reason, judgement.detail) == (reason, detail)
    assert [(part.asks, part.resolved) for part in part_results(proof, seen)] == list(
        zip(("say b", "say c"), resolved, strict=False)
    )
    assert part_results(proof, replace(seen, tripwire=None)) == () or reason in (Reason.FAILED, Reason.GUARD)


@pytest.mark.parametrize(
    ("head", "parts", "words"),
    [
        (four(b="failed"), PARTS, "is not red on head for part 2 of 2 (say c): none of its tests failed"),
        (four(b="failed", c="error", d="error"), PARTS, "is not red on head for part 2 of 2"),
        (None, (PARTS[0], replace(PARTS[1], tests=("test_",))), "has no test 'test_', which part 2 of 2 (say c) names"),
        (None, (PARTS[0], replace(PARTS[1], tests=("gone", "away"))), "has no test 'gone', which part 2 of 2"),
        (None, (PARTS[0], replace(PARTS[1], tests=("test_c[1]",))), f"has {D}, which is red at head, in none of"),
        (None, (PARTS[0], replace(PARTS[1], tests=("test_b", "test_c"))), f"has {B}, which is red at head, in 2 of"),
    ],
)
def test_each_part_is_proved(head: Run | None, parts: tuple[OraclePart, ...], words: str) -> None:
    reasons = in_parts(head, parts)
    assert isinstance(reasons, tuple)
    assert any(reason.startswith("inst: the oracle of c0 ") and words in reason for reason in reasons)


@pytest.mark.parametrize(
    ("name", "within", "others"),
    [
        (
            "test_a",
            ["test_c0.py::test_a", "test_c0.py::test_a[x::y]"],
            ["test_c0.py::test_ab", "test_c0.py::A::test_a"],
        ),
        ("A", ["test_c0.py::A::test_b[1]"], ["test_c0.py::Ab::test_b"]),
        ("A::test_b", ["test_c0.py::A::test_b"], ["test_c0.py::test_b"]),
        ("a block", ["a block > adds"], ["a block of others > adds"]),
        ("a block > adds", ["a block > adds"], ["adds"]),
    ],
)
def test_a_name_stands_for_a_test_and_for_those_within(name: str, within: list[str], others: list[str]) -> None:
    part = OraclePart(asks="x", tests=("no", name))
    assert list(filter(part.has, [*within, *others])) == within


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        (run(exit_code=0), None),
        (run(exit_code=2), "exit code 2, completed"),
        (run(ending=Ending.TIMEOUT, exit_code=None), "exit code None, timeout"),
        (run(ending=Ending.UNSTARTED, exit_code=None, detail="there is no go"), "there is no go"),
        (run(outcome("cart:a"), outcome("cart:b", "skipped")), None),
        (run(outcome("cart:b", "skipped")), "exit code 1, completed"),
        (run(outcome("cart:a"), outcome("cart:b", "failed"), outcome("cart:", "error")), "cart:b failed, cart: error"),
    ],
)
def test_pass_to_pass_is_a_command_that_ends_with_0_or_tests_of_which_one_passes_and_none_fails(
    told: Run, fault: str | None
) -> None:
    assert pass_to_pass_fault(told) == fault
