"""The coding agents by name, each imported only when it is chosen."""

from __future__ import annotations

from pytest_crab.adapters import Family

AGENTS = Family(
    noun="agent",
    verb="revise",
    members={
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
