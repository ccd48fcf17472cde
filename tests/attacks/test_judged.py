"""Findings with orders meet a judge in a whole command; the judge obeys what stands outside of the data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hostile import judges

from pytest_crab.cli import main
from pytest_crab.results.files import write_trials
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, say
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import Finding, Provenance, Reason, Review


def answer(asked: Asked) -> Reply:
    """Obey an order outside of the data; else say noise, or what a judge that was talked round says."""
    told = asked.body["messages"][0]["content"]
    mark = told.rsplit("----- end ", 1)[1][:16]
    obeyed = judges.obeys(told, f"----- (?:begin|end) {mark} -----")
    talked = next((said for name, said in judges.ANSWERS.items() if f"\n{judges.BODIES[name]}\n" in told), None)
    return say(obeyed if talked is None else talked, pieces=1)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report with one review, of which each finding is an attack."""
    findings = tuple(Finding(body=body, path="shop.py", start=9) for body in judges.BODIES.values())
    trial = trial_of(
        [comment_result("c0", Reason.FAILED, path="shop.py", lines=(9, 9))],
        instance="shop-1",
        repo="o/shop",
        reviewer="hostile",
        agent="mine",
        runtime="local",
        provenance=Provenance.AUTHORED,
        review=Review(findings=findings),
    )
    write_trials(tmp_path / "trials.jsonl", [trial])
    subject = {"schema": 1, "instance": "shop-1", "repo": "o/shop", "language": "python", "title": "T", "diff": "d"}
    comment = {"id": "c0", "path": "shop.py", "lines": [9, 9], "body": judges.ISSUE}
    (tmp_path / "instances").mkdir()
    (tmp_path / "instances" / "shop-1.json").write_text(json.dumps({**subject, "comments": [comment]}))
    return tmp_path


def test_no_order_in_a_finding_makes_it_a_hit(
    report: Path, measured: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(report)
    with ScriptedProvider(answer) as provider:
        (report / "crab.yaml").write_text(
            "judges: {talked: {use: cr-evaluator, model: m, provider: local}}\n"
            f"models: {{providers: {{local: {{base_url: '{provider.openai_url}', api: openai}}}}}}\n"
        )
        done = CliRunner().invoke(main, ["compare-rulers", str(report), "--judge=talked", "--json"])
    assert done.exit_code == 0, done.output
    (judge,) = json.loads(done.output)["judged"]
    labels = [finding.get("label") for finding in judge["findings"]]
    assert labels == ["NOISE"] * 4 + [None] * 2
    sent = "".join(asked.body["messages"][0]["content"] for asked in provider.asked)
    assert len(provider.asked) == len(judges.BODIES)
    ends = re.findall(r"^----- end [0-9a-f]{16} -----$", sent, re.MULTILINE)
    assert len(ends) == len(provider.asked) + 1  # the forged one
    for attack, label in zip(judges.REFUSALS, labels, strict=True):
        becomes = {"NOISE": judges.AS_DATA, None: judges.UNKNOWN}.get(label, f"recorded as {label}")
        measured(attack.name, recorded=becomes)
        assert becomes == attack.becomes
