from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fake_checkout import FakeCheckout
from pytest_crab import agents
from pytest_crab.agents.command import CommandAgent
from pytest_crab.errors import AgentError
from pytest_crab.types import Finding, Revision, Usage

SECRET = "sk-tell-nobody-0123456789"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "house").mkdir()
    return tmp_path / "house"


def make(folder: Path, script: str, **settings: Any) -> CommandAgent:
    (folder / "agent.py").write_text("import json, os, sys\nrequest = json.load(sys.stdin)\n" + script)
    settings = {"command": [sys.executable, "agent.py"], "files": ["agent.py"], **settings}
    agent = agents.AGENTS.make("command", settings, folder)
    assert isinstance(agent, CommandAgent)
    return agent


def revise(checkout: FakeCheckout, agent: CommandAgent) -> Revision:
    return agent.revise(checkout.pull_request(), [Finding(path="numbers.txt", start=2, body="Fix.")], checkout)


def test_its_edits_are_the_revision(folder: Path, checkout: FakeCheckout) -> None:
    script = """
with open(request["findings"][0]["path"], "a") as file:
    file.write("more\\n")
with open("new.txt", "w") as file:
    file.write("new\\n")
os.remove("gone.txt") if os.path.exists("gone.txt") else None
print(json.dumps({"schema": 1, "usage": {"input_tokens": 7}, "notes": "Did it."}))
"""
    revision = revise(checkout, make(folder, script))
    assert "+more\n" in revision.diff
    assert "+++ b/new.txt\n" in revision.diff
    assert revision.usage == Usage(input_tokens=7)
    assert revision.notes == "Did it."
    with checkout.clone() as workspace:
        workspace.apply(revision.diff)
        assert (Path(workspace.root) / "new.txt").read_text() == "new\n"


def test_it_is_told_the_findings_in_their_order(folder: Path, checkout: FakeCheckout) -> None:
    revision = revise(checkout, make(folder, "print(json.dumps({**request, 'schema': 0}))"))
    assert revision.notes is not None
    told = json.loads(revision.notes)
    assert told["findings"] == [{"path": "numbers.txt", "start": 2, "side": "right", "body": "Fix."}]
    assert set(told) == {
        *("schema", "repo", "language", "title", "body", "base", "head", "diff", "base_branch", "root", "findings"),
    }  # fmt: skip


def test_changing_nothing_is_a_revision(folder: Path, checkout: FakeCheckout) -> None:
    assert revise(checkout, make(folder, "pass")) == Revision()


def test_a_failure_is_an_agent_error_and_its_edits_are_gone(folder: Path, checkout: FakeCheckout) -> None:
    with pytest.raises(AgentError, match=r"the command agent .* ended with exit code 1; .*'out of ideas'"):
        revise(checkout, make(folder, "open('x', 'w').close(); sys.exit('out of ideas')"))
    with pytest.raises(AgentError, match="did not end within"):
        revise(checkout, make(folder, "import time; time.sleep(60)", timeout="0.5"))


def test_a_cost_that_none_can_have_is_an_agent_error(folder: Path, checkout: FakeCheckout) -> None:
    with pytest.raises(AgentError, match=r"printed what is no answer: usage: cost_usd is 1e\+308; it should be from 0"):
        revise(checkout, make(folder, "print(json.dumps({'schema': 1, 'usage': {'cost_usd': 1e308}}))"))


def test_a_secret_is_not_in_the_notes(folder: Path, checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", SECRET)
    agent = make(folder, "print('used', os.environ['MODEL_KEY'])", pass_env=["MODEL_KEY"])
    assert revise(checkout, agent).notes == "used [MODEL_KEY]"


def test_reviewer_and_agent_of_the_same_command_have_two_identities(folder: Path) -> None:
    identity = make(folder, "").identity()
    assert identity is not None
    assert identity["adapter"] == "command agent"
