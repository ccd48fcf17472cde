from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pytest_crab.gate.exit import OracleCounts, RunOutcome, decide
from pytest_crab.gate.terms import GateTerms
from pytest_crab.results.summary import SIMULATED, summarise
from pytest_crab.show.terminal import summary_lines
from pytest_crab.types import (
    CONTROL,
    Category,
    CommentResult,
    Finding,
    Kind,
    Provenance,
    Reason,
    Review,
    Revision,
    Score,
    Trial,
    Unit,
    Usage,
)

MakeTrial = Callable[..., Trial]
MakeResult = Callable[..., CommentResult]

GREEN, FAILED, BROKEN = Reason.GREEN, Reason.FAILED, Reason.BROKEN


def shown(trials: list[Trial], width: int = 80, *, errors_as_misses: bool = False) -> str:
    lines = summary_lines(summarise(trials, errors_as_misses=errors_as_misses), width)
    return "\n".join(line.text for line in lines)


def answer(trials: list[Trial]) -> str:
    return "\n".join(line.text for line in summary_lines(summarise(trials), 100, details=False))


EXPECTED = """\
Caught/known        claude-code             human* none
functional   1/1 100.0% (0-100)                  -    -
security      1/2 50.0% (0-100) 1/1 100.0% (0-100)    -

Details                        claude-code human* none
Findings                                 9      1    -
In reviews that caught nothing           0      0    -
Broke passing tests                    1/2      -    -
Cost (USD)                            1.25      -    -
Steps of unknown cost                    3      -    -

human*: shown the answer (*), so read the rate as an upper bound
human*: simulated agent: location overlap only (it knows the fix of each human
    comment, and applies it where a finding overlaps the comment's lines)
claude-code: 2 instances: 1 written for the set, 1 from GitHub
human*, none: 1 instance: 1 written for the set
claude-code: 95% intervals over 2 pull requests, for this 1 repository only
human*: 95% intervals over 1 pull request, for this 1 repository only
oracles: error rates not measured on changes by authors who have not seen them
claude-code: 1 of 2 trials broke passing tests
none: 1 trial skipped: github cannot be reached

Unknown oracles, not counted in any rate
claude-code: 1 oracle has no verdict; the rate lies between 50.0% and 75.0%
claude-code: 1 verdict unknown, broken
none: 1 oracle has no verdict; the rate lies between 0.0% and 100.0%
none: 1 verdict unknown, not run

claude-code: 66.7% (2 of 3 oracles caught; 95% interval 1.1% to 99.7%, pull
    requests like these; 1 more without a verdict)
human*: 100.0% (1 of 1 oracle caught; 95% interval 0.0% to 100.0%, pull requests
    like these)
none: no rate, since none of 1 oracle has a verdict
Reviewer    Caught Rate %       95% Macro Behav. Struct. Comments Per PR Unknown
claude-code    2/3   66.7  1.1-99.7  75.0   50.0   100.0        9    4.5       1
human*         1/1  100.0 0.0-100.0 100.0      -   100.0        1    1.0       0
none             -      -         -     -      -       -        -      -       1
Look next: c0, missed by claude-code: pytest-crab show a::claude-code"""


def table(trials: list[Trial], **rule: bool) -> list[str]:
    lines = shown(trials, **rule).splitlines()
    return lines[next(at for at, line in enumerate(lines) if line.startswith("Reviewer ")) + 1 :]


def test_the_whole_account(make_trial: MakeTrial, make_result: MakeResult) -> None:
    security = {"category": Category.SECURITY}
    structural = {"category": Category.SECURITY, "kind": Kind.STRUCTURAL}
    priced = Revision(usage=Usage(cost_usd=1.25))
    trials = [
        make_trial(
            "claude-code",
            "a",
            make_result("c0", FAILED, **security),
            make_result("c1", GREEN, **structural),
            make_result("c2", BROKEN),
            findings=7,
            regressions=True,
            revision=priced,
        ),
        make_trial(
            "claude-code", "b", GREEN, findings=2, regressions=False, provenance=Provenance.GITHUB, revision=Revision()
        ),
        make_trial(
            "human",
            "a",
            make_result("c1", GREEN, **structural),
            findings=1,
            privileged=("human", "simulated"),
            simulated=True,
        ),
        make_trial("none", "a", Reason.NOT_RUN, findings=None, skipped="github cannot be reached"),
    ]
    assert shown(trials) == EXPECTED


def test_the_papers_table_fits_80_columns(make_trial: MakeTrial) -> None:
    """Table 5: 184 pull requests, 234 oracles."""
    trials = [
        make_trial("claude-code", f"i{at}", GREEN if at % 3 == 0 else FAILED, findings=1336 if at == 0 else 0)
        for at in range(184)
    ]
    row = table(trials)[0]
    assert row == "claude-code 62/184   33.7 27.2-40.9  33.7   33.7       -     1336    7.3"


def test_without_details_the_answer_fits_six_lines(make_trial: MakeTrial) -> None:
    simulated = {"agent": "simulated", "privileged": ("simulated",), "simulated": True}
    text = answer([make_trial("codex", name, GREEN, FAILED, **simulated) for name in "abc"])
    head, note, *rows, look = text.splitlines()
    assert head.startswith("codex: 50.0% (3 of 6 oracles caught; ")
    assert note == "simulated agent: location overlap only"
    assert [row.split()[:2] for row in rows] == [["Reviewer", "Caught"], ["codex", "3/6"]]
    assert look == "Look next: c1, missed by codex: pytest-crab show a::codex"


def test_without_details_the_best_of_several_is_the_headline_and_what_is_unknown_is_red(make_trial: MakeTrial) -> None:
    trials = [make_trial("one", "a", FAILED), make_trial("two", "a", GREEN), make_trial("two", "b", BROKEN)]
    lines = summary_lines(summarise(trials), 100, details=False)
    assert lines[0].text.startswith("most caught by two: 100.0% (1 of 1 oracle caught; ")
    assert [line.text.partition(" ")[0] for line in lines if line.style == "red"] == ["two:", "two:"]


def test_what_measured_nothing_is_said_once_whether_a_gate_rules_or_not(make_trial: MakeTrial) -> None:
    empty = dataclasses.replace(make_trial("mine", "a", Reason.NO_FINDINGS), review=Review())
    summary = summarise([empty])
    (own,) = summary.reviewers
    assert own.unmeasured is not None
    counts = OracleCounts.of(own)
    gate = decide(RunOutcome(status=1, only_trials_failed=True, terms=GateTerms(fail_under=0.2), counts=(counts,)))
    for decided in (None, gate):
        lines = summary_lines(dataclasses.replace(summary, gate=decided), 100, details=False)
        assert "\n".join(line.text for line in lines).count("measured nothing") == 1


def test_who_is_shown_the_answer_does_not_lead(make_trial: MakeTrial) -> None:
    human = make_trial("human", "a", GREEN, privileged=("human",))
    text = answer([human, make_trial("none", "a", FAILED, variant=CONTROL), make_trial("codex", "a", FAILED)])
    assert text.startswith("codex: 0.0% (0 of 1 oracle caught; ")
    assert "codex: net lift " in text
    assert "human*: net lift " not in text
    assert "\nhuman* " in text
    assert answer([human]).startswith("human*: 100.0%")


def test_a_lift_that_is_the_same_everywhere_has_no_interval(make_trial: MakeTrial) -> None:
    names = [f"i{at}" for at in range(17)]
    trials = [make_trial("none", name, FAILED, variant=CONTROL) for name in names]
    alike = shown([*trials, *(make_trial("codex", name, GREEN) for name in names)], 200)
    assert "codex: net lift +100.0 points (the same in every pull request" in alike
    assert "+100.0 to +100.0" not in alike
    apart = shown([*trials, *(make_trial("codex", name, GREEN if name == "i0" else FAILED) for name in names)], 200)
    assert "codex: net lift +5.9 points (95% interval " in apart


def test_commands_name_a_report_that_they_would_not_find(make_trial: MakeTrial) -> None:
    summary = summarise([make_trial("codex", "a", FAILED)])
    (line,) = [one.text for one in summary_lines(summary, report=Path("my runs")) if one.text.startswith("Look next")]
    assert line.endswith("pytest-crab show a::codex --report 'my runs'")


def test_no_trials_no_lines() -> None:
    assert shown([]) == ""


def test_a_rule_that_books_unknown_as_missed_is_said(make_trial: MakeTrial) -> None:
    trials = [make_trial("codex", "a", GREEN, BROKEN)]
    assert "Unknown oracles, counted as missed" in shown(trials, errors_as_misses=True)
    assert "50.0" in table(trials, errors_as_misses=True)[0]


def test_repeats_show_parts_of_an_oracle(make_trial: MakeTrial) -> None:
    text = shown([make_trial("codex", "a", reason, repeat=at) for at, reason in enumerate((GREEN, FAILED), start=1)])
    assert " 0.5/1 " in text
    assert "codex: 2 repeats; an oracle counts as the mean of its repeats" in text


def test_a_simulated_run_says_so_in_a_fixed_sentence(make_trial: MakeTrial) -> None:
    trial = make_trial("codex", "a", GREEN, agent="simulated", privileged=("simulated",), simulated=True)
    text = shown([trial], width=200)
    assert SIMULATED in text.splitlines()
    assert SIMULATED.startswith("simulated agent: location overlap only (it knows the fix of each human comment")
    assert "shown the answer" not in text  # the reviewer is not


def test_an_agent_that_is_shown_the_answer_is_told_from_a_reviewer_that_is(make_trial: MakeTrial) -> None:
    text = shown([make_trial("codex", "a", GREEN, agent="told", privileged=("told",))])
    assert "codex: the agent told is shown the answer" in text.splitlines()
    assert "*" not in text


def test_replaced_records_and_mixed_agents_are_said(make_trial: MakeTrial) -> None:
    trials = [make_trial("codex", name, GREEN, agent=agent) for name, agent in (("a", "x"), ("a", "x"), ("b", "y"))]
    text = shown(trials)
    assert "1 trial replaced by a later record of the same trial" in text
    assert "codex: its trials used different agents: x, y" in text


def test_many_reasons_for_skipping_stay_short(make_trial: MakeTrial) -> None:
    trials = [make_trial("codex", f"i{at}", skipped=f"reason {min(at, 4)}") for at in range(6)]
    text = shown(trials)
    assert "6 trials skipped: reason 4; reason 0; reason 1; and other reasons" in text
    assert table(trials)[0].split() == ["codex", "-", "-", "-", "-", "-", "-", "0", "0.0"]


def test_a_long_name_has_a_line_of_its_own(make_trial: MakeTrial) -> None:
    name = "a-reviewer-with-a-name-that-leaves-no-room"
    lines = table([make_trial(name, "a", GREEN), make_trial("codex", "a", GREEN)])
    assert lines[0] == name
    assert lines[1].startswith("            1/1  100.0 ")
    assert lines[2].startswith("codex       1/1  100.0 ")


def test_reviewers_that_do_not_fit_beside_each_other_go_below(make_trial: MakeTrial) -> None:
    names = [f"reviewer-number-{at}" for at in range(6)]
    lines = shown([make_trial(name, "a", GREEN) for name in names]).splitlines()
    heads = [line.split()[1:] for line in lines if line.startswith("Caught/known")]
    assert heads == [names[:3], names[3:]]


def test_labels_of_findings_are_counted_by_dimension(make_trial: MakeTrial) -> None:
    findings = tuple(Finding(body="x", severity=word) for word in ("high", "low", "low", None))
    score = {"scorer": "usefulness", "unit": Unit.FINDING, "reason": Reason.GREEN}
    labels = tuple(Score(subject=f"{at}", label=word, **score) for at, word in enumerate(("valid", "noise", None)))
    trial = make_trial("mine", "a", GREEN, review=Review(findings=findings))
    trial = dataclasses.replace(trial, scores=(*trial.scores, *labels))
    trials = [trial, make_trial("quiet", "a", GREEN)]
    (mine, quiet) = summarise(trials).reviewers
    counts = {name: {word: one.findings for word, one in own.items()} for name, own in mine.findings_by_label.items()}
    assert counts == {"severity": {"low": 2, "high": 1}, "usefulness": {"valid": 1, "noise": 1}}
    assert quiet.findings_by_label == {}
    lines = [" ".join(line.split()) for line in shown(trials).splitlines()]
    assert lines[lines.index("Findings by severity mine quiet") :][1:3] == ["low 2 66.7% -", "high 1 33.3% -"]
    assert "noise 1 50.0% -" in lines


def test_names_cannot_steer_the_terminal(make_trial: MakeTrial) -> None:
    text = shown([make_trial("co\x1b[2Jdex\u202e", "a", GREEN, skipped="\x07bell\n\u2028")])
    assert r"co\x1b[2Jdex\u202e" in text
    assert r"\x07bell" in text
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("width", [80, 132])
@given(
    names=st.lists(st.text(max_size=30), min_size=1, max_size=8, unique=True),
    reasons=st.lists(st.sampled_from(Reason), max_size=4),
    findings=st.integers(0, 9),
)
def test_every_line_is_ascii_and_fits(
    make_trial: MakeTrial, width: int, names: list[str], reasons: list[Reason], findings: int
) -> None:
    trials = [make_trial(name, "a", *reasons, findings=findings, skipped=name) for name in names]
    for line in shown(trials, width).split("\n"):
        assert line.isascii()
        assert len(line) <= width


def test_causes_of_unknown_verdicts_are_counted(make_trial: MakeTrial, make_result: MakeResult) -> None:
    broken = [make_result(f"c{at}", Reason.REVIEWER_ERROR, detail="the key is wrong") for at in range(2)]
    trials = [make_trial("codex", name, *broken) for name in "abc"]
    trials.append(make_trial("codex", "d", make_result("c0", BROKEN, detail="no space left")))
    assert summarise(trials).reviewers[0].unknown_causes == {
        "reviewer error: the key is wrong": 6,
        "broken: no space left": 1,
    }
    lines = shown(trials).splitlines()
    assert "codex: 6 verdicts unknown, reviewer error: the key is wrong" in lines
    assert "codex: 1 verdict unknown, broken: no space left" in lines


def test_with_repeats_oracles_without_any_verdict_are_those_that_the_table_calls_unknown(
    make_trial: MakeTrial,
) -> None:
    trials = [
        make_trial("codex", "a", GREEN, BROKEN, GREEN, repeat=1),
        make_trial("codex", "a", BROKEN, BROKEN, GREEN, repeat=2),
        make_trial("codex", "b", GREEN, BROKEN, repeat=1),
        make_trial("codex", "b", GREEN, BROKEN, repeat=2),
    ]
    text = " ".join(shown(trials).split())
    assert "codex: 2 oracles have no verdict and 1 oracle has no verdict in some of the repeats; the rate lies" in text
    own = summarise(trials).reviewers[0]
    assert (own.overall.known, own.overall.unknown) == (3, 2)


def test_causes_that_differ_in_a_trials_own_names_are_one(make_trial: MakeTrial, make_result: MakeResult) -> None:
    told = "{} is not proved: /tmp/{}/7 ended with 1"
    trials = [
        make_trial("codex", name, *(make_result(f"c{at}", BROKEN, detail=told.format(name, name)) for at in range(2)))
        for name in ("shop-1", "shop-2", "till-3")
    ]
    trials.append(make_trial("codex", "till-4", make_result("c0", BROKEN, detail="the disk is full")))
    assert summarise(trials).reviewers[0].unknown_causes == {
        f"broken: {told.format('shop-1', 'shop-1')} (and alike in 2 more trials)": 6,
        "broken: the disk is full": 1,
    }


def test_tokens_are_told_by_reviewer_and_model(make_trial: MakeTrial) -> None:
    review = Usage(input_tokens=1200, output_tokens=30, requests=2, cost_usd=0.5, models=("small",))
    fix = Usage(input_tokens=10, output_tokens=None, requests=1, models=("large",))
    told = {"review": Review(usage=review), "revision": Revision(usage=fix)}
    trials = [make_trial("codex", name, GREEN, **told) for name in "ab"] + [make_trial("ruff", "a", GREEN)]
    lines = [line.split() for line in shown(trials).splitlines()]
    assert ["codex", "review:", "small", "4", "2,400", "60", "1.00"] in lines
    assert ["codex", "revision:", "large", "2", "20", "-", "-"] in lines
    assert not any(line[:2] == ["ruff", "review:"] for line in lines)


def test_requests_that_failed_count_for_the_model_that_was_asked(make_trial: MakeTrial) -> None:
    good = Usage(input_tokens=5, output_tokens=1, requests=3, models=("m",), asked=("m",), failed_requests=0)
    bad = Usage(input_tokens=0, output_tokens=0, cost_usd=0.0, requests=7, models=(), asked=("m",), failed_requests=7)
    trials = [make_trial("codex", "a", GREEN, review=Review(usage=good)), make_trial("codex", "b", GREEN, failed=bad)]
    text = shown(trials)
    lines = [line.split() for line in text.splitlines()]
    assert ["codex", "review:", "m", "3", "0", "5", "1", "-"] in lines
    assert ["codex", "failed:", "m", "7", "7", "0", "0", "0.00"] in lines
    assert "unknown model" not in text
    assert " Failed " not in shown(trials[:1])
