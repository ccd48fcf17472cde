"""Codex as a reviewer: on a throw-away clone, in its own review mode."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import ClassVar

from pytest_crab.clients import codex
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

_PRIORITY = re.compile(r"^\[(P\d)\]\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexReviewer(codex.CodexSettings):
    """Runs ``codex review`` against the pull request's base, with codex's own instructions unless ``prompt`` is set."""

    role: ClassVar[str] = "reviewer"
    failure: ClassVar[type[ReviewerError | AgentError]] = ReviewerError

    place: Place = field(default=Place.CLONE, metadata={"key": "in"})

    def told(self) -> str:
        """The instructions that go before the data; none where codex's own are used."""
        return super(codex.CodexSettings, self).told() if self.prompt else ""

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """What codex finds. Raises ReviewerError, GatewayError, Cancelled, EngineError."""
        with self.session(checkout) as session:
            if self.prompt:
                told = codex.run(session, self, prompt(self.told(), pull_request), "review", "-")
            else:
                told = codex.run(session, self, "", "review", "--base", pull_request.base)
            assert told.review is not None
            output = json.loads(session.redact(json.dumps(told.review)))
            problems: list[str] = []
            files, found = touched_paths(pull_request.diff), list(_findings(output))
            review = review_of({"findings": found}, problems, root=session.workspace.root, files=files)
            if review is None:
                raise session.failed(Status.BAD_OUTPUT, f"its findings cannot be read: {problems[0]}")
            return session.reviewed(review)


def _findings(output: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for item in output.get("findings") or ():
        place = item.get("code_location") or {}
        lines = place.get("line_range") or {}
        title = str(item.get("title") or "")
        priority = _PRIORITY.match(title)
        yield {
            "path": place.get("absolute_file_path"),
            "start": lines.get("start"),
            "end": lines.get("end"),
            "title": _PRIORITY.sub("", title),
            "body": str(item.get("body") or title),
            "severity": priority[1] if priority else None,
        }
