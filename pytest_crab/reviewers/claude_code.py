"""Claude Code as a reviewer: on a throw-away clone, its findings by a schema."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pytest_crab.clients import claude_code
from pytest_crab.commands import CommandPlace
from pytest_crab.protocols import Checkout
from pytest_crab.types import PullRequest, Review

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

    place: CommandPlace = field(default=CommandPlace.CLONE, metadata={"key": "in"})

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """Run Claude Code. Raises ReviewerError, GatewayError, Cancelled, EngineError."""
        with self.session(checkout) as session:
            asked = session.prompt(pull_request)
            result = claude_code.run(session, self, asked, "--json-schema", json.dumps(SCHEMA))
            return session.review(result["structured_output"].get("findings"), pull_request)
