"""Recorded reviews, one JSON file per instance."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab.errors import ReviewerError
from pytest_crab.parsing.findings import read_review
from pytest_crab.protocols import Checkout
from pytest_crab.types import Instance
from pytest_crab.types import PullRequest
from pytest_crab.types import Review


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReviewer:
    """Privileged, since it is told which instance it reviews: ``reviews`` is a folder of <instance id>.json files."""

    reviews: str
    folder: str = "."

    def __post_init__(self) -> None:
        if not Path(self.folder, self.reviews).is_dir():
            raise ValueError(f"reviews names {self.reviews}, which is no folder")

    def bind(self, instance: Instance) -> BoundReplayReviewer:
        """The reviewer that repeats what was recorded for this instance."""
        return BoundReplayReviewer(file=Path(self.folder, self.reviews, f"{instance.id}.json"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundReplayReviewer:
    """One recorded review."""

    file: Path

    def identity(self) -> Mapping[str, Any]:
        """The digest of the recording. Raises ReviewerError if there is none."""
        return {"adapter": "replay", "review": hashlib.sha256(self._read()).hexdigest()}

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:  # noqa: ARG002 - it is recorded
        """The recording. Raises ReviewerError if it is missing or no review."""
        problems: list[str] = []
        review = read_review(self._read().decode(errors="replace"), problems)
        if review is None:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            raise ReviewerError(f"{self.file}: {problems[0]}{more}; see docs/reference/command.md")
        return review

    def _read(self) -> bytes:
        try:
            return self.file.read_bytes()
        except OSError as error:
            raise ReviewerError(f"{self.file}: no review is recorded there ({error.strerror}); record one") from error
