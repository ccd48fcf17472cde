"""The gate's section of a report's page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_crab.gate.baseline import BaselineComparison
from pytest_crab.gate.exit import OracleCounts, RunOutcome, decide
from pytest_crab.gate.terms import GateTerms
from pytest_crab.results.files import write_trials
from pytest_crab.results.summary import summarise
from pytest_crab.show.write_report import render
from pytest_crab.statistics.comparison import Measured, compare
from pytest_crab.types import Reason, Trial


def section(folder: Path, make_trial: Callable[..., Trial], **gate: Any) -> str:
    """The gate's section of a run that caught four oracles of six, as its gate ruled."""
    trials = [make_trial("mine", f"i{at}", Reason.GREEN if at < 4 else Reason.FAILED, repo="o/r") for at in range(6)]
    write_trials(folder / "trials.jsonl", trials)
    tally = OracleCounts(reviewer="mine", caught=4, missed=2)
    decision = decide(RunOutcome(status=1, only_trials_failed=True, counts=(tally,), **gate))
    render(folder, dataclasses.replace(summarise(trials), gate=dataclasses.replace(decision, margin=10.0)))
    text = (folder / "index.html").read_text(encoding="utf-8")
    return text.partition('<section id="gate"')[2].partition("</section>")[0]


def run(letters: str) -> dict[tuple[str, str], Measured]:
    return {
        (f"i{at}", "c0"): Measured(repo="o/r", caught=int(letter == "c"), missed=int(letter == "m"))
        for at, letter in enumerate(letters)
    }


def test_a_baseline_is_a_word_a_picture_and_links_to_what_was_lost(
    tmp_path: Path, make_trial: Callable[..., Trial]
) -> None:
    against = BaselineComparison(reviewer="mine", baseline="main", comparison=compare(run("ccmmcc"), run("ccccmm")))
    text = section(tmp_path, make_trial, baselines=(against,))
    assert '<p class="ruling inconclusive">Gate inconclusive, exit status 8.</p>' in text
    assert '<span class="badge inconclusive">cannot tell</span>' in text
    assert "margin -10" in text.partition('<figure class="verdict inconclusive">')[2].partition("</figure>")[0]
    assert (
        '<a href="#t=i4%3A%3Amine&amp;c=c0">i4::c0</a>'
        in text.partition('<div class="lost">')[2].partition("</div>")[0]
    )
    assert '<a href="#t=i2%3A%3Amine&amp;c=c0">i2::c0</a>' in text.partition('<div class="gained">')[2]


def test_a_floor_has_its_sentence_and_no_picture(tmp_path: Path, make_trial: Callable[..., Trial]) -> None:
    text = section(tmp_path, make_trial, terms=GateTerms(fail_under=0.5))
    assert "Gate passed, exit status 0." in text
    assert "4 of 6 oracles caught, a rate of 66.67%; not below the floor of 50%." in text
    assert "verdict" not in text
