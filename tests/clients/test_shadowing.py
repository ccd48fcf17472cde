"""Clients written in Python import nothing of a pull request, and read none of its configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from test_scenarios import is_paid, keeps_no_key

from pytest_crab.agents import mini
from pytest_crab.errors import AgentError
from pytest_crab.testing.provider import run, say, turns

pytestmark = pytest.mark.bubblewrap

#: Modules that the clients import, their own among them.
NAMES = ("typer", "jinja2", "requests", "rich", "pydantic", "click", "litellm", "yaml", "dotenv", "minisweagent")
TRAP = (
    "import os\nopen(os.path.join(os.path.dirname(__file__), 'SENTI' + 'NEL-module'), 'w').close()\nraise SystemExit\n"
)
HOSTILE = {
    **{f"{name}.py": TRAP for name in NAMES},
    "sitecustomize.py": TRAP,
    ".env": "OPENAI_API_BASE=http://127.0.0.1:9/v1\nOPENAI_BASE_URL=http://127.0.0.1:9/v1\nLITELLM_MODE=DEV\n",
    "mini.yaml": "agent:\n  system_template: SENTINEL-config\n  instance_template: SENTINEL-config\n",
    ".pr_agent.toml": '[pr_reviewer]\nextra_instructions = "SENTINEL-toml"\n',
    "pyproject.toml": '[tool.pr-agent.pr_reviewer]\nextra_instructions = "SENTINEL-pyproject"\n',
}
DONE = turns(run("printf 'x = 1\\n' > new.py"), run("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"))
REVIEW = "review:\n  key_issues_to_review: []\n  security_concerns: |\n    No\n"


def seen(desk: Any, data: str, diff: str = "") -> set[str]:
    """What of the hostile files shows in the tree, and in the requests before the ``data`` that quotes them."""
    bodies = [json.dumps(dict(asked.body)) for asked in desk.provider.asked]
    assert bodies
    assert all(data in body for body in bodies)
    told = "".join(body.partition(data)[0] for body in bodies)
    return set(re.findall(r"SENTINEL-[a-z-]+", told + diff))


@pytest.mark.client("mini")
def test_mini_works_beside_modules_of_its_own_names(
    make_desk: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(extra=HOSTILE)
    revision = desk.revise("mini", DONE)
    is_paid(desk, revision)
    keeps_no_key(desk, set())
    assert "+x = 1" in revision.diff
    assert seen(desk, "----- begin", revision.diff) == set()
    monkeypatch.setattr(mini, "ISOLATION", ())
    with pytest.raises(AgentError):
        desk.revise("mini", DONE)
    assert desk.provider.asked == []


@pytest.mark.client("pr-agent")
def test_pr_agent_reviews_beside_modules_of_its_own_names(make_desk: Callable[..., Any]) -> None:
    desk = make_desk(extra=HOSTILE)
    assert desk.review("pr-agent", turns(say(REVIEW)), **{"in": "workspace"}).findings == ()
    assert seen(desk, "## File: ") == set()
