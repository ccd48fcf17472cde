"""The coding agents by name, each imported only when it is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import cast

from pytest_crab.adapters import Family
from pytest_crab.protocols import Agent
from pytest_crab.protocols import PrivilegedAgent

AGENTS = Family(
    noun="agent",
    verb="revise",
    table={
        "anthropic": "pytest_crab.agents.anthropic:AnthropicAgent",
        "claude-code": "pytest_crab.agents.claude_code:ClaudeCodeAgent",
        "codex": "pytest_crab.agents.codex:CodexAgent",
        "command": "pytest_crab.agents.command:CommandAgent",
        "mini": "pytest_crab.agents.mini:MiniAgent",
        "reference": "pytest_crab.agents.reference:ReferenceAgent",
        "replay": "pytest_crab.agents.replay:ReplayAgent",
        "suggestions": "pytest_crab.agents.suggestions:SuggestionsAgent",
    },
)


def make(name: str, settings: Mapping[str, Any], folder: Path, where: str | None = None) -> Agent | PrivilegedAgent:
    """The agent of this name or "module:Class"; relative paths in its settings start at ``folder``.

    Raises BadInput with every fault; ``where`` is what it calls the settings.
    """
    place = where or AGENTS.where(name)
    adapter = AGENTS.build(AGENTS.spec(name, settings, folder, place), place)
    return cast("Agent | PrivilegedAgent", adapter)
