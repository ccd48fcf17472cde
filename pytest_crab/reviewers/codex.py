"""Codex as a reviewer: on a throw-away clone, in its own review mode."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pytest_crab.clients import codex
from pytest_crab.commands import CommandPlace
from pytest_crab.protocols import Checkout
from pytest_crab.types import PullRequest, Review

_PRIORITY = re.compile(r"^\[(P\d)\]\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexReviewer(codex.CodexSettings):
    """Runs ``codex review`` against the pull request's base, with codex's own instructions unless ``prompt`` is set."""

    role: ClassVar[str] = "reviewer"

    place: CommandPlace = field(default=CommandPlace.CLONE, metadata={"key": "in"})

    def instructions(self) -> str:
        """Return the text that goes before the data; none where codex's own instructions are used."""
        return super(codex.CodexSettings, self).instructions() if self.prompt else ""

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """Run codex. Raises ReviewerError, GatewayError, Cancelled, EngineError."""
        with self.session(checkout) as session:
            if self.prompt:
                output = codex.run(session, self, session.prompt(pull_request), "review", "-")
            else:
                output = codex.run(session, self, "", "review", "--base", pull_request.base)
            assert output.review is not None
            return session.review(list(_findings(output.review)), pull_request)


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
