"""Reviews merged into a set by a scripted judge with five votes: what is kept, what is a duplicate, and the record."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.aacr.reader import import_aacr
from pytest_crab.cli import main
from pytest_crab.instances import load_instances
from pytest_crab.results.files import write_trials
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, fail, say
from pytest_crab.types import Finding, Provenance, Review, Trial

NAME = "one__app@1111111"
DIFF = "diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n" + "".join(
    f"@@ -{start},0 +{start},9 @@\n" + "".join(f"+line {start + at}\n" for at in range(9)) for start in (1, 101)
)
CRAB_YAML = """\
models:
  providers: {{anthropic: {{base_url: "{url}"}}}}
  retries: 0
judges:
  pairs: {{use: same-concern, model: scripted}}
"""


def finding(line: int | None, body: str, path: str | None = "a.c") -> Finding:
    return Finding(body=body, path=path, start=line)


#: apple is the set's own comment, in the first hunk.
REVIEWS = {
    "alpha": [
        finding(2, "About apple."),
        finding(3, "About pear."),
        finding(102, "About apple."),
        finding(None, "?", None),
    ],
    "beta": [finding(5, "About pear."), finding(6, "About fig."), finding(103, "About plum.")],
}


def answer(asked: Asked) -> Reply:
    """The same concern where both name one fruit; of a fig the votes are split."""
    fruits = re.findall(r"About (\w+)\.", asked.body["messages"][0]["content"].partition("----- begin ")[2])
    word = "SAME" if fruits[0] == fruits[1] else "DIFFERENT"
    if "fig" in fruits:
        answer.figs += 1  # type: ignore[attr-defined]
        word = ("SAME", "DIFFERENT", "MAYBE", "SAME", "DIFFERENT")[answer.figs % 5]  # type: ignore[attr-defined]
    return say(json.dumps({"classification": word, "reason": "r"}), pieces=1)


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedProvider]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-in-a-judge")
    monkeypatch.chdir(tmp_path)
    comment = {"is_ai_comment": False, "note": "About apple.", "path": "a.c", "side": "right", "from_line": 4}
    row = {
        "githubPrUrl": "https://github.com/one/app/pull/1",
        "source_commit": "b" * 40,
        "target_commit": "1" * 40,
        "project_main_language": "C",
        "comments": [comment],
    }
    (tmp_path / "rows.json").write_text(json.dumps([row]))
    import_aacr(tmp_path / "rows.json", tmp_path / "set")
    (tmp_path / "set" / "crab.lock").write_text("old\n")
    known: dict[str, Any] = {"repo": "one/app", "provenance": Provenance.GITHUB, "agent": "none", "runtime": "local"}
    trials = [
        Trial(instance=NAME, reviewer=reviewer, review=Review(findings=tuple(findings)), **known)
        for reviewer, findings in REVIEWS.items()
    ]
    (tmp_path / "report" / "instances").mkdir(parents=True)
    write_trials(tmp_path / "report" / "trials.jsonl", trials)
    subject = {"schema": 1, "instance": NAME, "repo": "one/app", "language": "c", "title": "T", "diff": DIFF}
    (tmp_path / "report" / "instances" / f"{NAME}.json").write_text(json.dumps(subject))
    answer.figs = -1  # type: ignore[attr-defined]
    with ScriptedProvider() as provider:
        provider.script = answer
        (tmp_path / "crab.yaml").write_text(CRAB_YAML.format(url=provider.anthropic_url))
        yield provider


def augment(*options: str) -> tuple[int, str]:
    arguments = ["set", "augment", "set", "--reviews", "report", "--judge", "pairs", "--jobs", "1", *options]
    result = CliRunner().invoke(main, arguments)
    return result.exit_code, result.output


@pytest.mark.slow(reason="several runs of pytest make the reviews")
def test_duplicates_go_and_every_decision_is_on_record(tmp_path: Path, provider: ScriptedProvider) -> None:
    code, output = augment("--plan")
    # first hunk: apple, apple, pear, pear, fig with the set's comment first (10 pairs); second: apple and plum
    assert (code, "55 votes, 0 stored" in output) == (0, True), output
    assert "165 votes, 0 stored" in augment("--plan", "--check-judge")[1]
    code, output = augment("--out", "grown")
    assert code == 0, output
    assert len(provider.asked) == 55
    assert "pairs: 55 judgements asked and stored" in output
    assert "not compared with labels by people" in output
    (instance,) = load_instances(tmp_path / "grown")
    bodies = {comment.id: comment.body for comment in instance.comments}
    assert bodies == {
        "c0": "About apple.",
        "c1": "About pear.",
        "c2": "About apple.",  # in another hunk, so it was not compared
        "c3": "About fig.",
        "c4": "About plum.",
    }
    new = instance.comments[1]
    assert new.labels == {"language": "C", "origin": "alpha", "side": "right", "annotation": "candidate"}
    assert not (tmp_path / "grown" / "crab.lock").exists()
    lines = [json.loads(line) for line in (tmp_path / "grown" / "augmentation.jsonl").read_text().splitlines()]
    pairs, fates = [one for one in lines if "one" in one], {one["finding"]: one for one in lines if "finding" in one}
    assert len(pairs) == 11
    assert {sum(pair["votes"].values()) for pair in pairs} == {5}
    assert Counter(pair.get("label") for pair in pairs) == {"SAME": 2, "DIFFERENT": 5, None: 4}
    assert (fates["alpha:0"]["duplicate_of"], fates["beta:0"]["duplicate_of"]) == ("c0", "c1")
    assert fates["alpha:1"]["found_by"] == ["alpha", "beta"]
    assert fates["beta:1"]["undecided"] == ["c0", "c1"]
    assert "no file" in fates["alpha:3"]["left_out"]
    code, again = augment("--out", "checked", "--check-judge")
    assert (code, len(provider.asked)) == (0, 165), again
    assert "the label of 0 of 7 questions changes if the question is swapped" in again
    assert "4 by 1, 1 by 2" in output  # apple by alpha, pear by both, and three by one each


@pytest.mark.slow(reason="a set is augmented three times")
def test_an_interrupted_augmentation_goes_on_where_it_was(tmp_path: Path, provider: ScriptedProvider) -> None:
    def fail_late(asked: Asked) -> Reply:
        return answer(asked) if len(provider.asked) <= 4 else fail(500)

    provider.script = fail_late
    code, output = augment("--votes", "1", "--out", "first")
    assert code == 0, output
    assert "11 pairs compared, 7 without a decision" in output
    provider.script = answer
    asked = len(provider.asked)
    code, output = augment("--votes", "1", "--out", "second")
    assert (code, len(provider.asked) - asked) == (0, 7), output
    code, output = augment("--votes", "1", "--out", "third")
    assert "no model was asked" in output
    second, third = ((tmp_path / name / "augmentation.jsonl").read_bytes() for name in ("second", "third"))
    assert second == third


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ([], 2, "name the new set with --out"),
        (["--out", "set"], 1, "there is something already"),
        (["--out", "new", "--judge", "nobody"], 1, "names no judge 'nobody'"),
    ],
)
def test_bad_options_are_one_sentence(provider: ScriptedProvider, options: list[str], code: int, words: str) -> None:
    found, output = augment(*options)
    assert (found, words in output, provider.asked) == (code, True, []), output


def test_reviews_of_another_set_are_refused(tmp_path: Path, provider: ScriptedProvider) -> None:
    (tmp_path / "set" / NAME).rename(tmp_path / "set" / "other")
    file = tmp_path / "set" / "other" / "instance.yaml"
    file.write_text(file.read_text().replace(NAME, "other"))
    code, output = augment("--out", "new")
    assert (code, f"no instance {NAME}" in output) == (1, True), output
    assert provider.asked == []
