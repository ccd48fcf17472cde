"""One question to a model with one of SWE-PRBench's contexts A, B and C (arXiv 2603.26130, section 4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pytest_crab import serialization
from pytest_crab.clients.chat import ChatSettings
from pytest_crab.clients.context_layers import BUDGETS, LayeredContext, assemble, layers
from pytest_crab.clients.prompting import as_data, instructions, prompt
from pytest_crab.clients.retrieval import text_files
from pytest_crab.diffs import touched_paths
from pytest_crab.parsing.syntax_trees import are_installed
from pytest_crab.protocols import Checkout
from pytest_crab.reviewers.chat import ask_for_findings, with_usage
from pytest_crab.text import one_line
from pytest_crab.types import PullRequest, Review


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredReviewer(ChatSettings):
    """Asks once with a context of layers."""

    role: ClassVar[str] = "layered"

    context: LayeredContext = LayeredContext.A
    #: Whether the model is asked for a summary of the change before, which is a layer of every context.
    summary: bool = True

    def identity(self) -> Mapping[str, Any]:
        """Return the settings, the budgets of the layers, and what else decides the context and its summary."""
        return {
            **ChatSettings.identity(self),
            "budgets": dict(BUDGETS[self.context]),
            "syntax_trees": self.context is not LayeredContext.A and are_installed(),
            "summary": serialization.digest(_summary_instructions()) if self.summary else None,
        }

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """Ask with the context. Raises ModelError, GatewayError, Cancelled."""
        tree = None
        if self.context is not LayeredContext.A:
            with checkout.clone() as workspace:
                tree = dict(text_files(Path(workspace.root)))
        with self.chat(checkout.services) as chat:
            summary, cut = None, []
            if self.summary:
                asked = prompt(_summary_instructions(), pull_request)
                summary = chat.ask([{"role": "user", "content": asked.text}]).strip()
                cut += [f"for its summary, {one}" for one in asked.cut]
            shown = assemble(layers(pull_request, summary, tree), BUDGETS[self.context])
            if shown.left_out:
                cut.append(one_line(f"its context leaves out {'; '.join(shown.left_out)}", 300))
            messages = [{"role": "user", "content": as_data(self.instructions(), shown.text)}]
            _, review = ask_for_findings(chat, messages, files=touched_paths(pull_request.diff))
            return with_usage(dataclasses.replace(review, cut=tuple(cut)), chat, self.model)


def _summary_instructions() -> str:
    return instructions("key-changes", None, ".")
