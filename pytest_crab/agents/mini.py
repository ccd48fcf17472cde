"""mini-swe-agent as a coding agent: inside the instance's own environment, and what counts is the tree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import ClassVar

from pytest_crab.clients.prompting import prompt
from pytest_crab.clients.running import ClientSettings
from pytest_crab.clients.running import Session
from pytest_crab.clients.running import ending
from pytest_crab.clients.running import last_words
from pytest_crab.errors import AgentError
from pytest_crab.errors import ReviewerError
from pytest_crab.protocols import Checkout
from pytest_crab.protocols import Completed
from pytest_crab.types import Finding
from pytest_crab.types import PullRequest
from pytest_crab.types import Revision

#: Its task is an argument, and a long one would be longer than the system takes; so it is put there from within.
_START = """\
import sys
sys.argv = ["mini", *sys.argv[1:], "-t", sys.stdin.read()]
from minisweagent.run.mini import app
app()
"""
_READ = 'cat "$1/trajectory.json" 2>/dev/null'


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniAgent(ClientSettings):
    """Runs ``mini`` with a provider that speaks OpenAI's chat/completions; ``max_turns`` is its own limit on steps."""

    client: ClassVar[str] = "mini"
    role: ClassVar[str] = "agent"
    failure: ClassVar[type[ReviewerError | AgentError]] = AgentError

    provider: str = "openai"
    max_turns: int = 250
    simulated: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        super(MiniAgent, self).__post_init__()
        if not self.model:
            raise ValueError("model is missing; mini has none of its own")

    def revise(self, pull_request: PullRequest, findings: Sequence[Finding], checkout: Checkout) -> Revision:
        """What mini changes. Raises AgentError, GatewayError, Cancelled, EngineError."""
        with self.session(checkout) as session:
            python = str(session.installed.program.parent / "python")
            argv = [python, "-c", _START, "-m", f"openai/{self.model}", "-y", "--exit-immediately", "-l", "0"]
            argv += ["-c", "mini.yaml", "-c", f"agent.step_limit={self.max_turns}", *self.args]
            argv += ["-o", f"{session.home}/trajectory.json"]
            asked = prompt(self.told(), pull_request, findings)
            completed = session.run(argv, env=_variables(session), stdin=asked)
            trajectory = b"" if completed.timed_out else session.read(_READ, session.home)
            session.keep({"stdout": completed.stdout, "stderr": completed.stderr, "trajectory": trajectory})
            info = _info(trajectory)
            session.judge(facts(completed, info))
            return session.revised(str(info.get("submission") or ""))


def _variables(session: Session) -> dict[str, str]:
    return {
        "OPENAI_API_KEY": session.token,
        "OPENAI_API_BASE": f"{session.base}/v1",
        "MSWEA_CONFIGURED": "true",
        "MSWEA_GLOBAL_CONFIG_DIR": f"{session.home}/mini",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_COST_TRACKING": "ignore_errors",  # the gateway keeps the account
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1",  # and tries again
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


def _info(trajectory: bytes) -> Mapping[str, Any]:
    """How its trajectory says that it ended; empty if there is none."""
    try:
        info = json.loads(trajectory)["info"]
    except (ValueError, TypeError, KeyError):
        return {}
    return info if isinstance(info, dict) else {}


def facts(completed: Completed, info: Mapping[str, Any]) -> dict[str, Any]:
    """What the table of statuses looks at."""
    status = str(info.get("exit_status") or "")
    said = (completed.stdout + completed.stderr).decode(errors="replace").splitlines()
    named = [line.strip() for line in said if status and line.strip().startswith(f"{status}:")]
    words = (named or [status or last_words(completed)])[-1] if status != "Submitted" else ""
    return {"ending": ending(completed), "exit_status": status, "words": words}
