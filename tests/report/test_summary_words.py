"""The words of a summary by what ran: reviewers, answerers, or both."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from pytest_crab.report.summary import summarise
from pytest_crab.types import Judgement, Reason, Trial, Unit, verdict_score

MakeTrial = Callable[..., Trial]


def answered(make_trial: MakeTrial, reason: Reason = Reason.CORRECT) -> Trial:
    """A trial of an answerer with one probe."""
    trial = make_trial("qwen", "a", Reason.GREEN, findings=None)
    score = verdict_score("choices", "c0", Judgement(reason=reason), unit=Unit.PROBE)
    return dataclasses.replace(trial, scores=(score,))


def test_answerers_answer_probes_of_rows(make_trial: MakeTrial) -> None:
    words = summarise([answered(make_trial)]).words
    assert (words.contestant, words.counted, words.instance, words.reviews) == ("answerer", "probe", "row", False)


def test_an_answerer_without_any_answer_is_one_too(make_trial: MakeTrial) -> None:
    assert summarise([answered(make_trial, Reason.ANSWERER_ERROR)]).words.counted == "probe"


def test_reviewers_beside_an_answerer_have_verdicts_in_common(make_trial: MakeTrial) -> None:
    words = summarise([answered(make_trial), make_trial("codex", "a", Reason.GREEN)]).words
    assert (words.contestant, words.counted, words.instance, words.reviews) == (
        *("reviewer", "verdict", "pull request"),
        True,
    )


def test_reviewers_alone_have_oracles(make_trial: MakeTrial) -> None:
    assert summarise([make_trial("codex", "a", Reason.GREEN)]).words.counted == "oracle"
    assert summarise([]).words.counted == "oracle"
