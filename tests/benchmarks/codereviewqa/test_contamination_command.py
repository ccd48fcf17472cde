"""The contamination command against a scripted model that gives the log-probabilities of what it is sent."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.codereviewqa.reader import import_codereviewqa
from pytest_crab.cli import main
from pytest_crab.testing.provider import Asked, Reply, ScriptedProvider, fail, say

CRAB_YAML = """\
models:
  providers:
    here: {{base_url: "{url}", api: openai}}
    other: {{base_url: "{url}", api: anthropic}}
  prices: {{m: {{input: 1, output: 2}}, big: {{input: 1, output: 2}}}}
  retries: 0
answerers:
  small: {{use: log-probabilities, model: m, provider: here, endpoint: completions}}
  large: {{use: letters, model: big, provider: here}}
  foreign: {{use: letters, model: m, provider: other}}
  fixed: {{use: constant, letter: B}}
"""

ROW = {
    "old": " int total(int n) {\n-  return 1;\n }",
    "new": " int total(int n) {\n+  return n;\n }",
    "type_correct": "modify",
    "type_wrong": ["add_only", "remove_only"],
    "loc_correct": [2],
    "loc_wrong_easy": [[1], [3], [0]],
    "loc_wrong_hard": [[3], [1], [0]],
    "solution_correct": "2+ return n;",
    "solution_wrong_easy": list("abc"),
    "solution_wrong_hard": list("def"),
}


class Model:
    """Gives each word a log-probability, and knows some words: these are the likeliest where they stand."""

    def __init__(self) -> None:
        self.scored: dict[str, list[tuple[str, Mapping[str, float]]]] = {}
        self.most = math.inf
        self.late = False

    def __call__(self, asked: Asked) -> Reply:
        text = str(asked.body["prompt"])
        if text.startswith("one two"):
            return self.count(text)
        if len(self.scored) >= self.most:
            return fail(500)
        draw = random.Random(text)
        words = re.findall(r"\s*\S+|\s+$", text)
        self.scored[text] = [
            (word, {word: draw.uniform(-4, -2), "?": draw.choice([-5, -5, -5, -5, -1])}) for word in words
        ]
        usage = {"input": len(words), "output": 1}
        return say("!", echoed=self.scored[text], log_probabilities={"!": -0.5}, usage=usage)

    def count(self, text: str) -> Reply:
        """Answer the two texts that are asked first; ``late``: as a server that is one place too late."""
        *words, end = re.findall(r" ?\S+", text)
        best = " nine" if self.late and end == " eight" else " eight"
        known = {end: -3.0, best: -0.1}
        tokens = [*((word, {word: -0.1}) for word in words), (end, known)]
        return say("!", echoed=tokens, log_probabilities={"!": -0.5}, usage={"input": 8, "output": 1})


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def provider(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedProvider]:
    """A set of two rows in two languages, 12 texts, and a provider in crab.yaml beside it."""
    monkeypatch.chdir(tmp_path)
    rows = [{**ROW, "lang": lang, "review": f"Why is this one, in {lang}?"} for lang in ("c", "csharp")]
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    import_codereviewqa(Path("rows.jsonl"), Path("probes"))
    with ScriptedProvider(model) as provider:
        Path("crab.yaml").write_text(CRAB_YAML.format(url=provider.openai_url))
        yield provider


def run(*options: str) -> tuple[int, str]:
    told = CliRunner().invoke(main, ["benchmark", "codereviewqa", "contamination", "probes", *options])
    return told.exit_code, told.output


def by_hand(scored: list[tuple[str, Mapping[str, float]]]) -> tuple[float, float]:
    """Perplexity, and the share of places from which the model would write the next five words."""
    values = [known[word] for word, known in scored[1:]]
    right = [max(known, key=lambda word: known[word]) == word for word, known in scored[1:]]
    grams = [right[at : at + 5] == [True] * 5 for at in range(len(right) - 4)]
    return math.prod(math.exp(value) for value in values) ** (-1 / len(values)), sum(grams) / len(grams)


def test_the_table_has_what_one_computes_by_hand_from_the_answers(model: Model, provider: ScriptedProvider) -> None:
    code, output = run("--answerer=small", "--json")
    assert code == 0, output
    (found,) = json.loads(output)
    assert len(model.scored) == 12
    ends = {
        "refinement": "Revised code:\nint total(int n) {\n  return n;\n}",
        "solution-easy": "A. 2+ return n;\nB. a\nC. b\nD. c",
    }
    for task, end in ends.items():
        texts = [scored for text, scored in model.scored.items() if text.endswith(end)]
        assert len(texts) == 2
        pairs = [by_hand(scored) for scored in texts]
        whole = found["tasks"][task]["all"]
        assert whole["perplexity"] == pytest.approx(sum(pair[0] for pair in pairs) / 2)
        assert whole["all_grams"] == pytest.approx(sum(pair[1] for pair in pairs) / 2)
    assert 0 < found["tasks"]["all probes"]["all"]["all_grams"] < 1
    assert [found["tasks"]["all probes"][name]["texts"] for name in ("c", "csharp", "all")] == [5, 5, 10]
    body = provider.asked[-1].body
    assert (body["echo"], body["logprobs"], body["max_tokens"]) == (True, 1, 1)


def test_scores_are_planned_stored_and_paid_for_once(model: Model, provider: ScriptedProvider) -> None:
    assert re.search(
        r"small: 12 text scores, 0 stored, 12 to ask, .* two short texts", run("--answerer=small", "--plan")[1]
    )
    assert not provider.asked
    model.most = 5
    code, output = run("--answerer=small", "--jobs=1")
    assert code == 0, output
    assert "small: 5 text scores asked and stored" in output
    assert "; 7 text scores failed: " in output
    assert "small: 7 texts that the model did not score left out of these means" in output
    model.most = math.inf
    code, again = run("--answerer=small", "--scale=large=big", "--answerer=large")
    assert "small: 7 text scores asked and stored" in again
    assert len([asked for asked in provider.asked if asked.body["model"] == "m"]) == 5 + 7 + 7 + 2 * 2  # seven failed
    names = ["big", "large", "other", "small"]
    assert [line.strip() for line in again.splitlines() if line.strip() in names] == names * 2
    _, last = run("--answerer=small")
    assert "small: no model was asked, every text score was stored" in last
    rows = last.splitlines()[3:11]
    assert rows[0].strip() == "small"
    assert "\n".join(rows) in again


@pytest.mark.parametrize(
    ("answerer", "reply", "said"),
    [
        ("small", None, "echo and logprobs"),
        ("small", say("text without an echo", log_probabilities={"text": -1.0}), "does not repeat the text"),
        ("small", fail(404, "no such path"), "no such path"),
        ("foreign", None, "its api should be openai"),
        ("fixed", None, "constant asks no model"),
        ("nobody", None, "its answerers are small"),
    ],
)
def test_what_gives_no_log_probabilities_is_one_sentence(
    provider: ScriptedProvider, answerer: str, reply: Reply | None, said: str
) -> None:
    provider.script = reply or say("text")
    code, output = run(f"--answerer={answerer}")
    assert (code, said in output) == (1, True), output
    assert output.count("\n") <= 1 + output.count("\n  ")
    assert len(provider.asked) <= 1


def test_a_server_that_is_one_place_too_late_is_refused(model: Model, provider: ScriptedProvider) -> None:
    model.late = True
    code, output = run("--answerer=small")
    assert (code, "place behind it" in output) == (1, True), output
    assert not model.scored


def test_a_set_without_rows_is_one_sentence(provider: ScriptedProvider, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    told: Any = CliRunner().invoke(main, ["benchmark", "codereviewqa", "contamination", "empty", "--answerer=small"])
    assert (told.exit_code, "no row of CodeReviewQA" in told.output) == (1, True)
