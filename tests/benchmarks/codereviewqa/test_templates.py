"""The release's prompts: read from a checkout, kept in the set, filled in and sent as they are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click.testing
import pytest

from pytest_crab.benchmarks.codereviewqa.choices.questions import questions_of
from pytest_crab.benchmarks.codereviewqa.choices.templates import read_release, templates_of
from pytest_crab.benchmarks.codereviewqa.reader import codereviewqa
from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instances
from pytest_crab.testing.provider import Asked, Reply, ScriptedProvider, say
from tests.benchmarks.codereviewqa.test_codereviewqa import DELETION, row, write

#: A checkout has constants of these names; the texts are of this test.
SOURCE = """
import re  # imports nothing that runs
ctr_prompt = "{lang}|{code_snippet}|{code_review}|kind? A {option_a} B {option_b} C {option_c} >"
cl_prompt = "{code_snippet}|{code_review}|{ct} where? A {option_a} B {option_b} C {option_c} D {option_d} >"
si_prompt = "{code_snippet}|{code_review}|how? A{option_a} B{option_b} C{option_c} D{option_d} >"
ct_formatter = {"add_only": "ADD", "remove_only": "DROP", "modify": "ALTER"}
raise SystemExit("reading it is not running it")
"""


def checkout(folder: Path, source: str = SOURCE) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "utils.py").write_text(source)
    return folder


def import_set(folder: Path, *rows: dict[str, Any]) -> Path:
    """Make a set with the templates by the command."""
    out = folder / "set"
    options = [str(write(folder, *rows)), "--out", str(out), "--templates", str(checkout(folder / "release"))]
    result = click.testing.CliRunner().invoke(codereviewqa, options)
    assert result.exit_code == 0, result.output
    return out


def test_the_set_keeps_the_templates_and_each_order_fills_them_in(tmp_path: Path) -> None:
    out = import_set(tmp_path, row(review=" Why {0}? "), row(**DELETION))
    first, deletion = load_instances(out)
    templates = templates_of(first)
    assert templates is not None
    code = "1 def total(prices):\n2     return sum(prices) / 0\n3 \n4 \n5 "
    asked = {
        probe: [question.prompt for question in questions_of(first, probe, templates.fill)]
        for probe in ("change-type", "lines-hard", "solution-easy")
    }
    assert asked["change-type"][0] == f"Python|{code}| Why {{0}}? |kind? A ALTER B ADD C DROP >"
    assert asked["lines-hard"][-1] == f"{code}| Why {{0}}? |ALTER where? A 5 B 3 C 1 D 2 >"
    right = "2-    return sum(prices) / 0\n2+    return sum(prices)"
    assert asked["solution-easy"][0] == f"{code}| Why {{0}}? |how? A\n{right} B\na C\nb D\nc >"
    assert {len(set(prompts)) for prompts in asked.values()} == {6, 24}
    assert "|DROP where?" in str(questions_of(deletion, "lines-easy", templates.fill)[0].prompt)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = 1", "no constant ctr_prompt"),
        ("ctr_prompt = (", "name a folder with a checkout"),
        (SOURCE.replace("{option_c} >", ">", 1), "ctr_prompt has the fields"),
        (SOURCE.replace("{ct}", "{code_review.__class__}"), "cl_prompt has the fields"),
        (SOURCE.replace('"add_only": "ADD", ', ""), "ct_formatter"),
        (SOURCE.replace('"ADD"', "str(1)"), "name a folder with a checkout"),
    ],
)
def test_a_checkout_without_usable_templates_is_a_sentence(tmp_path: Path, source: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_release(checkout(tmp_path, source))


CRAB_YAML = """\
models:
  providers: {{here: {{base_url: "{url}", api: openai}}}}
  prices: {{m: {{input: 1, output: 2}}}}
answerers:
  raw: {{use: log-probabilities, model: m, provider: here, endpoint: completions}}
  chat: {{use: log-probabilities, model: m, provider: here}}
"""


def test_completions_send_the_release_prompt_alone_and_each_table_says_whose_words_were_asked(
    pytester: pytest.Pytester,
) -> None:
    out = import_set(pytester.path, row())
    prompts: list[str] = []

    def script(asked: Asked) -> Reply:
        if "prompt" not in asked.body:
            return say("A", log_probabilities={"A": -0.1, "B": -2.0}, usage={"input": 1, "output": 1})
        prompts.append(str(asked.body["prompt"]))
        letter = prompts[-1].partition(" ALTER")[0][-1]
        return say("D", log_probabilities={letter: -3.0, "the": -0.1}, usage={"input": 1, "output": 1})

    with ScriptedProvider() as provider:
        provider.script = script
        pytester.path.joinpath("crab.yaml").write_text(CRAB_YAML.format(url=provider.openai_url))
        options = ("--answerer=raw", "--answerer=chat", "--crab-probe=change-type", str(out))
        result = pytester.runpytest(*options)
    result.assert_outcomes(passed=1, failed=1)
    (instance,) = load_instances(out)
    templates = templates_of(instance)
    assert templates is not None
    expected = {question.prompt for question in questions_of(instance, "change-type", templates.fill)}
    assert set(prompts) == expected
    result.stdout.fnmatch_lines(
        [
            "Answers of raw (log-probabilities, release)*",
            "Answers of chat (log-probabilities, ours)*",
            "raw *release*",
            "chat *ours*",
        ]
    )
    report = pytester.path / ".crab" / "report"
    records = {one["answerer"]: one for one in map(json.loads, (report / "probes.jsonl").read_text().splitlines())}
    assert {name: one["wording"] for name, one in records.items()} == {"raw": "release", "chat": "ours"}
    from pytest_crab.benchmarks.codereviewqa.stored_runs import comprehension

    printed = click.testing.CliRunner().invoke(comprehension, [str(report)]).output
    assert re.findall(r"log-probabilities +(\w+)", printed) == ["release", "ours"]
