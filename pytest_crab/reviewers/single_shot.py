"""One question to a model with the whole diff: the first baseline of CR-Bench (section 6.1, agent A1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_crab.clients.chat import ChatSettings
from pytest_crab.clients.prompting import prompt
from pytest_crab.diffs import touched_paths
from pytest_crab.protocols import Checkout
from pytest_crab.reviewers.chat import ask_for_findings, with_usage
from pytest_crab.types import PullRequest, Review


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleShotReviewer(ChatSettings):
    """Asks once, and takes the findings in the answer."""

    role: ClassVar[str] = "single-shot"
    numbered: ClassVar[bool] = True

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """Ask for all findings at once. Raises ModelError, GatewayError, Cancelled."""
        with self.chat(checkout.services) as chat:
            asked = {"role": "user", "content": prompt(self.instructions(), pull_request, numbered=True)}
            _, review = ask_for_findings(chat, [asked], files=touched_paths(pull_request.diff))
            return with_usage(review, chat, self.model)
