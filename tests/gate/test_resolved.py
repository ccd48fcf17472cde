"""A gate on what each review resolves alone: the same rules on other verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.gate.exit import OracleCounts, RunOutcome, decide, refuse
from pytest_crab.gate.references import load_reference
from pytest_crab.gate.resolved import RATE, decided_on
from pytest_crab.gate.results import GateResult
from pytest_crab.gate.terms import GateTerms
from pytest_crab.results.files import write_trials
from pytest_crab.results.summary import Summary, summarise
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import ExplainedOutcome, Explanation, Provenance, Reason, Review, Trial

#: By letter a verdict with its explanation: caught by a finding, spoiled, a side effect, not found, not told apart.
CASES = {
    "c": (Reason.GREEN, Explanation(outcome=ExplainedOutcome.BY_FINDING, near=(1,), alone=True, findings=(1,))),
    "s": (Reason.FAILED, Explanation(outcome=ExplainedOutcome.SPOILED, near=(1,), alone=True, findings=(2,))),
    "n": (Reason.GREEN, Explanation(outcome=ExplainedOutcome.BY_NO_FINDING, alone=False)),
    "m": (Reason.FAILED, Explanation(outcome=ExplainedOutcome.NOT_FOUND, alone=False)),
    "u": (Reason.FAILED, Explanation(outcome=ExplainedOutcome.UNCLEAR, near=(1,))),
    "b": (Reason.BROKEN, None),
    "-": (Reason.FAILED, None),
}


def trials(cases: str, repeat: int = 1) -> list[Trial]:
    """A trial for each letter, each of its own repository."""
    found = []
    for at, case in enumerate(cases):
        reason, explanation = CASES[case]
        found.append(
            trial_of(
                instance=f"i{at}",
                repo=f"owner/r{at}",
                provenance=Provenance.GITHUB,
                reviewer="mine",
                agent="mini",
                runtime="docker",
                repeat=repeat,
                review=Review(version="r1"),
                results=(comment_result("c0", category="design", kind="behavioral", reason=reason),),
                explanations={} if explanation is None else {"c0": explanation},
            )
        )
    return found


def verdicts(summary: Summary) -> list[str]:
    (own,) = summary.reviewers
    return [oracle.verdicts for oracle in own.oracles]


def test_what_is_spoiled_is_resolved_and_a_side_effect_is_not() -> None:
    summary = summarise(trials("csnmub-"))
    assert verdicts(decided_on(summary, RATE)) == ["c", "m", "c", "m", "m", "b", "m"]
    judged = decided_on(summary, "resolved")
    assert verdicts(judged) == ["c", "c", "m", "m", "j", "b", "j"]
    (own,) = judged.reviewers
    assert {name: count for name, count in own.outcomes.items() if count} == {
        "caught": 2.0,
        "missed": 2.0,
        "broken": 1.0,
        "not judged": 2.0,
    }
    assert judged.reviewers[0].overall == summary.reviewers[0].overall


def test_repeats_keep_their_order_where_some_are_not_explained() -> None:
    assert verdicts(decided_on(summarise([*trials("s-"), *trials("-m", repeat=2)]), "resolved")) == ["cj", "jm"]


@pytest.mark.parametrize(("on", "result"), [(RATE, GateResult.FAILED), ("resolved", GateResult.PASSED)])
def test_a_floor_rules_on_what_is_resolved(on: str, result: GateResult) -> None:
    (own,) = decided_on(summarise(trials("cssm")), on).reviewers
    counts = OracleCounts.of(own)
    outcome = RunOutcome(status=1, only_trials_failed=True, terms=GateTerms(fail_under=0.5), counts=(counts,))
    assert decide(outcome).ruling == result


def test_a_gate_on_what_no_run_explains_is_refused() -> None:
    assert "--crab-explain" in str(refuse(GateTerms(fail_under=0.5), agent="mini", explained=False))
    assert refuse(GateTerms(fail_under=0.5), agent="mini") is None


def compare(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", "before", "after", *arguments], catch_exceptions=False)


def test_two_runs_are_compared_by_what_is_resolved_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, cases in {"before": 40 * "c", "after": 20 * "c" + 20 * "s"}.items():
        Path(name).mkdir()
        write_trials(Path(name, "trials.jsonl"), trials(cases))
    assert compare("--margin=10").exit_code == 1
    resolved = compare("--margin=10", "--on=resolved")
    assert resolved.exit_code == 0
    assert "resolved alone" in resolved.output
    assert "i20::c0" in compare().output
    assert "i20::c0" not in compare("--on=resolved").output
    assert verdicts(load_reference([Path("after")], on="resolved").summary) == 40 * ["c"]
