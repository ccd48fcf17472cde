"""One question to a model with the whole diff: the first baseline of CR-Bench (section 6.1, agent A1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_crab.clients.asking import AskingSettings
from pytest_crab.clients.prompting import prompt
from pytest_crab.diffs import touched_paths
from pytest_crab.protocols import Checkout
from pytest_crab.types import PullRequest
from pytest_crab.types import Review


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleShotReviewer(AskingSettings):
    """Asks once, and takes the findings in the answer."""

    role: ClassVar[str] = "single-shot"

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """What the model finds. Raises ReviewerError, GatewayError, Cancelled."""
        with self.asking(checkout) as asking:
            asked = {"role": "user", "content": prompt(self.told(), pull_request)}
            files = touched_paths(pull_request.diff)
            return asking.reviewed(asking.ask_for_findings([asked], files=files)[1])
