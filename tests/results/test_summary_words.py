"""The words of a summary by what ran: reviewers, answerers, or both."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from pytest_crab.results.summary import summarise
from pytest_crab.show.page.figures import label_tables
from pytest_crab.show.summary_tables import rate_tables
from pytest_crab.types import CommentResult, Judgement, Reason, Trial, Unit, verdict_score

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


def test_reviewers_beside_an_answerer_have_words_of_their_own(make_trial: MakeTrial) -> None:
    summary = summarise([make_trial("codex", "a", Reason.GREEN), answered(make_trial)])
    words = summary.words
    assert (words.contestant, words.contestants) == ("reviewer or answerer", "reviewers and answerers")
    assert (words.counted, words.many_counted) == ("oracle or probe", "oracles and probes")
    assert (words.instances, words.contestant_head, words.reviews, words.answers) == ("instances", "Name", True, True)
    assert [own.counted for own in summary.reviewers] == ["oracle", "probe"]


def test_answerers_come_last_and_have_columns_of_their_own_labels(
    make_trial: MakeTrial, make_result: Callable[..., CommentResult]
) -> None:
    probe = answered(make_trial)
    probe = dataclasses.replace(
        probe, comments=(dataclasses.replace(probe.comments[0], labels={"probe": "lines-easy"}),)
    )
    reviewed = make_trial("codex", "b", make_result("c0", Reason.GREEN, labels={"category": "security"}))
    summary = summarise([probe, reviewed])
    assert [own.reviewer for own in summary.reviewers] == ["codex", "qwen"]
    heads = {table.head: [column[0] for column in table.columns] for table in rate_tables(summary)}
    assert heads == {"Caught/known": ["codex"], "by probe": ["qwen"]}
    cells = {name: [len(row["cells"]) for row in rows] for name, rows in label_tables(summary).items()}
    assert cells == {"category": [1], "probe": [1]}


def test_comments_are_counted_where_exact_match_decides(make_trial: MakeTrial) -> None:
    trial = make_trial("human", "a", Reason.GREEN)
    scores = (verdict_score("refinement", "c0", Judgement(reason=Reason.CORRECT)),)
    assert summarise([dataclasses.replace(trial, scores=scores)]).reviewers[0].counted == "comment"


def test_reviewers_are_compared_with_reviewers_and_answerers_with_answerers(make_trial: MakeTrial) -> None:
    reviewed = [make_trial(name, "a", reason) for name, reason in (("codex", Reason.GREEN), ("mini", Reason.FAILED))]
    answers = [dataclasses.replace(answered(make_trial), reviewer=name) for name in ("qwen", "llama")]
    found = summarise([*reviewed, *answers]).together
    assert (found.reviewers, found.oracles, found.union, found.counted) == (("codex", "mini"), 1, 1, "oracle")
    assert [(pair.first, pair.second) for pair in found.pairs] == [("codex", "mini"), ("qwen", "llama")]
    assert (summarise(answers).together.counted, summarise(answers).together.union) == ("probe", 1)


def test_reviewers_alone_have_oracles(make_trial: MakeTrial) -> None:
    assert summarise([make_trial("codex", "a", Reason.GREEN)]).words.counted == "oracle"
    assert summarise([]).words.counted == "oracle"
