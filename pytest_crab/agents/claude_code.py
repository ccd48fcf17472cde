"""Claude Code as a coding agent: inside the instance's own environment, and what counts is the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from pytest_crab.clients import claude_code
from pytest_crab.protocols import Checkout
from pytest_crab.types import Finding, PullRequest, Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeCodeAgent(claude_code.ClaudeCodeSettings):
    """Runs Claude Code with nothing of the pull request's own configuration."""

    role: ClassVar[str] = "agent"

    series: bool = True
    simulated: bool = field(default=False, init=False)

    def revise(self, pull_request: PullRequest, findings: Sequence[Finding], checkout: Checkout) -> Revision:
        """Let Claude Code change the code. Raises AgentError, GatewayError, Cancelled, EngineError."""
        with self.session(checkout) as session:
            result = claude_code.run(session, self, session.prompt(pull_request, findings))
            return session.revision(str(result.get("result") or ""))
