"""A small coding agent of our own: a model with a shell and an editor, asked in either protocol."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import ClassVar

from pytest_crab.clients.asking import AskingSettings
from pytest_crab.clients.prompting import prompt
from pytest_crab.clients.tool_loop import TOOLS
from pytest_crab.clients.tool_loop import ToolLoop
from pytest_crab.clients.tool_loop import ToolLoopSettings
from pytest_crab.protocols import Checkout
from pytest_crab.types import Finding
from pytest_crab.types import PullRequest
from pytest_crab.types import Revision

_NOTES = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicAgent(ToolLoopSettings):
    """Lets the model use its tools until it says that it is done.

    Its name is that of its first protocol; ``provider`` and ``api`` choose.
    """

    role: ClassVar[str] = "revise"
    simulated: bool = field(default=False, init=False)

    def identity(self) -> Mapping[str, Any] | None:
        """As that of every asker, with the tools."""
        tools = [dataclasses.asdict(tool) for tool in TOOLS]
        return {**(AskingSettings.identity(self) or {}), "adapter": "anthropic agent", "tools": tools}

    def revise(self, pull_request: PullRequest, findings: Sequence[Finding], checkout: Checkout) -> Revision:
        """What the model changes. Raises AgentError, GatewayError, Cancelled, EngineError."""
        with checkout.models(self.provider) as access, checkout.workspace(models=access) as workspace:
            loop = ToolLoop(self, checkout, access, workspace)
            said = loop.run(prompt(self.told(), pull_request, findings))
            kept = loop.keep()
            return Revision(
                diff=workspace.diff().replace(access.token, "[token]"),  # it is void after the step
                usage=checkout.usage(access),
                version=self.model,
                notes=said.replace(access.token, "[token]")[:_NOTES] or None,
                transcript=kept,
            )
