"""The upper bound: a reviewer that says what the humans said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_crab import serialization
from pytest_crab.protocols import Checkout
from pytest_crab.types import Finding, Instance, PullRequest, Review

VERSION = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanReviewer:
    """Privileged: repeats the instance's own comments; 100% by construction with an able agent (arXiv 2603.23448)."""

    free: ClassVar[bool] = True

    def bind(self, instance: Instance) -> BoundHumanReviewer:
        """The reviewer that repeats this instance's comments."""
        return BoundHumanReviewer(
            findings=tuple(
                Finding(
                    path=comment.path,
                    start=comment.lines and comment.lines[0],
                    end=comment.lines and comment.lines[1],
                    side=comment.side,
                    body=comment.body,
                )
                for comment in instance.comments
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundHumanReviewer:
    """The comments of one instance as a review."""

    free: ClassVar[bool] = True

    findings: tuple[Finding, ...]

    def identity(self) -> Mapping[str, Any]:
        """The comments themselves, since no other part of the pull request holds them."""
        return {"adapter": "human", "version": VERSION, "findings": serialization.digest(self.findings)}

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:  # noqa: ARG002 - it knows already
        """The comments, in the instance's order."""
        return Review(findings=self.findings, version=VERSION)
