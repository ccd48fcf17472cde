from __future__ import annotations

import pytest

from pytest_crab.benchmarks.ccrab.agreement import Cause, agreement_lines, agreements, cause_of
from pytest_crab.benchmarks.ccrab.recorded import Recording, Result
from pytest_crab.instances.recorded import NOT_ON_RECORD
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import Category, Kind, Provenance, Reason, TestOutcome, Trial


def trial(
    reviewer: str, instance: str, *reasons: Reason, repeat: int = 1, status: str | None = None, detail: str = "so"
) -> Trial:
    results = tuple(
        comment_result(
            f"c{number}",
            category=Category.DESIGN,
            kind=Kind.BEHAVIORAL,
            reason=reason,
            detail=detail,
        )
        for number, reason in enumerate(reasons)
    )
    return trial_of(
        instance=instance,
        repo="o/n",
        provenance=Provenance.GITHUB,
        reviewer=reviewer,
        agent="replay",
        runtime="local",
        repeat=repeat,
        results=results,
        status=status,
    )


def recording(**verdicts: bool | None) -> Recording:
    return Recording(results={"eve": {"a": Result(repo="o/n", source="x", verdicts=verdicts)}})


def test_every_verdict_is_the_recorded_one_or_differs_or_cannot_be_compared() -> None:
    trials = [
        trial("eve", "a", Reason.FAILED, Reason.GREEN, Reason.BROKEN, Reason.GREEN, Reason.TIMEOUT),
        trial("eve", "b", Reason.GREEN),
        trial("other", "a", Reason.GREEN),
    ]
    (one,) = agreements(trials, recording(c0=True, c1=True, c2=False, c3=None, c4=False))
    assert (one.reviewer, one.compared, one.agreed, one.applied, len(one.unrecorded)) == ("eve", 3, 2, 2, 2)
    first, *rest = agreement_lines([one])
    assert first.startswith("eve: 2 of 3 verdicts are the recorded ones, 2 of them after a revision")
    assert first.endswith("1 unknown here, 2 not on record")
    assert rest == [
        "  a: c0: recorded caught, here missed: not explained by the record (test failed: so)",
        "  unknown: a: c2: broken: so",
        "  not on record: a: c3: no verdict",
        "  not on record: b: c0: no verdict",
    ]


def test_no_line_is_cut_before_the_cause() -> None:
    cause = "ModuleNotFoundError: No module named 'yaml'"
    long = f"the image could not be built, it failed to install packages: {'numpy==1.26.4 ' * 20}: {cause}"
    trials = [trial("eve", "a", Reason.FAILED, Reason.BROKEN, Reason.GREEN, detail=long)]
    lines = list(agreement_lines(agreements(trials, recording(c0=True, c1=True, c2=None))))[1:]
    assert [cause in line for line in lines] == [True, True, False]


def test_misses_without_a_revision_agree_and_are_counted_apart() -> None:
    trials = [trial("eve", "a", Reason.NO_FINDINGS, Reason.EMPTY_REVISION, Reason.INSTALL, Reason.FAILED)]
    (one,) = agreements(trials, recording(c0=False, c1=False, c2=False, c3=False))
    assert (one.compared, one.agreed, one.applied) == (4, 4, 2)


@pytest.mark.parametrize("said", [True, False])
def test_a_recorded_revision_that_cannot_be_applied_neither_agrees_nor_differs(*, said: bool) -> None:
    lost = trial("eve", "a", Reason.AGENT_ERROR, Reason.GREEN, status=NOT_ON_RECORD)
    (one,) = agreements([lost], recording(c0=said, c1=True))
    assert (one.compared, one.agreed, one.applied, one.unknown, one.differences) == (1, 1, 1, (), ())
    assert list(agreement_lines([one]))[1:] == [f"  not on record: a: c0: {Reason.AGENT_ERROR}: so"]


def test_a_recorded_pass_with_an_empty_revision_is_a_note() -> None:
    (one,) = agreements([trial("eve", "a", Reason.EMPTY_REVISION, Reason.EMPTY_REVISION)], recording(c0=True, c1=False))
    assert (one.compared, one.agreed, one.applied, one.differences, one.unrecorded) == (1, 1, 0, (), ())
    (note,) = one.notes
    assert note.startswith("a: c0: recorded caught with an empty revision")
    assert f"  note: {note}" in agreement_lines([one])


def test_the_last_record_of_a_trial_counts_and_repeats_count_each() -> None:
    trials = [
        trial("eve", "a", Reason.FAILED),
        trial("eve", "a", Reason.GREEN),
        trial("eve", "a", Reason.FAILED, repeat=2),
    ]
    (one,) = agreements(trials, recording(c0=True))
    assert (one.compared, one.agreed) == (2, 1)


@pytest.mark.parametrize(
    ("reason", "exception", "cause"),
    [
        (Reason.SKIPPED, None, Cause.STRICTER),
        (Reason.EXITED, None, Cause.STRICTER),
        (Reason.TIMEOUT, None, Cause.LIMIT),
        (Reason.INSTALL, None, Cause.STRICTER),
        (Reason.FAILED, "gaierror", Cause.NETWORK),
        (Reason.FAILED, "ModuleNotFoundError", Cause.ENVIRONMENT),
        (Reason.FAILED, "AssertionError", Cause.OPEN),
        (Reason.GREEN, None, Cause.OPEN),
    ],
)
def test_a_difference_has_a_cause(reason: Reason, exception: str | None, cause: Cause) -> None:
    outcome = TestOutcome(id="test_c0.py::test_it", outcome="failed", exception=exception)
    assert cause_of(comment_result("c0", reason, tests=[outcome])) is cause
