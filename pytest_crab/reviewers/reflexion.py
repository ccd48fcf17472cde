"""A first review that the model then improves on, n times: the second baseline of CR-Bench (section 6.1, agent A2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import ClassVar

from pytest_crab import plain
from pytest_crab.clients.asking import AskingSettings
from pytest_crab.clients.prompting import instructions
from pytest_crab.clients.prompting import prompt
from pytest_crab.diffs import touched_paths
from pytest_crab.protocols import Checkout
from pytest_crab.types import PullRequest
from pytest_crab.types import Review


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflexionReviewer(AskingSettings):
    """Asks as single-shot does, then ``iterations`` times for a better list; the last list counts.

    ``reflection`` is a file of instructions for these, in place of ours.
    """

    role: ClassVar[str] = "single-shot"

    timeout: float = 1800.0
    iterations: int = 2
    reflection: str | None = None

    def __post_init__(self) -> None:
        AskingSettings.__post_init__(self)
        if self.iterations < 1:
            raise ValueError("iterations should be at least 1; single-shot is the reviewer without any")
        try:
            self.reflected()
        except (OSError, ValueError) as error:
            raise ValueError(f"reflection {self.reflection} cannot be read: {error}") from error

    def reflected(self) -> str:
        """The instructions of an iteration."""
        path = None if self.reflection is None else Path(self.folder, self.reflection).expanduser()
        return instructions("reflexion", path)

    def identity(self) -> Mapping[str, Any] | None:
        """As that of single-shot, with the digest of the second prompt."""
        known = AskingSettings.identity(self)
        return {**(known or {}), "adapter": "reflexion", "reflection": plain.digest(self.reflected())}

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """What the model finds in the end. Raises ReviewerError, GatewayError, Cancelled."""
        with self.asking(checkout) as asking:
            messages = [{"role": "user", "content": prompt(self.told(), pull_request)}]
            files = touched_paths(pull_request.diff)
            text, review = asking.ask_for_findings(messages, files=files)
            for _ in range(self.iterations):
                messages += [{"role": "assistant", "content": text}, {"role": "user", "content": self.reflected()}]
                text, review = asking.ask_for_findings(messages, files=files)
            return asking.reviewed(review)
