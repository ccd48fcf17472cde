"""One question to a model with the whole diff: the first baseline of CR-Bench (section 6.1, agent A1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_crab.clients.chat import ChatSettings
from pytest_crab.clients.prompting import LONGEST_DIFF, prompt, whole_parts
from pytest_crab.diffs import touched_paths
from pytest_crab.protocols import Checkout
from pytest_crab.reviewers.chat import ask_for_findings, joined, with_usage
from pytest_crab.types import PullRequest, Review, StrEnum


class LongDiff(StrEnum):
    """The ways with a diff that is longer than a prompt may show."""

    ERROR = "error"
    SPLIT = "split"


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleShotReviewer(ChatSettings):
    """Asks once, and takes the findings in the answer."""

    role: ClassVar[str] = "single-shot"
    numbered: ClassVar[bool] = True

    #: The most characters of a diff that is asked about whole.
    longest_diff: int = LONGEST_DIFF
    #: A longer diff is an error, since a part of a review is none; or, with split, it is asked about in parts, each
    #: with whole files.
    long_diff: LongDiff = LongDiff.ERROR

    def __post_init__(self) -> None:
        ChatSettings.__post_init__(self)
        if self.longest_diff < 1:
            raise ValueError("longest_diff should be at least 1")

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """Ask for all findings at once. Raises ReviewerError, ModelError, GatewayError, Cancelled."""
        parts = whole_parts(pull_request, self.longest_diff, split=self.long_diff is LongDiff.SPLIT)
        files = touched_paths(pull_request.diff)
        reviews = []
        with self.chat(checkout.services) as chat:
            for part in parts:
                asked = prompt(self.instructions(), part, numbered=True, longest=self.longest_diff)
                reviews.append(ask_for_findings(chat, [{"role": "user", "content": asked.text}], files=files)[1])
            return with_usage(joined(reviews), chat, self.model)
