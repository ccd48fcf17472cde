"""The exit status of made-up runs against a made-up baseline: n, margin and discordance are in the table."""

from __future__ import annotations

import dataclasses
import re

import pytest

from pytest_crab.gate.baseline import BaselineComparison, Load, rule_on_baselines
from pytest_crab.gate.exit import OracleCounts, RunOutcome, decide
from pytest_crab.gate.planning import in_halves
from pytest_crab.gate.power_statement import power_statement
from pytest_crab.gate.results import GateResult, Word
from pytest_crab.gate.terms import GateTerms
from pytest_crab.gate.wording import baseline_words
from pytest_crab.results.explained import explained_rates
from pytest_crab.results.gate_record import Gate
from pytest_crab.results.provenance import INJECTED_NOTE
from pytest_crab.statistics.comparison import Key, Measured, compare
from pytest_crab.statistics.labels import LabelComparison
from pytest_crab.statistics.power import Design
from pytest_crab.statistics.power_simulation import simulate_power
from pytest_crab.types import ExplainedOutcome, Explanation


def run(verdicts: str) -> dict[Key, Measured]:
    """An oracle a letter, each of its own repository: c caught, m missed, u unknown, b broken."""
    return {
        (f"pr-{at}", "c0"): Measured(
            repo=f"owner/repo-{at}", caught=int(one == "c"), missed=int(one == "m"), unknown=int(one in "ub")
        )
        for at, one in enumerate(verdicts)
    }


def rule(one: BaselineComparison) -> tuple[GateResult, str]:
    (ruling,) = rule_on_baselines([one])
    words = baseline_words(one, ruling)
    return ruling.result, "\n".join(words.lines + words.details)


def gated(before: str, after: str, *, margin: float = 5.0, status: int = 1, alone: bool = True) -> Gate:
    tally = OracleCounts(
        reviewer="mine",
        caught=after.count("c"),
        missed=after.count("m"),
        unknown=after.count("u"),
        broken=after.count("b"),
    )
    design = Design(sizes=[1] * len(before), noise=0.1, rate=before.count("c") / len(before))
    against = BaselineComparison(
        reviewer="mine",
        baseline="main",
        margin=margin,
        comparison=compare(run(before), run(after)),
        design=design,
        before=Load(cost_usd=0.5, comments=2.0),
        after=Load(cost_usd=0.75, comments=3.5),
    )
    return decide(
        RunOutcome(
            terms=GateTerms(max_unknown=1.0),
            status=status,
            only_trials_failed=alone,
            counts=(tally,),
            baselines=(against,),
        )
    )


TABLE = {
    # name: before, after, margin, exit status
    "no change, n 64, margin 5": ("c" * 32 + "m" * 32, "c" * 32 + "m" * 32, 5, 0),
    "no change, n 50, margin 5": ("c" * 25 + "m" * 25, "c" * 25 + "m" * 25, 5, 8),
    "no change, n 240, 8 flips, margin 5": ("c" * 84 + "m" * 156, "c" * 80 + "m" * 4 + "c" * 4 + "m" * 152, 5, 0),
    "improvement, n 60, 12 gained, margin 5": ("c" * 20 + "m" * 40, "c" * 32 + "m" * 28, 5, 0),
    "drop, n 60, 12 lost, margin 5": ("c" * 30 + "m" * 30, "c" * 18 + "m" * 42, 5, 1),
    "a real drop within a wide margin, n 60, 12 lost, margin 35": ("c" * 30 + "m" * 30, "c" * 18 + "m" * 42, 35, 0),
    "n 24, 2 lost, margin 5": ("c" * 12 + "m" * 12, "c" * 10 + "m" * 14, 5, 8),
    "no change, n 12: too few to rule a drop out": ("c" * 6 + "m" * 6, "c" * 6 + "m" * 6, 5, 8),
    "n 60, 10% broken": ("c" * 30 + "m" * 30, "b" * 6 + "c" * 24 + "m" * 30, 5, 9),
    "n 60, 5% broken is not too much, and widens the bounds": ("c" * 60, "b" * 3 + "c" * 57, 5, 8),
    "n 60, 15 unknown could be lost": ("c" * 30 + "m" * 30, "u" * 15 + "c" * 15 + "m" * 30, 5, 8),
    "n 60, 24 lost whatever 6 unknown are": ("c" * 40 + "m" * 20, "u" * 6 + "c" * 10 + "m" * 44, 5, 1),
}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("status", [0, 1])
def test_the_table(name: str, status: int) -> None:
    before, after, margin, code = TABLE[name]
    decision = gated(before, after, margin=margin, status=status)
    assert decision.exit_code == code, decision.paragraph
    assert decision.paragraph.startswith("mine: ")
    assert decision.sentence == f"Gate {decision.ruling}, exit status {code}."


#: Quickstart's shape: 39 oracles in 17 pull requests of four repositories.
SIZES = [2, 2, 3, 2, 2, 3, 3, 2, 3, 2, 2, 2, 2, 2, 2, 2, 3]


def small(caught: set[tuple[int, int]]) -> dict[Key, Measured]:
    return {
        (f"pr-{at}", f"c{comment}"): Measured(
            repo=f"r{at % 4}", caught=int((at, comment) in caught), missed=int((at, comment) not in caught)
        )
        for at, size in enumerate(SIZES)
        for comment in range(size)
    }


ONE_EACH = {(at, 0) for at in range(12)}
IN_SIX = {(at, comment) for at in range(6) for comment in range(2)}


@pytest.mark.parametrize(
    ("before", "after", "word", "code"),
    [
        (ONE_EACH, ONE_EACH, Word.NO_WORSE, 0),
        (ONE_EACH, ONE_EACH | {(at, 1) for at in range(8)}, Word.BETTER, 0),
        (ONE_EACH, set(), Word.WORSE, 1),
        (ONE_EACH, ONE_EACH - {(at, 0) for at in range(6)}, Word.WORSE, 1),
        (IN_SIX, IN_SIX - {(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (3, 0)}, Word.CANNOT_TELL, 8),
        (ONE_EACH, ONE_EACH - {(0, 0), (1, 0), (2, 0)} | {(at, 0) for at in (12, 13, 14)}, Word.CANNOT_TELL, 8),
    ],
)
def test_a_small_set_gives_each_word(
    before: set[tuple[int, int]], after: set[tuple[int, int]], word: Word, code: int
) -> None:
    comparison = compare(small(before), small(after))
    against = BaselineComparison(
        reviewer="mine",
        baseline="main",
        margin=10.0,
        comparison=comparison,
        design=Design(sizes=SIZES, noise=0.1, rate=12 / 39),
    )
    tally = OracleCounts(reviewer="mine", caught=len(after), missed=39 - len(after))
    decision = decide(RunOutcome(status=0, only_trials_failed=True, counts=(tally,), baselines=(against,)))
    (ruling,) = decision.rulings
    assert (ruling.word, decision.exit_code) == (word, code)
    assert ruling.lines[0].startswith(f"mine: {'cannot tell' if word is Word.CANNOT_TELL else f'{word} than main'}")
    assert any("like these 17" in line for line in ruling.lines) is (word is Word.CANNOT_TELL)
    back = compare(small(after), small(before)).interval
    assert comparison.interval is not None and back is not None
    assert (comparison.interval.low, comparison.interval.high) == pytest.approx((-back.high, -back.low))


def test_the_verdict_comes_first_with_its_numbers() -> None:
    (first,) = gated("c" * 30 + "m" * 30, "m" * 12 + "c" * 18 + "m" * 30).rulings[0].lines
    assert first.startswith("mine: worse than main: 12 of 60 oracles lost, none gained; 50.0% to 30.0%, -20.0 points (")
    assert first.endswith(", pull requests like these; p < 0.001)")


def test_details_have_what_the_lines_leave_out() -> None:
    details = "\n".join(gated("c" * 60 + "m" * 60, "m" * 52 + "c" * 8 + "m" * 60).rulings[0].details)
    assert re.findall(r"pr-(\d+)::c0", details) == [str(at) for at in range(50)]
    assert " and 2 more; gained none." in details
    assert "p = 4.44e-16 (exact McNemar)" in details
    assert "Comments per pull request 2.0 before, 3.5 now; 0.500 USD per pull request before, 0.750 now." in details


def test_what_cannot_be_told_says_what_would_settle_it_and_which_margin_was_planned_for() -> None:
    """The margin is that of the set, whatever this run has shown: a larger drop gets the same one."""
    few, more = (gated("c" * 12 + "m" * 12, "c" * kept + "m" * (24 - kept)) for kept in (11, 9))
    margins = []
    for one in (few, more):
        assert one.exit_code == 8
        (line,) = [line for line in one.rulings[0].lines if line.startswith("To settle it")]
        assert "pull requests like these 24" in line
        assert "margin" not in line
        margins += re.findall(r"For later runs: .* a margin of ([\d.]+) points", one.paragraph)
    planned = in_halves(simulate_power(Design(sizes=[1] * 24, noise=0.1, rate=0.5)).decided_margin())
    assert margins == [f"{planned:g}"] * 2
    unknown = gated("c" * 120 + "m" * 120, "u" * 20 + "c" * 100 + "m" * 120).paragraph
    assert "Verdicts for 20 oracles with unknown repeats would settle it: run again" in unknown


def test_as_many_pull_requests_as_are_said_are_enough() -> None:
    few = gated("cm" * 20, "cm" * 20)
    assert few.exit_code == 8
    (size,) = re.findall(r"about (\d+) pull requests like these 40", few.paragraph)
    assert gated("c" * int(size), "c" * int(size)).exit_code == 0
    assert gated("c" * (int(size) - 3), "c" * (int(size) - 3)).exit_code == 8


def test_noise_is_told_to_be_answered_by_repeats() -> None:
    noisy = gated("c" * 20 + "m" * 80, "m" * 10 + "c" * 20 + "m" * 70, margin=8)
    assert noisy.exit_code == 8
    assert re.search(r"\d times the repeats in both runs \(--crab-repeat\)", noisy.paragraph)


def test_repeats_that_are_unknown_are_counted() -> None:
    """Every pair is known, and half of the repeats of the new run are not."""
    keys = [(f"pr-{at}", "c0") for at in range(80)]
    before = {key: Measured(repo=key[0], caught=2, missed=0) for key in keys}
    after = {key: Measured(repo=key[0], caught=1, missed=0, unknown=1) for key in keys}
    comparison = compare(before, after)
    ruling, text = rule(BaselineComparison(reviewer="mine", baseline="main", comparison=comparison))
    assert (ruling, comparison.known, comparison.pairs) == (GateResult.INCONCLUSIVE, 80, 80)
    assert "Verdicts for 80 oracles with unknown repeats would settle it" in text
    assert "Whatever the unknown verdicts of 80 oracles are" in text


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("c" * 60, "c" * 60, None),
        ("c" * 60 + "mm", "c" * 60, "Not compared: 2 only in the baseline."),
        ("c" * 60, "c" * 60 + "mmm", "Not compared: 3 only in this run."),
    ],
)
def test_oracles_of_one_run_alone_are_counted_as_not_compared(before: str, after: str, sentence: str | None) -> None:
    text = rule(BaselineComparison(reviewer="mine", baseline="main", comparison=compare(run(before), run(after))))[1]
    assert re.findall(r"Not compared: [^.]*\.", text) == ([] if sentence is None else [sentence])


@pytest.mark.parametrize(
    ("lost", "margin", "sentence"),
    [
        (0, 10, "mine: no worse than main: "),
        (12, 35, "mine: worse, within the margin of 35 points, than main: "),
        (4, 5, "mine: cannot tell whether it is worse than main: "),
        (12, 5, "mine: worse than main: 12 of 60 oracles lost"),
    ],
)
def test_each_ruling_has_its_sentence(lost: int, margin: float, sentence: str) -> None:
    decision = gated("c" * 30 + "m" * 30, "m" * lost + "c" * (30 - lost) + "m" * 30, margin=margin)
    assert decision.paragraph.startswith(sentence)
    assert "Alone the drop" not in decision.paragraph


def test_oracles_that_a_whole_run_lacks_are_unknown_and_those_of_a_part_are_not_compared() -> None:
    comparison = compare(run("c" * 60 + "mm"), run("c" * 60))
    for whole in (True, False):
        text = rule(BaselineComparison(reviewer="mine", baseline="main", comparison=comparison, whole=whole))[1]
        assert ("2 oracles of the baseline are missing here and taken as unknown" in text) is whole
        assert ("Not compared: 2 only in the baseline" in text) is not whole


@pytest.mark.parametrize("unknown", ["before", "after"])
def test_loads_are_told_only_where_both_runs_know_them(unknown: str) -> None:
    loads = {"before": Load(cost_usd=0.5, comments=2.0), "after": Load(cost_usd=0.5, comments=2.0), unknown: Load()}
    one = BaselineComparison(reviewer="mine", baseline="main", comparison=compare(run("cm"), run("cm")), **loads)
    assert "USD" not in rule(one)[1]
    assert "omments per" not in rule(one)[1]


def test_what_explanations_say_stands_beside_both_runs() -> None:
    def load(*outcomes: ExplainedOutcome) -> Load:
        rows = {
            f"c{at}": Explanation(outcome=outcome, near=(1,), alone=outcome is not ExplainedOutcome.NOT_RESOLVED)
            for at, outcome in enumerate(outcomes)
        }
        return Load(explained=explained_rates([("one", "o/r", rows)]))

    before, after = load(ExplainedOutcome.SPOILED, ExplainedOutcome.BY_FINDING), load(ExplainedOutcome.NOT_RESOLVED)
    one = BaselineComparison(
        reviewer="mine", baseline="main", comparison=compare(run("cm"), run("cm")), before=before, after=after
    )
    text = rule(one)[1].lower()
    assert "resolved alone 100.0% before, 0.0% now" in text
    assert "spoiled 50.0% before, 0.0% now" in text


def test_a_label_without_a_verdict_in_both_runs_says_so() -> None:
    nothing, some = compare(run("uuu"), run("ccc")), compare(run("c" * 60), run("c" * 60))
    labels = tuple(
        LabelComparison(dimension="category", label=name, margin=5.0, comparison=own, p_holm=1.0)
        for name, own in (("security", nothing), ("design", some))
    )
    text = rule(BaselineComparison(reviewer="mine", baseline="main", comparison=some, labels=labels))[1]
    assert "category security: no oracle has a verdict in both runs." in text
    assert "category design: no oracle" not in text


def test_a_comparison_that_nobody_gates_says_nothing_of_a_margin() -> None:
    comparison = compare(run("c" * 60), run("c" * 60))
    _, text = rule(BaselineComparison(reviewer="mine", baseline="main", comparison=comparison, gated=False))
    assert "margin" not in text
    assert "rule" not in text
    assert text.startswith("mine: beside main, no change is shown: the same verdict on all 60 oracles")


def test_a_drop_that_is_chance_among_ten_reviewers_says_that_it_is_none_alone() -> None:
    dropped, same = (
        compare(run("c" * 30 + "m" * 30), run(after + "m" * 30)) for after in ("c" * 23 + "m" * 7, "c" * 30)
    )
    alone = BaselineComparison(reviewer="mine", baseline="main", margin=1.0, comparison=dropped)
    assert rule(alone)[0] is GateResult.FAILED
    ruling = rule_on_baselines([alone, *[dataclasses.replace(alone, comparison=same)] * 9])[0]
    assert ruling.result is GateResult.INCONCLUSIVE
    text = "\n".join(baseline_words(alone, ruling).lines)
    assert "Alone the drop would be more than chance" in text
    assert text.startswith("mine: cannot tell")


def test_one_is_not_many() -> None:
    comparison = compare(run("c"), run("c"))
    _, text = rule(BaselineComparison(reviewer="mine", baseline="main", comparison=comparison))
    assert "the same verdict on the one oracle;" in text
    assert "1 pull request show" in text


def test_a_hooks_objection_fails_a_gate_that_would_pass() -> None:
    outcome = RunOutcome(
        status=0,
        only_trials_failed=True,
        terms=GateTerms(fail_under=0.5),
        counts=(OracleCounts(reviewer="mine", caught=3, missed=0),),
        objections=("Too dear.",),
    )
    decision = decide(outcome)
    assert (decision.exit_code, decision.ruling) == (1, GateResult.FAILED)
    assert decision.rulings[-1].lines == ("A hook objects: Too dear.",)
    assert decision.paragraph.endswith("\nGate failed, exit status 1.")


def test_misses_for_errors_are_the_floors_and_no_baselines() -> None:
    before, after = run("c" * 120 + "m" * 120), run("u" * 20 + "c" * 100 + "m" * 120)
    outcome = RunOutcome(
        status=0,
        only_trials_failed=True,
        terms=GateTerms(errors_as_misses=True),
        counts=(OracleCounts(reviewer="mine", caught=100, missed=120, unknown=20),),
        baselines=(BaselineComparison(reviewer="mine", baseline="main", comparison=compare(before, after)),),
    )
    assert decide(outcome).exit_code == 8


@pytest.mark.parametrize("status", [2, 3, 4, 5])
def test_an_interrupt_and_the_like_stay(status: int) -> None:
    assert gated("c" * 60, "m" * 60, status=status).exit_code == status


def test_an_ordinary_failure_stays_under_a_gate_that_is_met() -> None:
    decision = gated("c" * 60, "c" * 60, alone=False)
    assert decision.exit_code == 1
    assert "something besides the trials failed" in decision.paragraph


def test_what_cannot_be_compared_is_inconclusive_and_says_why() -> None:
    comparison = compare(run("c" * 60), run("c" * 60))
    tally = OracleCounts(reviewer="mine", caught=60, missed=0)
    for fields, sentence in (
        ({"comparison": comparison, "refusal": "the agent was a and is b"}, "not comparable with main: the agent was"),
        ({"comparison": None}, "main has no reviewer to compare it with"),
        ({"comparison": compare(run("u"), run("u"))}, "no oracle has a verdict here and in main"),
    ):
        against = BaselineComparison(reviewer="mine", baseline="main", **fields)  # type: ignore[arg-type]
        decision = decide(RunOutcome(status=0, only_trials_failed=True, counts=(tally,), baselines=(against,)))
        assert decision.exit_code == 8
        assert sentence in decision.paragraph


def test_a_floor_and_a_baseline_must_both_hold() -> None:
    against = BaselineComparison(
        reviewer="mine", baseline="main", comparison=compare(run("c" * 30 + "m" * 30), run("c" * 30 + "m" * 30))
    )
    outcome = RunOutcome(
        status=1,
        only_trials_failed=True,
        terms=GateTerms(fail_under=0.6),
        counts=(OracleCounts(reviewer="mine", caught=30, missed=30),),
        baselines=(against,),
    )
    decision = decide(outcome)
    assert decision.exit_code == 1
    assert "below the floor of 60%" in decision.paragraph
    assert "no worse than main" in decision.paragraph


def test_a_run_says_before_what_it_cannot_see() -> None:
    small = "; ".join(power_statement(Design(sizes=[1] * 30, noise=0.1, rate=0.5), margin=5))
    found = re.match(r"30 oracles have 80% power to detect a ([\d.]+)-point drop, assuming that 10.0%", small)
    assert found is not None
    assert 20 < float(found[1]) < 40
    assert re.search(
        r"the margin, 5 points, is [0-3]%; 80% takes about ([45]\d\d) oracles in about \1 pull requests like these",
        small,
    )
    assert (
        "even with every verdict unchanged this gate cannot pass at a margin of 5 points: it needs a margin of at least"
        in small
    )
    least = re.search(r"it needs a margin of at least ([\d.]+) points", small)
    assert least is not None
    assert gated("cm" * 15, "cm" * 15, margin=float(least[1]) - 0.1).exit_code == 8
    assert gated("cm" * 15, "cm" * 15, margin=float(least[1]) + 0.1).exit_code == 0
    hopeless = "; ".join(
        power_statement(Design(sizes=[1] * 8, noise=0.1, rate=0.2), margin=5, grounds="its own repeats")
    )
    assert re.search(r"even a drop to 0% is shown in \d% of runs, since in its own repeats 10.0%", hopeless)
    large = "; ".join(power_statement(Design(sizes=[1] * 900, noise=0.1, rate=0.5), margin=5))
    assert "margin" not in large
    assert "an unchanged reviewer passes in 100% of runs" in large


def test_what_neither_run_measured_does_not_pass() -> None:
    """38% agent error in both runs say nothing of a drop among these."""
    before = after = "cm" * 72 + "u" * 90
    decision = gated(before, after, status=0)
    assert decision.exit_code == 8
    assert "90 oracles measured in neither run count as unknown in both." in decision.rulings[0].details


@pytest.mark.parametrize(("unknown", "most", "code"), [(12, 0.05, 0), (13, 0.05, 8), (13, 0.06, 0), (1, 0.0, 8)])
def test_unknowns_have_a_cap(unknown: int, most: float, code: int) -> None:
    counts = OracleCounts(reviewer="mine", caught=240 - unknown, missed=0, unknown=unknown)
    terms = GateTerms(fail_under=0.5, max_unknown=most)
    outcome = RunOutcome(terms=terms, status=0, only_trials_failed=True, counts=(counts,))
    decision = decide(outcome)
    assert decision.exit_code == code
    assert ("--crab-max-unknown" in decision.paragraph) is (code == 8)
    lenient = dataclasses.replace(outcome, terms=dataclasses.replace(terms, errors_as_misses=True))
    assert decide(lenient).exit_code == 0, "they are counted as missed"


def test_too_much_unknown_does_not_hide_a_failure() -> None:
    counts = OracleCounts(reviewer="mine", caught=0, missed=90, unknown=10)
    outcome = RunOutcome(terms=GateTerms(fail_under=0.5), status=0, only_trials_failed=True, counts=(counts,))
    assert decide(outcome).exit_code == 1


def several(count: int, lost: int) -> Gate:
    """So many reviewers, of which the first lost so many of 120 oracles and the others none."""
    before = run("c" * 60 + "m" * 60)
    runs = [run("m" * lost + "c" * (60 - lost) + "m" * 60), *[before] * (count - 1)]
    names = [f"r{at}" for at in range(count)]
    return decide(
        RunOutcome(
            status=0,
            only_trials_failed=True,
            counts=tuple(OracleCounts(reviewer=name, caught=1, missed=0) for name in names),
            baselines=tuple(
                BaselineComparison(reviewer=name, baseline="main", margin=10.0, comparison=compare(before, own))
                for name, own in zip(names, runs, strict=True)
            ),
        )
    )


def test_several_reviewers_share_the_chance_of_a_false_failure() -> None:
    """What is a shown drop with one reviewer is none among ten; a large one is shown in either."""
    border = next(lost for lost in range(60) if several(1, lost).exit_code == 1)
    assert several(10, border).exit_code == 8
    assert several(10, border + 8).exit_code == 1


def test_more_looks_ask_for_more() -> None:
    border = next(lost for lost in range(60) if several(1, lost).exit_code == 1)
    before, after = run("c" * 60 + "m" * 60), run("m" * border + "c" * (60 - border) + "m" * 60)
    results = {}
    for looks in (1, 5):
        comparison = compare(before, after, level=1 - 0.05 / looks)
        one = BaselineComparison(reviewer="mine", baseline="main", margin=10.0, comparison=comparison)
        results[looks] = rule(one)
    assert results[1][0] is GateResult.FAILED
    assert results[5][0] is GateResult.INCONCLUSIVE
    assert "(99% " in results[5][1]


def test_a_reviewer_that_cannot_be_compared_makes_no_other_harder_to_fail() -> None:
    # six lost of sixty: one reviewer alone fails, one of two that are compared does not
    fails = compare(run("c" * 30 + "m" * 30), run("c" * 24 + "m" * 36))
    assert 0.0125 < fails.p_drop < 0.025
    mine = BaselineComparison(reviewer="mine", baseline="old", comparison=fails)
    alike = dataclasses.replace(mine, reviewer="yours")
    refused = dataclasses.replace(alike, refusal="the runtime differs")

    def result(other: BaselineComparison) -> GateResult:
        return rule_on_baselines([mine, other])[0].result

    assert (result(alike), result(refused)) == (GateResult.INCONCLUSIVE, GateResult.FAILED)


def test_a_comparison_with_the_anchor_is_named_so() -> None:
    plain = BaselineComparison(reviewer="mine", baseline="old")
    assert (plain.name, dataclasses.replace(plain, anchored=True).name) == ("mine", "mine against old")


def test_injected_faults_are_named_beside_the_comparison() -> None:
    one = BaselineComparison(
        reviewer="mine", baseline="old", comparison=compare(run("cm" * 20), run("cm" * 20)), injected=True
    )
    (ruling,) = rule_on_baselines([one])
    assert any(INJECTED_NOTE in line for line in baseline_words(one, ruling).lines)
