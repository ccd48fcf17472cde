"""A run that cannot work says so before anything runs, or stops after its first trials failed alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_crab.testing.provider import ScriptedProvider, fail, say

pytestmark = pytest.mark.bubblewrap

USAGE = pytest.ExitCode.USAGE_ERROR

CRAB_YAML = """\
models:
  providers:
    anthropic: {base_url: URL}
    spare: {base_url: URL, api: anthropic}
  retries: 0
  record: false
reviewers:
  asker: {use: single-shot, model: scripted}
  other: {use: single-shot, model: scripted, provider: spare, options: {temperature: 0.5}}
  lost: {use: single-shot, model: scripted, provider: nowhere}
  mixed: {use: single-shot, model: scripted, api: openai}
agents:
  lost: {use: tool-loop, model: scripted, provider: nowhere}
  loop: {use: tool-loop, model: scripted}
"""


@pytest.fixture
def provider(lab: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedProvider]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-in-a-run")
    with ScriptedProvider() as provider:
        lab.write({"crab.yaml": CRAB_YAML.replace("URL", provider.anthropic_url)})
        yield provider


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("--reviewer=lost", "--agent=simulated"),
            "ERROR: reviewer lost: 'nowhere' is no provider; use one of anthropic, openai, spare, *models.providers*",
        ),
        (("--reviewer=human", "--agent=lost"), "ERROR: agent lost: 'nowhere' is no provider; *"),
        (
            ("--reviewer=mixed", "--agent=simulated"),
            "ERROR: reviewer mixed: api is openai, and the provider anthropic speaks anthropic; *",
        ),
    ],
)
def test_a_provider_that_is_none_is_a_usage_error(
    lab: Any, provider: ScriptedProvider, arguments: tuple[str, ...], sentence: str
) -> None:
    result = lab.run(*arguments, "instances")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines([sentence])
    assert provider.asked == []


def test_a_key_that_is_not_set_is_a_usage_error_unless_nothing_needs_it(
    lab: Any, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("--reviewer=asker", "--agent=simulated", "instances")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    result = lab.run(*arguments)
    assert result.ret == USAGE
    (result.stdout if "asker asks" in str(result.stdout) else result.stderr).fnmatch_lines(
        ["*reviewer asker asks anthropic, and ANTHROPIC_API_KEY is not set*"]
    )
    assert lab.run("--reviewer=human", "--agent=loop", "instances").ret == USAGE
    assert lab.run("--collect-only", *arguments).ret == 0
    assert provider.asked == []

    provider.script = say("[]")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-in-a-run")
    lab.run(*arguments).assert_outcomes(failed=2)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    lab.run(*arguments).assert_outcomes(failed=2)  # all of it is stored
    assert len(provider.asked) == 2


def test_a_run_that_is_refused_leaves_the_report_of_the_run_before_it(
    lab: Any, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.run("--reviewer=human", "--agent=simulated", "instances")
    report = lab.report
    before = {path.name: path.read_bytes() for path in report.iterdir() if path.is_file()}
    assert "trials.jsonl" in before
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert lab.run("--reviewer=asker", "--agent=simulated", "instances").ret == USAGE
    assert {path.name: path.read_bytes() for path in report.iterdir() if path.is_file()} == before


def verdicts(lab: Any) -> list[tuple[str, str]]:
    return [(trial["reviewer"], trial["scores"][0]["reason"]) for trial in lab.records()]


@pytest.mark.slow(reason="two runs of pytest with a gateway each")
def test_a_run_stops_after_its_first_trials_failed_alike(lab: Any, provider: ScriptedProvider) -> None:
    provider.script = fail(401, "no such key")
    arguments = ("--reviewer=asker", "--agent=simulated", "--crab-jobs=1", "instances")
    result = lab.run("--crab-give-up=1", "--crab-repeat=3", "-rs", *arguments)
    result.assert_outcomes(errors=1, skipped=5)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert len(provider.asked) == 1
    assert verdicts(lab) == [("asker", "reviewer error"), *[("asker", "not run")] * 5]
    told = lab.records()[-1]["error"]
    assert told.startswith("given up on asker: its first trial failed (reviewer asker: scripted ended as auth")
    assert "no such key" in told
    assert sum("given up on asker" in line for line in result.outlines if line.startswith("crab: ")) == 1

    result = lab.run("--crab-give-up=0", *arguments)
    result.assert_outcomes(errors=2)


def test_one_reviewer_is_given_up_and_the_other_goes_on(lab: Any, provider: ScriptedProvider) -> None:
    provider.script = lambda asked: say("[]") if "temperature" in asked.body else fail(401, "no such key")
    arguments = ("--crab-give-up=1", "--crab-jobs=1", "--agent=simulated", "instances")
    lab.run("--reviewer=asker", "--reviewer=other", *arguments).assert_outcomes(errors=1, skipped=1, failed=2)
    assert sorted(verdicts(lab)) == [
        ("asker", "not run"),
        ("asker", "reviewer error"),
        ("other", "no findings"),
        ("other", "no findings"),
    ]


def test_no_gate_passes_where_a_reviewer_was_given_up(lab: Any, provider: ScriptedProvider) -> None:
    provider.script = fail(401, "no such key")
    gate = ("--crab-fail-under=0", "--crab-runtime=local", "--agent=loop", "--crab-jobs=1")
    result = lab.run("--crab-give-up=1", "--reviewer=asker", *gate, "instances")
    assert result.ret != 0
    assert json.loads((lab.report / "summary.json").read_text())["gate"]["ruling"] == "inconclusive"
