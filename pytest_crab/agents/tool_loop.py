"""A small coding agent of our own: a model with a shell and an editor, asked in either protocol."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pytest_crab.clients.chat import ChatSettings
from pytest_crab.clients.client_run import LONGEST_NOTES, redacted
from pytest_crab.clients.conversation import open_conversation
from pytest_crab.clients.prompting import instructions, prompt, revising
from pytest_crab.clients.tool_loop import ToolLoop, ToolLoopSettings, tools
from pytest_crab.protocols import Checkout
from pytest_crab.redaction import Redactor
from pytest_crab.types import Finding, PullRequest, Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLoopAgent(ToolLoopSettings):
    """Lets the model use its tools until it says that it is done; ``provider`` and ``api`` choose the protocol."""

    role: ClassVar[str] = "revise"

    series: bool = True
    simulated: bool = field(default=False, init=False)

    def instructions(self) -> str:
        """Return the text that goes before the data, which asks for a series of commits unless ``series`` is false."""
        return instructions(revising(series=self.series), self.prompt, self.folder)

    def identity(self) -> Mapping[str, Any]:
        """Return the identity of every chat, with the tools."""
        offered = [dataclasses.asdict(tool) for tool in tools(self.timeout, "")]
        return {**ChatSettings.identity(self), "adapter": "anthropic agent", "tools": offered}

    def revise(self, pull_request: PullRequest, findings: Sequence[Finding], checkout: Checkout) -> Revision:
        """Let the model change the code. Raises ModelError, GatewayError, Cancelled, EngineError."""
        services = checkout.services
        with (
            services.models(self.provider) as access,
            checkout.workspace(models=access) as workspace,
            open_conversation(self, access, tools(self.timeout, workspace.root)) as conversation,
        ):
            loop = ToolLoop(self, services, access, conversation, workspace)
            asked = prompt(self.instructions(), pull_request, findings)
            last = loop.run(asked.text)
            redactor = Redactor({access.token: "[token]"})  # it is void after the step
            diff = workspace.diff()
            return Revision(
                diff=redactor.text(diff),
                commits=redacted(workspace.series(diff) if self.series else (), redactor),
                usage=loop.usage(),
                version=self.model,
                notes=redactor.text(last)[:LONGEST_NOTES] or None,
                transcript=loop.keep(),
                cut=asked.cut,
            )
