"""A first review that the model then improves on, n times: the second baseline of CR-Bench (section 6.1, agent A2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_crab import serialization
from pytest_crab.clients.chat import ChatSettings, require_readable
from pytest_crab.clients.prompting import LONGEST_DIFF, instructions, prompt, whole_parts
from pytest_crab.diffs import touched_paths
from pytest_crab.protocols import Checkout
from pytest_crab.reviewers.chat import ask_for_findings, with_usage
from pytest_crab.types import PullRequest, Review


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflexionReviewer(ChatSettings):
    """Asks as single-shot does, then several times for a better list; the last list counts."""

    role: ClassVar[str] = "single-shot"
    numbered: ClassVar[bool] = True

    timeout: float = 1800.0
    #: How often it asks for a better list.
    iterations: int = 2
    #: A file of instructions for these, in place of ours.
    reflection: str | None = None
    #: A diff of more characters than this is an error, since a part of a review is none.
    longest_diff: int = LONGEST_DIFF

    def __post_init__(self) -> None:
        ChatSettings.__post_init__(self)
        if self.iterations < 1:
            raise ValueError("iterations should be at least 1; single-shot is the reviewer without any")
        if self.longest_diff < 1:
            raise ValueError("longest_diff should be at least 1")
        require_readable("reflection", self.reflection, self.second_instructions)

    def second_instructions(self) -> str:
        """Return the instructions of an iteration."""
        return instructions("reflexion", self.reflection, self.folder)

    def identity(self) -> Mapping[str, Any]:
        """Return the identity of single-shot, with the digest of the second prompt."""
        second = serialization.digest(self.second_instructions())
        return {**ChatSettings.identity(self), "adapter": "reflexion", "reflection": second}

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """Ask, and ask again for a better list. Raises ReviewerError, ModelError, GatewayError, Cancelled."""
        (whole,) = whole_parts(pull_request, self.longest_diff)
        with self.chat(checkout.services) as chat:
            asked = prompt(self.instructions(), whole, numbered=True, longest=self.longest_diff)
            messages = [{"role": "user", "content": asked.text}]
            files = touched_paths(pull_request.diff)
            text, review = ask_for_findings(chat, messages, files=files)
            for _ in range(self.iterations):
                again = {"role": "user", "content": self.second_instructions()}
                messages += [{"role": "assistant", "content": text}, again]
                text, review = ask_for_findings(chat, messages, files=files)
            return with_usage(review, chat, self.model)
