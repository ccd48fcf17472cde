"""Claude Code as a reviewer: on a throw-away clone, its findings by a schema."""

from __future__ import annotations

import json
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import ClassVar

from pytest_crab.clients import claude_code
from pytest_crab.clients.failures import Status
from pytest_crab.clients.prompting import prompt
from pytest_crab.commands import Place
from pytest_crab.diffs import touched_paths
from pytest_crab.errors import AgentError
from pytest_crab.errors import ReviewerError
from pytest_crab.parsing.findings import review_of
from pytest_crab.protocols import Checkout
from pytest_crab.types import PullRequest
from pytest_crab.types import Review

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "the file, relative to the repository"},
                    "start": {"type": "integer", "description": "the first line in the new version, from 1"},
                    "end": {"type": "integer", "description": "the last line, inclusive"},
                    "title": {"type": "string"},
                    "body": {"type": "string", "description": "what is wrong, when it shows, what would be right"},
                    "severity": {"type": "string", "enum": ["high", "medium", "low"]},
                },
                "required": ["title", "body"],
            },
        }
    },
    "required": ["findings"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeCodeReviewer(claude_code.ClaudeCodeSettings):
    """Runs Claude Code with nothing of the pull request's own configuration."""

    role: ClassVar[str] = "reviewer"
    failure: ClassVar[type[ReviewerError | AgentError]] = ReviewerError

    place: Place = field(default=Place.CLONE, metadata={"key": "in"})

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """What Claude Code finds. Raises ReviewerError, GatewayError, Cancelled, EngineError."""
        with self.session(checkout) as session:
            asked = prompt(self.told(), pull_request)
            result = claude_code.run(session, self, asked, "--json-schema", json.dumps(SCHEMA))
            problems: list[str] = []
            findings = session.redact(json.dumps(result["structured_output"]))
            files = touched_paths(pull_request.diff)
            review = review_of(json.loads(findings), problems, root=session.workspace.root, files=files)
            if review is None:
                raise session.failed(Status.BAD_OUTPUT, f"its findings cannot be read: {problems[0]}")
            return session.reviewed(review)
