"""The control: a reviewer that says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_crab.protocols import Checkout
from pytest_crab.types import PullRequest, Review

VERSION = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoReviewer:
    """Finds nothing in any pull request: tells what an agent mends unasked from what a review leads to."""

    free: ClassVar[bool] = True

    def identity(self) -> Mapping[str, Any]:
        """A constant."""
        return {"adapter": "none", "version": VERSION}

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:  # noqa: ARG002 - nothing is looked at
        """An empty review."""
        return Review(version=VERSION)
