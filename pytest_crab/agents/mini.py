"""mini-swe-agent as a coding agent: inside the instance's own environment, and what counts is the tree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pytest_crab.clients.client_run import ClientSettings, Session, ending, last_words, require_above_zero
from pytest_crab.ecosystems import interpreters
from pytest_crab.protocols import Checkout, Completed
from pytest_crab.types import Finding, PullRequest, Revision

#: Its task is an argument, and a long one would be longer than the system takes; so it is put there from within.
#: Its configuration is named by its place, since a mere name is looked for in the tree first.
_START = """\
import sys
from minisweagent.config import builtin_config_dir
own = ["-c", str(builtin_config_dir / "mini.yaml")]
sys.argv = ["mini", *own, *sys.argv[1:], "-t", sys.stdin.read()]
from minisweagent.run.mini import app
app()
"""
#: Keeps the tree off the path of modules, where `python -c` puts it first, and its variables out of the interpreter.
ISOLATION = ("-I",)
_READ = 'cat "$1/trajectory.json" 2>/dev/null || true'


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniAgent(ClientSettings):
    """Runs ``mini`` with a provider that speaks OpenAI's chat/completions."""

    client: ClassVar[str] = "mini"
    role: ClassVar[str] = "agent"

    provider: str = "openai"
    #: The client's own limit on steps.
    max_turns: int = 250
    series: bool = True
    simulated: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        super(MiniAgent, self).__post_init__()
        if not self.model:
            raise ValueError("model is missing; mini has no default model")
        require_above_zero(max_turns=self.max_turns)

    def revise(self, pull_request: PullRequest, findings: Sequence[Finding], checkout: Checkout) -> Revision:
        """Let mini change the code. Raises AgentError, GatewayError, Cancelled, EngineError."""
        with self.session(checkout) as session:
            interpreter = str(session.installed.program.parent / interpreters.ANY)
            argv = [interpreter, *ISOLATION, "-c", _START, "-m", f"openai/{self.model}", "-y", "--exit-immediately"]
            argv += ["-l", "0", "-c", f"agent.step_limit={self.max_turns}", *self.args]
            argv += ["-o", f"{session.home}/trajectory.json"]
            asked = session.prompt(pull_request, findings)
            completed = session.run(argv, env=_variables(session), stdin=asked)
            trajectory = b"" if completed.timed_out else session.read(_READ, session.home) or b""
            session.keep({"stdout": completed.stdout, "stderr": completed.stderr, "trajectory": trajectory})
            info, last = _ending(trajectory)
            session.judge(facts(completed, info, last))
            return session.revision(str(info.get("submission") or ""))


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
        "PYTHON_DOTENV_DISABLED": "1",  # it would look for .env from the tree upwards
    }


def _ending(trajectory: bytes) -> tuple[Mapping[str, Any], str]:
    """Return how its trajectory ended, and its last message, which is the error if one ended it; else empty."""
    try:
        document = json.loads(trajectory)
        info, last = document["info"], document["messages"][-1].get("content")
    except (ValueError, TypeError, LookupError, AttributeError):
        return {}, ""
    return (info if isinstance(info, dict) else {}), last if isinstance(last, str) else ""


def facts(completed: Completed, info: Mapping[str, Any], last: str = "") -> dict[str, Any]:
    """Return the facts for the status table."""
    status = str(info.get("exit_status") or "")
    words = "" if status == "Submitted" else last or status or last_words(completed)
    return {"ending": ending(completed), "exit_status": status, "words": words}
