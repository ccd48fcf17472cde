"""The page on rulers: its command measures one review set by tests, place, similarity and two judges, on one page."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, say

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "rulers.md"

#: One of the set, so that the command takes seconds.
INSTANCE = "logparse-37-summary"

CRAB_YAML = """\
models:
  providers: {local: {base_url: 'URL', api: openai}}
  prices: {claude-sonnet-4-5: {input: 3, output: 15}, gpt-5.2: {input: 2, output: 14}}
judges:
  sonnet: {use: cr-evaluator, model: claude-sonnet-4-5, provider: local}
  gpt: {use: swe-prbench, model: gpt-5.2, provider: local}
"""

RULERS = ("oracles", "location", "bleu-4", "rouge-l", "chrf", "sonnet", "gpt")


def label(asked: Asked) -> Reply:
    """A hit where the finding is the human comment itself; the second judge confirms nothing."""
    parts = re.split(r"\n\[\w+\] [^\n]*\n", asked.body["messages"][0]["content"])
    same = parts[-2].strip() == parts[-1].partition("\n-----")[0].strip()
    if asked.body["model"] == "gpt-5.2":
        return say(json.dumps({"classification": "PLAUSIBLE", "actionability": 3, "reason": "r"}), pieces=1)
    return say(json.dumps({"classification": "BUG_HIT" if same else "NOISE", "reason": "r"}), pieces=1)


@pytest.mark.slow(reason="every ruler measures every review of a set")
@pytest.mark.bubblewrap
def test_one_command_measures_a_review_set_by_every_ruler(
    tmp_path: Path, run_page: Callable[..., None], environ: Callable[..., dict[str, str]]
) -> None:
    pytest.importorskip("sacrebleu")
    pytest.importorskip("rouge_score")
    for name in ("projects", INSTANCE):
        shutil.copytree(ROOT / "instances/quickstart" / name, tmp_path / "instances/quickstart" / name)
    with ScriptedProvider(label) as provider:
        (tmp_path / "crab.yaml").write_text(CRAB_YAML.replace("URL", provider.openai_url))
        run_page(PAGE, tmp_path, environ(CRAB_PROOF_RUNS="1"))
        asked = len(provider.asked)
    report = tmp_path / ".crab" / "report"
    trials = [json.loads(line) for line in (report / "trials.jsonl").read_text().splitlines()]
    assert {trial["reviewer"] for trial in trials} == {"ruff", "human", "none"}
    for trial in trials:
        assert set(trial["versions"]["rulers"]) == set(RULERS)
        assert {score["scorer"] for score in trial["scores"] if score["unit"] == "comment"} == set(RULERS)
    summary = json.loads((report / "summary.json").read_text())
    means = {
        one["reviewer"]: {name: own["mean"] for name, own in one["by_ruler"].items()} for one in summary["reviewers"]
    }
    assert (means["human"]["oracles"], means["human"]["location"], means["human"]["sonnet"]) == (1.0, 1.0, 1.0)
    assert (means["human"]["gpt"], means["none"]["oracles"], means["none"]["sonnet"]) == (0.0, 0.0, 0.0)
    section = (report / "index.html").read_text().partition('<section id="rulers"')[2].partition("</section>")[0]
    for name in ("tests", *RULERS[1:], "not compared with labels by people"):
        assert name in section, name
    assert asked == len(list((tmp_path / ".crab" / "steps" / "judgement").rglob("*.json"))) > 0
