"""The coding agents by name, each imported only when it is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pytest_crab.adapters import Family
from pytest_crab.protocols import Agent, PrivilegedAgent

AGENTS = Family(
    noun="agent",
    verb="revise",
    table={
        "claude-code": "pytest_crab.agents.claude_code:ClaudeCodeAgent",
        "codex": "pytest_crab.agents.codex:CodexAgent",
        "command": "pytest_crab.agents.command:CommandAgent",
        "mini": "pytest_crab.agents.mini:MiniAgent",
        "replay": "pytest_crab.agents.replay:ReplayAgent",
        "simulated": "pytest_crab.agents.simulated:SimulatedAgent",
        "suggestions": "pytest_crab.agents.suggestions:SuggestionsAgent",
        "tool-loop": "pytest_crab.agents.tool_loop:ToolLoopAgent",
    },
)


def make(name: str, settings: Mapping[str, Any], folder: Path, where: str | None = None) -> Agent | PrivilegedAgent:
    """The agent of this name or "module:Class"; relative paths in its settings start at ``folder``.

    Raises BadInput with every fault; ``where`` is what it calls the settings.
    """
    place = where or AGENTS.where(name)
    adapter = AGENTS.build(AGENTS.spec(name, settings, folder, place), place)
    return cast("Agent | PrivilegedAgent", adapter)
