"""Stored reviews matched by place and concern, with a scripted judge."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.results.files import write_trials
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, say
from pytest_crab.types import Finding, Provenance, Reason, Review, Score, ScoredComment, Trial, Unit

if TYPE_CHECKING:
    from conftest import Judging

JUDGES = (
    "pairs: {use: same-concern, model: scripted}",
    "panel: {use: same-concern, model: scripted, votes: 3}",
    "sorter: {use: issue-category, model: scripted}",
    "bugs: {use: cr-evaluator, model: scripted}",
)

#: Two hunks, lines 1 to 30 and 40 to 42 of the new version.
DIFF = (
    "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -0,0 +1,30 @@\n"
    + "".join(f"+line {number}\n" for number in range(1, 31))
    + "@@ -9,2 +40,3 @@\n kept\n+forty-one\n kept\n"
)


def finding(line: int, word: str) -> Finding:
    return Finding(body=f"About {word}.", path="a.py", start=line)


def trial(reviewer: str, findings: list[Finding], **fields: Any) -> Trial:
    """A review of a pull request with the comments apple (line 10), pear (20) and plum (41)."""
    contexts = ("Diff Level", "Diff Level", "Repo Level")
    comments = tuple(
        ScoredComment(id=f"c{at}", path="a.py", lines=(line, line), labels={"context": context})
        for at, (line, context) in enumerate(zip((10, 20, 41), contexts, strict=True))
    )
    known: dict[str, Any] = {"instance": "one-1", "repo": "one", "provenance": Provenance.AUTHORED, "agent": "mine"}
    review = Review(findings=tuple(findings))
    return Trial(reviewer=reviewer, review=review, comments=comments, runtime="local", **known, **fields)


def answer(asked: Asked) -> Reply:
    """The same concern where both name one fruit; about a fig the judge answers outside its labels."""
    data = asked.body["messages"][0]["content"].partition("----- begin ")[2]
    fruits = re.findall(r"About (\w+)\.", data)
    word = "MAYBE" if "fig" in fruits else "SAME" if fruits[0] == fruits[1] else "DIFFERENT"
    return say(json.dumps({"classification": word, "reason": "r"}), pieces=1)


@pytest.fixture
def provider(judging: Judging) -> ScriptedProvider:
    return judging(answer, JUDGES, [(10, "About apple."), (20, "About pear."), (41, "About plum.")], diff=DIFF)


def match(folder: Path, trials: list[Trial], *options: str) -> tuple[int, str]:
    write_trials(folder / "trials.jsonl", trials)
    result = CliRunner().invoke(main, ["benchmark", "aacr", "match", str(folder), *options])
    return result.exit_code, result.output


def data(folder: Path, trials: list[Trial], *options: str) -> dict[str, Any]:
    code, output = match(folder, trials, *options, "--json")
    assert code == 0, output
    return json.loads(output)  # type: ignore[no-any-return]


REVIEW = [finding(10, "apple"), finding(20, "nothing"), finding(41, "fig"), finding(5, "plum")]


def test_a_judge_says_which_findings_at_a_comment_raise_its_concern(tmp_path: Path, provider: ScriptedProvider) -> None:
    found = data(tmp_path, [trial("alpha", REVIEW)], "--judge", "pairs")
    assert len(provider.asked) == 3  # no comment lies at line 5
    (alpha,) = found["reviewers"]
    line, semantic = alpha["overall"]["line"], alpha["overall"]["semantic"]
    assert (line["matched_comments"], line["comments"], line["findings"]) == (3, 3, 4)
    # the pair about a fig has no answer, so its finding and its comment count neither way
    assert (semantic["matched_comments"], semantic["comments"], semantic["findings"]) == (1, 2, 3)
    assert (alpha["overall"]["unknown_findings"], alpha["overall"]["unknown_comments"]) == (1, 1)
    assert semantic["recall"]["value"] == 0.5
    assert alpha["overall"]["noise"]["value"] == pytest.approx(2 / 3)
    assert (alpha["per_patch"], alpha["per_pull_request"]) == (2.0, 4.0)
    assert any("MAYBE" in reason for reason in found["unknown"])
    contexts = {label: own["semantic"]["recall"].get("value") for label, own in alpha["by_label"]["context"].items()}
    assert contexts == {"Diff Level": 0.5, "Repo Level": None}


def test_the_judge_sees_both_texts_and_the_code_around_them(tmp_path: Path, provider: ScriptedProvider) -> None:
    data(tmp_path, [trial("alpha", [finding(41, "plum"), finding(3, "x")])], "--judge", "pairs")
    (asked,) = provider.asked
    text = asked.body["messages"][0]["content"]
    assert text.count("About plum.") == 2
    assert "    41 +forty-one" in text
    assert "line 30" not in text


def test_judgements_are_paid_for_once_planned_and_checked(tmp_path: Path, provider: ScriptedProvider) -> None:
    trials = [trial("alpha", REVIEW), trial("beta", REVIEW[:1])]
    code, output = match(tmp_path, trials, "--judge", "panel", "--plan")
    assert (code, provider.asked) == (0, []), output
    assert "9 votes, 0 stored, 9 to ask" in output  # beta's finding is one of alpha's
    code, output = match(tmp_path, trials, "--judge", "panel")
    assert (code, len(provider.asked)) == (0, 9), output
    assert "9 judgements asked and stored" in output
    assert "not compared with labels by people" in output
    code, output = match(tmp_path, trials, "--judge", "panel")
    assert len(provider.asked) == 9
    found = data(tmp_path, trials, "--judge", "pairs", "--check-judge")
    assert [(check["form"], check["compared"], check["changed"]) for check in found["judges"][0]["checks"]] == [
        ("swapped", 2, 0),
        ("padded", 2, 0),
    ]


def test_a_trial_without_a_review_counts_neither_way_and_is_said(tmp_path: Path, provider: ScriptedProvider) -> None:
    failed = dataclasses.replace(trial("alpha", []), review=None, repeat=2, error="it timed out")
    found = data(tmp_path, [trial("alpha", REVIEW), failed])
    assert (found["left_out"], found["reviewers"][0]["reviews"]) == (1, 1)
    assert found["reviewers"][0]["overall"]["line"]["comments"] == 3
    assert "1 trial without a review" in match(tmp_path, [trial("alpha", REVIEW), failed])[1]


def test_labels_of_findings_give_precision_in_a_slice(tmp_path: Path, provider: ScriptedProvider) -> None:
    labels = [
        Score(scorer="context", unit=Unit.FINDING, subject=str(at), label=label, reason=Reason.GREEN)
        for at, label in enumerate(("Diff Level", "Diff Level", "Repo Level"))
    ]
    one = trial("alpha", REVIEW, scores=tuple(labels))
    found = data(tmp_path, [one], "--judge", "equal-texts")
    slice_ = found["reviewers"][0]["by_label"]["context"]["Diff Level"]["semantic"]
    assert (slice_["precision"]["value"], slice_["recall"]["value"]) == (0.5, 0.5)
    output = match(tmp_path, [one], "--by", "context")[1]
    assert re.search(r"alpha +Diff Level +2 +100\.0 +100\.0 +100\.0", output), output
    plain = match(tmp_path, [trial("alpha", REVIEW)], "--by", "context")[1]
    assert "no finding has a label of context" in plain
    assert provider.asked == []


def test_an_empty_review_has_no_precision_and_january_does_not_count_it(
    tmp_path: Path, provider: ScriptedProvider
) -> None:
    trials = [trial("alpha", [])]
    overall = data(tmp_path, trials)["reviewers"][0]["overall"]["line"]
    assert overall["recall"]["value"] == 0.0
    assert "no finding" in overall["precision"]["undefined"]
    january = data(tmp_path, trials, "--location-rule", "release-2026-01")
    assert (january["dropped"], january["reviewers"][0]["overall"]["line"]["comments"]) == (1, 0)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--judge", "bugs"], 1, "cr-evaluator answers with BUG_HIT"),
        (["--judge", "nobody"], 1, "names no judge 'nobody'"),
        (["--plan"], 2, "--plan is about a judge"),
        (["--judge", "equal-texts", "--jobs", "2"], 2, "--jobs is about a judge"),
        (["--by", "colour"], 2, "no comment has a label of 'colour'; the dimensions are context, language, repo"),
    ],
)
def test_bad_options_are_one_sentence(
    tmp_path: Path, provider: ScriptedProvider, options: list[str], code: int, words: str
) -> None:
    found, output = match(tmp_path, [trial("alpha", REVIEW)], *options)
    assert (found, words in output) == (code, True), output
    assert provider.asked == []


def test_a_judge_names_the_categories_of_findings(tmp_path: Path, provider: ScriptedProvider) -> None:
    def sort(asked: Asked) -> Reply:
        text = asked.body["messages"][0]["content"].partition("----- begin ")[2]
        assert "on the whole pull request" not in text
        return say(json.dumps({"classification": "SECURITY" if "apple" in text else "DEFECT"}), pieces=1)

    provider.script = sort
    categories = ("Security Vulnerability", "Code Defect", "Code Defect")
    one = trial("alpha", [finding(10, "apple"), finding(41, "plum"), finding(5, "fig")])
    comments = (
        dataclasses.replace(comment, labels={"category": category})
        for comment, category in zip(one.comments, categories, strict=True)
    )
    one = dataclasses.replace(one, comments=tuple(comments))
    code, output = match(tmp_path, [one], "--categories", "sorter", "--plan")
    assert (code, "sorter: 3 votes, 0 stored" in output) == (0, True), output
    found = data(tmp_path, [one], "--categories", "sorter")
    assert (found["categories"], len(provider.asked)) == ("sorter", 3)
    slices = found["reviewers"][0]["by_label"]["category"]
    rates = {
        label: (own["line"]["recall"]["value"], own["line"]["precision"]["value"]) for label, own in slices.items()
    }
    assert rates == {"Security Vulnerability": (1.0, 1.0), "Code Defect": (0.5, 0.5)}
    assert "not compared with labels by people" in match(tmp_path, [one], "--categories", "sorter")[1]
