"""Recorded reviews, one JSON file per instance: findings, or how many there were."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab.diffs import touched_paths
from pytest_crab.errors import ReviewerError
from pytest_crab.formats import format_first
from pytest_crab.instances.recorded import read_recording, recording_of, require_recordings
from pytest_crab.parsing.answers import read_answer, read_usage
from pytest_crab.parsing.report_formats import LAYOUTS, ReportFormat
from pytest_crab.parsing.review_output import read_review
from pytest_crab.protocols import Checkout
from pytest_crab.types import Instance, PullRequest, Review


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReviewer:
    """Privileged, since it gets the name of the instance that it reviews."""

    #: A folder of <instance id>.json files, or of files as ``format`` has them; or else ``reviewer`` is set.
    reviews: str | None = None
    #: The one whose recorded results to take from the set that the instance lies in (docs/reference/recorded.md).
    reviewer: str | None = None
    kind: ReportFormat = field(default=ReportFormat.CRAB, metadata={"key": "format"})
    folder: str = "."

    def __post_init__(self) -> None:
        require_recordings("reviews", self.reviews, self.reviewer, self.folder)

    def bind(self, instance: Instance) -> BoundReplayReviewer:
        """The reviewer that repeats what was recorded for this instance."""
        suffixes = (".json",) if self.kind is ReportFormat.CRAB else (".json", LAYOUTS[self.kind].suffix)
        files = [recording_of(instance, suffix, self.reviews, self.reviewer, self.folder) for suffix in suffixes]
        return BoundReplayReviewer(file=next((file for file in files if file.is_file()), files[0]), kind=self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundReplayReviewer:
    """One recorded review."""

    file: Path
    kind: ReportFormat = ReportFormat.CRAB

    def identity(self) -> Mapping[str, Any]:
        """The digest of the recording, and its format. Raises ReviewerError if there is nothing."""
        return {
            "adapter": "replay",
            "format": self.kind,
            "review": hashlib.sha256(read_recording(self.file, ReviewerError)).hexdigest(),
        }

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:  # noqa: ARG002 - it reads no code
        """The recording; a number instead of findings is a review whose text is not on record.

        It cost what the recording says, in either form; where that says nothing, the cost is not known.
        Raises ReviewerError if it is missing or no review.
        """
        text = read_recording(self.file, ReviewerError).decode(errors="replace")
        problems: list[str] = []
        files = touched_paths(pull_request.diff)
        review = _read_count(text, problems) or read_review(text, problems, kind=self.kind, files=files)
        if review is None or problems:
            raise ReviewerError(f"{self.file}: {format_first(problems)}; see docs/reference/command.md")
        return review


def _read_count(text: str, problems: list[str]) -> Review | None:
    """Return the review of a recorded result that has only a number of findings; None for anything else.

    Its usage is read as that of a review with findings is.
    """
    answer = read_answer(text, [])
    count = None if answer is None else answer.get("findings")
    if answer is None or not isinstance(count, int) or isinstance(count, bool) or count < 0:
        return None
    return Review(count=count, usage=read_usage(answer.get("usage"), problems))
