"""Reads a request to the scripted provider, whatever its protocol is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def tools_of(body: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the tools that a request offers."""
    return frozenset(str(tool["function"]["name"] if "function" in tool else tool.get("name")) for tool in _tools(body))


def turn_of(body: Mapping[str, Any]) -> int:
    """Return the number of answers in a conversation: runs of parts that a model wrote."""
    parts = body.get("messages", body.get("input", []))
    if not isinstance(parts, list):
        return 0
    by_model = [_by_model(part) for part in parts if isinstance(part, Mapping)]
    return sum(now and not before for before, now in zip([False, *by_model], by_model, strict=False))


def _by_model(part: Mapping[str, Any]) -> bool:
    own = {"function_call", "custom_tool_call", "local_shell_call", "reasoning"}
    return part.get("role") == "assistant" or part.get("type") in own


def _tools(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [tool for tool in body.get("tools") or [] if isinstance(tool, Mapping)]


def structured_tool(tools: frozenset[str]) -> str | None:
    """Return the tool through which a client takes structured output; None: it offers none."""
    return next((name for name in ("StructuredOutput", "submit_findings") if name in tools), None)


def _properties(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the arguments of a tool with their schemas; none where its schema does not say."""
    for tool in _tools(body):
        facts = tool.get("function", tool)
        if facts.get("name") == name:
            schema = facts.get("input_schema") or facts.get("parameters") or {}
            return dict(schema.get("properties") or {})
    return {}


#: The shell tools of known clients, with the argument that takes a command.
_SHELLS = {"Bash": "command", "bash": "command", "exec_command": "cmd", "shell_command": "command", "shell": "command"}


def shell_call(body: Mapping[str, Any], command: str) -> tuple[str, dict[str, Any]]:
    """Return a call of the shell tool that a request offers, with its arguments. Raises LookupError if it has none."""
    offered = tools_of(body)
    name = next((name for name in _SHELLS if name in offered), None)
    if name is None:
        raise LookupError(f"no shell tool among {', '.join(sorted(offered)) or 'no tools'}")
    argument = _SHELLS[name]
    listed = _properties(body, name).get(argument, {}).get("type", "array" if name == "shell" else "string") == "array"
    return name, {argument: ["bash", "-lc", command] if listed else command}
