"""Any executable as a coding agent: pull request and findings as JSON in, an edited checkout out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from pytest_crab.commands import CommandSettings, request
from pytest_crab.errors import AgentError, ReviewerError
from pytest_crab.parsing.agent_output import read_agent_output
from pytest_crab.protocols import Checkout
from pytest_crab.types import Finding, PullRequest, Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAgent(CommandSettings):
    """Runs an executable in a throw-away clone, which it edits in place; what it prints is usage and notes."""

    noun: ClassVar[str] = "agent"
    failure: ClassVar[type[ReviewerError | AgentError]] = AgentError
    series: bool = True
    simulated: bool = field(default=False, init=False)

    def revise(self, pull_request: PullRequest, findings: Sequence[Finding], checkout: Checkout) -> Revision:
        """Return the diff that the executable makes. Raises AgentError, Cancelled, EngineError."""
        fingerprint = self.fingerprint()
        with self.ran(request(pull_request, findings), checkout) as ran:
            diff = ran.workspace.diff()
            commits = ran.workspace.series(diff) if self.series else ()
            told = read_agent_output(ran.stdout)
            if told.problems:
                raise self.bad_output(told.problems, ran.stdout)
        return Revision(diff=diff, commits=commits, usage=told.usage, version=fingerprint, notes=told.notes)
