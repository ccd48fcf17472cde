"""Models in a run: recorded once, replayed from an empty store without a key, within a budget, one gateway for all."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, say

pytestmark = pytest.mark.bubblewrap

BOT = """\
import dataclasses, json
import httpx2
from pytest_crab.errors import ReviewerError
from pytest_crab.types import Finding, Review

@dataclasses.dataclass(frozen=True)
class Bot:
    prompt: str = "Review this."
    times: int = 1

    def identity(self):
        return {"prompt": self.prompt, "times": self.times}

    def review(self, pull_request, checkout):
        said = f"{self.prompt}\\n{pull_request.title}\\n{pull_request.diff}"
        body = {"model": "scripted", "max_tokens": 9, "messages": [{"role": "user", "content": said}]}
        with checkout.services.models() as access:
            transport = httpx2.HTTPTransport(uds=str(access.socket), verify=False)
            with httpx2.Client(transport=transport, headers={"x-api-key": access.token}, timeout=200) as http:
                for _ in range(self.times):
                    answer = http.post("http://gateway/anthropic/v1/messages", json=body)
            if answer.status_code != 200:
                raise ReviewerError(answer.text)
            found = json.loads(answer.json()["content"][0]["text"])
        return Review(findings=tuple(Finding(**each) for each in found), usage=checkout.services.usage(access))
"""

CRAB_YAML = """\
models:
  providers: {anthropic: {base_url: URL}}
  prices: {scripted: {input: 1, output: 10}}
  cassettes: recordings
  retries: 0
reviewers:
  bot: {use: "bot:Bot", prompt: PROMPT}
"""


def review(asked: Asked) -> Reply:
    """A finding where the percent is wrong, for one instance only."""
    found = [{"body": "a percent", "path": "shop.py", "start": 9}] if "Till" in str(asked.body) else []
    return say(json.dumps(found), pieces=1)


@pytest.fixture
def provider(lab: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedProvider]:
    """A provider whose reviewer the folder's crab.yaml knows."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-in-a-run")
    lab.write({"bot.py": BOT})
    monkeypatch.syspath_prepend(lab.path)
    with ScriptedProvider() as provider:
        provider.script = review
        tell(lab, provider)
        yield provider


def tell(lab: Any, provider: ScriptedProvider, prompt: str = "Review this.") -> None:
    lab.write({"crab.yaml": CRAB_YAML.replace("URL", provider.anthropic_url).replace("PROMPT", prompt)})


def test_a_run_is_replayed_without_key_and_provider(
    lab: Any, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("--reviewer=bot", "--agent=simulated", "instances")
    lab.run(*arguments).assert_outcomes(failed=2)
    first = lab.records()
    (usage,) = {json.dumps(trial["review"]["usage"], sort_keys=True) for trial in first}
    assert json.loads(usage) == {
        "input_tokens": 100,
        "output_tokens": 20,
        "cost_usd": 0.0003,
        "requests": 1,
        "tries": 1,
        "models": ["scripted"],
        "asked": ["scripted"],
        "failed_requests": 0,
    }
    assert [trial["scores"][0].get("label") for trial in first] == ["missed", "caught"]
    assert len(provider.asked) == 2
    (ledger,) = (lab.store / "ledger").glob("*.jsonl")
    assert [json.loads(line)["status"] for line in ledger.read_text().splitlines()] == [200, 200]

    lab.forget("review", "revision")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    result = lab.run("--crab-replay", *arguments)
    result.stdout.fnmatch_lines([f"crab: models: recordings in {lab.path}/recordings and nothing else (--crab-replay)"])
    again = lab.records()
    assert [trial["scores"] for trial in again] == [trial["scores"] for trial in first]
    assert {trial["review"]["usage"].pop("tries") for trial in again} == {0}  # no provider was asked
    assert {trial["review"]["usage"].pop("tries") for trial in first} == {1}
    assert [trial["review"] for trial in again] == [trial["review"] for trial in first]
    assert len(provider.asked) == 2

    tell(lab, provider, prompt="Review this!")
    result = lab.run("--crab-replay", *arguments)
    result.assert_outcomes(errors=2)
    difference = ["    -messages[[]0].content: Review this.", "    +messages[[]0].content: Review this!"]
    result.stdout.fnmatch_lines(difference, consecutive=True)
    assert {each["reason"] for trial in lab.records() for each in trial["scores"]} == {"broken"}
    assert len(provider.asked) == 2


def test_what_is_over_the_budget_is_broken_and_the_rest_goes_on_later(lab: Any, provider: ScriptedProvider) -> None:
    arguments = ("--reviewer=bot", "--agent=simulated", "--crab-jobs=1", "instances")
    result = lab.run("--crab-budget=0.0002", *arguments)
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(["crab: models: a budget of 0.0002 USD", "*the budget of the run is spent*"])
    lab.run(*arguments).assert_outcomes(failed=2)
    assert len(provider.asked) == 2


def test_who_spends_what_its_trial_may_cost_has_missed_it(lab: Any, provider: ScriptedProvider) -> None:
    """And is not left out of the rate, as it would be if the world had failed."""
    text = (lab.path / "crab.yaml").read_text()
    changed = text.replace("models:\n", "models:\n  trial_budget: 0.0002\n").replace('bot:Bot",', 'bot:Bot", times: 2,')
    lab.write({"crab.yaml": changed})
    result = lab.run("--reviewer=bot", "--agent=simulated", "instances")
    result.assert_outcomes(failed=2)
    for trial in lab.records():
        assert {(each.get("label"), each["reason"]) for each in trial["scores"]} == {
            ("missed", "over the trial's budget")
        }
        assert (trial["status"], "review" in trial) == ("limit", False)
        assert trial["error"].startswith(f"review: the budget of trial {trial['instance']}::bot is spent (0.0003 of")
    assert len(provider.asked) == 2


def test_what_was_said_in_a_review_that_failed_is_shown(lab: Any, provider: ScriptedProvider) -> None:
    text = (lab.path / "crab.yaml").read_text() + "  asker: {use: single-shot, model: scripted}\n"
    lab.write({"crab.yaml": text})
    provider.script = say("It is fine, I <b>think</b>.")
    result = lab.run("--reviewer=asker", "--agent=simulated", "instances")
    result.assert_outcomes(errors=2)
    first, _ = lab.records()
    name = f"{first['instance']}::asker"
    result.stdout.fnmatch_lines([f"to see what was said: pytest-crab show {name} --transcript"])
    shown = CliRunner().invoke(main, ["show", name, "--transcript", f"--store={lab.store}"])
    assert "text: It is fine, I <b>think</b>." in shown.output
    copies = [path.read_text() for path in (lab.report / "transcripts").glob("*.json")]
    assert len(copies) == 4  # each is asked once more
    assert all("It is fine" in copy for copy in copies)


EDITOR = """
import bot, dataclasses
from pytest_crab.types import Revision

@dataclasses.dataclass(frozen=True)
class Editor(bot.Bot):
    def revise(self, pull_request, findings, checkout):
        return Revision(diff="", usage=self.review(pull_request, checkout).usage)
"""


def test_a_stored_review_counts_towards_what_its_trial_may_cost(lab: Any, provider: ScriptedProvider) -> None:
    lab.write({"editor.py": EDITOR})
    text = (lab.path / "crab.yaml").read_text().replace("models:\n", "models:\n  trial_budget: 0.0004\n")
    lab.write({"crab.yaml": text + 'agents: {editor: {use: "editor:Editor", times: 2}}\n'})
    for asked in (3, 4):  # the second run takes the review from the store, and so asks for the revision alone
        lab.run("--reviewer=bot", "--agent=editor", "instances/till-2").assert_outcomes(failed=1)
        (trial,) = lab.records()
        assert {each["reason"] for each in trial["scores"]} == {"over the trial's budget"}
        assert trial["error"].startswith("revision: the budget of trial till-2::bot is spent (0.0006 of 0.0004 USD)")
        assert len(provider.asked) == asked - 1


@pytest.mark.slow(reason="runs of pytest have workers, which are processes of their own")
def test_workers_of_one_run_share_a_gateway(lab: Any, provider: ScriptedProvider) -> None:
    result = lab.spawn("-n2", "--reviewer=bot", "--agent=simulated", "--crab-budget=5", "instances")
    result.assert_outcomes(failed=2)
    assert len(provider.asked) == 2
    (ledger,) = (lab.store / "ledger").glob("*.jsonl")
    assert len(ledger.read_text().splitlines()) == 2


def heed_interrupts() -> None:
    """What a shell starts in the background ignores them, and so would all that this test starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_ends_what_a_model_is_asked(
    lab: Any, provider: ScriptedProvider, until: Callable[[Callable[[], object]], None]
) -> None:
    provider.script = lambda _: say("late", delay=3600)
    argv = [sys.executable, "-m", "pytest", "--crab-runtime=local", "--reviewer=bot", "--agent=simulated", "instances"]
    with subprocess.Popen(argv, cwd=lab.path, stdout=subprocess.PIPE, preexec_fn=heed_interrupts) as process:  # noqa: PLW1509
        try:
            until(lambda: provider.asked or process.poll() is not None)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert {each["reason"] for trial in lab.records() for each in trial["scores"]} == {"not run"}


def test_the_header_names_an_address_that_the_environment_gives(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    result = lab.run("--reviewer=none", "--collect-only", "instances/shop-1")
    result.stdout.fnmatch_lines(["crab: models: *openai at http://127.0.0.1:9/v1 (OPENAI_BASE_URL)*"])
