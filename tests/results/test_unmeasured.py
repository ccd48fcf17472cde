"""A rate that measured nothing says so in every report, and no gate passes on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from pytest_crab.gate.exit import OracleCounts, RunOutcome, decide
from pytest_crab.gate.results import GateResult
from pytest_crab.gate.terms import WORSE, GateTerms
from pytest_crab.results.summary import summarise
from pytest_crab.show.markdown import markdown_lines
from pytest_crab.show.page.headline import banners
from pytest_crab.show.terminal import summary_lines
from pytest_crab.types import CONTROL, Finding, Reason, Review, Revision, Trial

PLACED, LOOSE = Finding(path="a.py", start=1, body="B"), Finding(body="B")
CHANGE = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n"


@pytest.fixture
def trials(make_trial: Callable[..., Trial]) -> Callable[..., list[Trial]]:
    """Makes trials of one reviewer, each of findings, a revision's diff (None: there is none) and a reason."""

    def make(*several: tuple[list[Finding], str | None, Reason], **fields: object) -> list[Trial]:
        return [
            dataclasses.replace(
                make_trial("mine", f"one-{at}", reason, **fields),
                review=Review(findings=tuple(findings)),
                revision=None if diff is None else Revision(diff=diff),
            )
            for at, (findings, diff, reason) in enumerate(several)
        ]

    return make


NOTHING = [
    ([([], None, Reason.NO_FINDINGS)] * 2, "every review is empty (2 reviews)"),
    ([([LOOSE], CHANGE, Reason.FAILED), ([], None, Reason.NO_FINDINGS)], "no finding of 2 reviews has a place"),
    ([([PLACED], "", Reason.EMPTY_REVISION)] * 3, "the agent changed nothing (3 revisions"),
]
SOMETHING = [
    [([PLACED], CHANGE, Reason.FAILED), ([], None, Reason.NO_FINDINGS)],
    [([LOOSE], CHANGE, Reason.GREEN)],
    [([PLACED], "", Reason.EMPTY_REVISION), ([PLACED], CHANGE, Reason.FAILED)],
    [([PLACED], None, Reason.FAILED)],
]


@pytest.mark.parametrize(("several", "reason"), NOTHING)
def test_it_says_so_everywhere(several: object, reason: str, trials: Callable[..., list[Trial]]) -> None:
    summary = summarise(trials(*several))
    (own,) = summary.reviewers
    assert own.unmeasured is not None
    assert reason in own.unmeasured
    red = " ".join(line.text.strip() for line in summary_lines(summary) if line.style == "red")
    assert f"mine: {own.unmeasured}" in red
    assert any("measured nothing" in line for line in markdown_lines(summary))
    assert any("measured nothing" in str(banner) for banner in banners(summary))


@pytest.mark.parametrize("several", SOMETHING)
def test_a_rate_that_measured_says_nothing(several: object, trials: Callable[..., list[Trial]]) -> None:
    summary = summarise(trials(*several))
    assert [own.unmeasured for own in summary.reviewers] == [None]
    assert not any("measured nothing" in line for line in markdown_lines(summary))


def test_controls_are_not_meant(trials: Callable[..., list[Trial]]) -> None:
    made = trials(*NOTHING[0][0])
    for fields in ({"variant": CONTROL}, {"privileged": ("mine",)}):
        (own,) = summarise([dataclasses.replace(trial, **fields) for trial in made]).reviewers
        assert own.unmeasured is None


@pytest.mark.parametrize("fail_on", ["cannot-tell", WORSE])
def test_no_gate_passes_on_it(fail_on: str) -> None:
    outcome = RunOutcome(terms=GateTerms(fail_under=0.0, fail_on=fail_on), status=1, only_trials_failed=True)
    counts = OracleCounts(reviewer="mine", caught=0, missed=3)
    assert decide(dataclasses.replace(outcome, counts=(counts,))).ruling == GateResult.PASSED
    nothing = dataclasses.replace(counts, unmeasured="measured nothing, since every review is empty")
    decision = decide(dataclasses.replace(outcome, counts=(nothing,)))
    assert decision.ruling == GateResult.INCONCLUSIVE
    assert decision.exit_code == 8
    assert "mine: measured nothing" in decision.paragraph
