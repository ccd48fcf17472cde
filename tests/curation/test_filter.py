"""The filter with a scripted judge: labels, votes, doubts, failures; and the gold set."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.curation.gold import (
    TEST,
    TUNING,
    Annotation,
    agreement_lines,
    confusion,
    disagreements,
    gold_labels,
    part_of,
)
from pytest_crab.curation.publish import copies
from pytest_crab.instances import load_instances
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, fail, say
from tests.curation.conftest import URL, Shop

pytestmark = pytest.mark.usefixtures("shop")

Curate = Callable[..., Result]
CRAB_YAML = """\
models:
  providers: {{anthropic: {{base_url: "{url}"}}}}
  retries: 0
  record: false
judges:
  fit: {{use: review-filter, model: scripted, votes: {votes}}}
  domain: {{use: problem-domain, model: scripted}}
curate:
  select: {{rvs: 0.05}}
  filter: {{judge: fit, pull_labels: {{problem_domain: domain}}, precision: {precision}, keep_unknown: {unknown}}}
"""


def words(asked: Asked) -> str:
    return str(asked.body["messages"][0]["content"]).partition("----- begin ")[2]


def answer(asked: Asked) -> Reply:
    """The bug of the caller is fit, the empty list is not; every pull request is a bug fix."""
    text = words(asked)
    label = "BF" if "Title and description" in text else "HIGH" if "hides a bug" in text else "LOW"
    return say(json.dumps({"classification": label, "reason": "r"}), pieces=1)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedProvider]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-in-a-judge")
    with ScriptedProvider() as provider:
        provider.script = answer
        configure(provider)
        yield provider


def configure(provider: ScriptedProvider, *, votes: int = 1, precision: float = 0.0, unknown: str = "true") -> None:
    text = CRAB_YAML.format(url=provider.anthropic_url, votes=votes, precision=precision, unknown=unknown)
    Path("crab.yaml").write_text(text)


def stage(result: Result, name: str, *, status: int = 0) -> dict[str, Any]:
    assert result.exit_code == status, result.output
    return next(one for one in json.loads(result.stdout) if one["stage"] == name)


def test_comments_without_a_label_of_the_kept_ones_go(curate: Curate, provider: ScriptedProvider) -> None:
    first = curate("--json")
    assert "fit: 6 judgements asked and stored, cost not known\n" in first.stderr
    found = stage(first, "filter")
    assert found["comments"] == {
        "in": 6, "kept": 3, "rejected": 3, "failed": 0, "waiting": 0, "reasons": {"labelled LOW": 3},
    }  # fmt: skip
    assert len(provider.asked) == 9  # six comments, three pull requests
    assert "asked and stored" not in curate().output
    assert {one.tags["problem_domain"] for one in load_instances(Path("set"))} == {"BF"}
    assert stage(curate("--json"), "filter") == found
    assert len(provider.asked) == 9


def test_an_answer_that_is_no_label_is_a_doubt_and_not_high(curate: Curate, provider: ScriptedProvider) -> None:
    provider.script = lambda asked: answer(asked) if "hides a bug" in words(asked) else say("Well.", pieces=1)
    found = stage(curate("--json"), "filter")
    assert found["comments"]["kept"] == 6
    doubts = Counter("doubt" in one.labels for each in load_instances(Path("set")) for one in each.comments)
    assert doubts == {True: 3, False: 3}
    configure(provider, unknown="false")
    found = stage(curate("--json"), "filter")
    assert found["comments"]["reasons"] == {"the filter's answer is no label": 3}


def test_a_label_by_two_of_three_votes_is_a_doubt(curate: Curate, provider: ScriptedProvider) -> None:
    configure(provider, votes=3)
    turns: Counter[str] = Counter()

    def split(asked: Asked) -> Reply:
        text = words(asked)
        turns[text] += 1
        return say('{"classification": "LOW"}', pieces=1) if turns[text] == 3 else answer(asked)

    provider.script = split
    assert stage(curate("--json", "--jobs", "1"), "filter")["comments"]["kept"] == 3
    doubts = {one.labels.get("doubt") for each in load_instances(Path("set")) for one in each.comments}
    assert doubts == {"fit: HIGH by 2 of 3 votes"}


def test_a_model_that_does_not_answer_is_a_failure_and_no_decision(curate: Curate, provider: ScriptedProvider) -> None:
    provider.script = fail(500)
    found = stage(curate("--json"), "filter", status=1)
    assert (found["pull_requests"]["failed"], found["pull_requests"]["kept"]) == (3, 0)
    provider.script = answer
    assert stage(curate("--json"), "filter")["pull_requests"]["kept"] == 3


def test_a_judge_without_its_precision_filters_nothing(curate: Curate, provider: ScriptedProvider) -> None:
    assert curate("--stages", "collect,select").exit_code == 0
    configure(provider, precision=0.9)
    refused = curate()
    assert refused.exit_code == 1
    assert "never compared with labels by people" in refused.output
    for name, letters in (("ann", "hlhlhl"), ("bob", "hlhlhh")):
        done = label_by_hand(name, letters)
        assert done.exit_code == 0, done.output
    assert "ann and bob: " in done.output
    resolved = label_by_hand("resolved", "h" * 6)
    assert resolved.exit_code == 0, resolved.output
    found = CliRunner().invoke(main, ["set", "curate", "calibrate", "--out", "set", "--judge", "fit"])
    assert found.exit_code == 0, found.output
    assert re.search(r"^tuning: \d comments", found.output, re.MULTILINE)
    allowed = curate()
    precise = re.search(r"^test: .*precision 100\.0%", found.output, re.MULTILINE)
    assert (allowed.exit_code == 0) == bool(precise), (found.output, allowed.output)


def label_by_hand(name: str, letters: str) -> Result:
    """Give these answers to the comments in the order in which they are shown."""
    lines = "".join(f"{letter}\nbecause\n" for letter in letters)
    return CliRunner().invoke(main, ["set", "curate", "annotate", "--out", "set", "--as", name], input=lines)


KEYS = [("pull", f"c{number}") for number in range(40)]


def test_gold_labels_are_those_that_all_give_or_that_are_resolved() -> None:
    ann = {key: Annotation(candidate=key[0], comment=key[1], label="HIGH") for key in KEYS[:4]}
    bob = {**ann, KEYS[0]: Annotation(candidate="pull", comment="c0", label="LOW")}
    both = {"ann": ann, "bob": bob}
    assert disagreements(both) == [KEYS[0]]
    assert gold_labels(both) == dict.fromkeys(KEYS[1:4], "HIGH")
    solved = {**both, "resolved": {KEYS[0]: Annotation(candidate="pull", comment="c0", label="LOW")}}
    assert gold_labels(solved)[KEYS[0]] == "LOW"
    assert not disagreements(solved)


def test_kappa_of_two_annotators() -> None:
    # 20 of 30 alike of equal shares by either: (20/30 - 1/2) / (1/2) = 1/3
    one = ["HIGH"] * 15 + ["LOW"] * 15
    other = ["HIGH"] * 10 + ["LOW"] * 5 + ["HIGH"] * 5 + ["LOW"] * 10
    people = {
        name: {
            key: Annotation(candidate=key[0], comment=key[1], label=word)
            for key, word in zip(KEYS, words_of, strict=False)
        }
        for name, words_of in (("ann", one), ("bob", other))
    }
    assert next(agreement_lines(people)) == "ann and bob: 20 of 30 comments alike, kappa 0.33"


def test_precision_is_of_what_is_kept_and_parts_do_not_overlap() -> None:
    gold = {key: "HIGH" if at % 2 else "LOW" for at, key in enumerate(KEYS)}
    found: dict[tuple[str, str], str | None] = dict.fromkeys(KEYS, "HIGH")
    found[KEYS[1]] = None
    total = Counter(part_of(key) for key in KEYS)
    assert total[TUNING] + total[TEST] == 40
    for part in (TUNING, TEST):
        own = [key for key in KEYS if part_of(key) == part]
        kept = [key for key in own if found[key]]
        right = sum(gold[key] == "HIGH" for key in kept)
        assert confusion(gold, found, part).precision(["HIGH"]) == right / len(kept)
    assert confusion(gold, dict.fromkeys(KEYS, None), TEST).precision(["HIGH"]) is None


def test_a_set_in_own_words_has_no_text_of_others(shop: Shop, curate: Curate, provider: ScriptedProvider) -> None:
    def restated(asked: Asked) -> Reply:
        text = words(asked)
        reason = (
            "Let a wrong price fail." if "hides a bug" in text else "an empty list should not break the total at all"
        )
        return say(json.dumps({"classification": "CONCERN", "reason": reason}), pieces=1)

    provider.script = restated
    text = CRAB_YAML.partition("curate:")[0].format(url=provider.anthropic_url, votes=1)
    text += "  words: {use: own-words, model: scripted}\n"
    rules = "publish: {own_words: words, licences: [ISC], cutoffs: {old: 2020-01-01, new: 2999-01-01}}"
    Path("crab.yaml").write_text(f"{text}curate:\n  select: {{rvs: 0.05}}\n  {rules}\n")
    found = stage(curate("--json"), "publish")
    assert found["comments"]["reasons"] == {"the restatement copies the comment": 3}
    instances = load_instances(Path("set"))
    assert {one.body for each in instances for one in each.comments} == {"Let a wrong price fail."}
    assert {one.pull_request.body for one in instances} == {""}
    assert [one.pull_request.title for one in instances] == [f"Pull request {n} of owner/shop" for n in (1, 2, 3)]
    texts = [path.read_text() for path in Path("set").rglob("*") if path.is_file()]
    assert not [one for one in texts for row in shop.comments if row["body"] in one]
    assert not [one for one in texts if "Fix number" in one or "Answer 3" in one]
    notes = Path("set/LICENCES.md").read_text()
    assert f"| [owner/shop]({URL}) | MIT | 1, 2, 3 | comments in own words |" in notes
    comment = instances[0].comments[0]
    assert comment.url == shop.comments[0]["html_url"]
    assert comment.labels["contamination-old"] == "after"
    assert comment.labels["contamination-new"] == "before"
    permitted = rules.replace("licences: [ISC], ", "")
    Path("crab.yaml").write_text(f"{text}curate:\n  select: {{rvs: 0.05}}\n  {permitted}\n")
    assert curate().exit_code == 0
    titles = [one.pull_request.title for one in load_instances(Path("set"))]
    assert titles[:2] == ["Fix number 1", "Fix number 2"]
    assert "| 1, 2, 3 | titles, comments in own words |" in Path("set/LICENCES.md").read_text()
    without = rules.replace("own_words: words, ", "")
    Path("crab.yaml").write_text(f"{text}curate:\n  select: {{rvs: 0.05}}\n  {without}\n")
    (reason,) = stage(curate("--json"), "permit")["pull_requests"]["reasons"]  # before anything is paid
    assert "curate.private, curate.publish.licences" in reason
    private = without.replace("publish: {", "private: true\n  publish: {")
    Path("crab.yaml").write_text(f"{text}curate:\n  select: {{rvs: 0.05}}\n  {private}\n")
    result = curate()
    assert result.exit_code == 0, result.output
    (first, *_) = load_instances(Path("set"))
    assert (first.pull_request.title, first.comments[0].body) == ("Fix number 1", shop.comments[0]["body"])


@pytest.mark.parametrize(
    ("text", "restatement", "copied"),
    [
        ("one two three four five six seven eight", "So: one, two three four five six seven EIGHT!", True),
        ("one two three four five six seven eight", "one two three four five six seven nine", False),
        ("one two", "one two", False),
    ],
)
def test_eight_words_in_a_row_are_a_copy(text: str, restatement: str, *, copied: bool) -> None:
    assert copies(text, restatement) is copied
