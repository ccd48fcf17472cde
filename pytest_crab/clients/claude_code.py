"""Claude Code: its command line, its variables, and the facts in the JSON that it prints."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_crab.clients.client_run import Session, ending, last_words, require_above_zero
from pytest_crab.clients.idle_answers import REMINDER, leaves_findings
from pytest_crab.clients.instruction_files import InstructedSettings
from pytest_crab.protocols import Completed

#: What keeps the pull request's own hooks, MCP servers, settings and CLAUDE.md from being loaded.
ISOLATION = ("--setting-sources", "user", "--strict-mcp-config")
#: The flags leave out what lies at the tree's root; this too what lies beside any file that it reads on its way.
NO_MEMORY_FILES = {"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"}
#: The provider would look things up for these, the pull request itself among them.
_NO_WEB = ("--disallowedTools", "WebSearch,WebFetch")
_RETRIES = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeCodeSettings(InstructedSettings):
    """Settings of Claude Code."""

    client: ClassVar[str] = "claude-code"
    own_folder: ClassVar[str] = ".claude"
    places: ClassVar[Mapping[str, str]] = {
        "CLAUDE.md": "CLAUDE.md",
        ".claude/CLAUDE.md": "rules/CLAUDE.md",  # the folder has place for one of the two
        ".claude/rules": "rules",
        ".claude/skills": "skills",
        ".claude/agents": "agents",
        ".claude/commands": "commands",
    }

    provider: str = "anthropic"
    #: The client's own limit on turns.
    max_turns: int | None = None
    #: The client's own limit on cost, by its own price table.
    max_usd: float | None = None

    def __post_init__(self) -> None:
        super(ClaudeCodeSettings, self).__post_init__()
        require_above_zero(max_turns=self.max_turns, max_usd=self.max_usd)


def run(session: Session, settings: ClaudeCodeSettings, prompt: str, *more: str) -> Mapping[str, Any]:
    """Run the client on a prompt; the result that it printed. Raises the role's error."""
    argv = [session.program, "-p", "--output-format", "json", "--dangerously-skip-permissions", *ISOLATION, *_NO_WEB]
    argv += _without_trees(session.workspace.root) if settings.is_instructed else []
    argv += ["--model", settings.model] if settings.model else []
    argv += ["--max-turns", str(settings.max_turns)] if settings.max_turns is not None else []
    argv += ["--max-budget-usd", str(settings.max_usd)] if settings.max_usd is not None else []
    argv += [*more, *settings.args]
    completed = session.run(argv, env=_variables(session, settings), stdin=prompt)
    outputs = {"stdout": completed.stdout, "stderr": completed.stderr}
    result = _result(completed)
    idle = settings.expects_work() and _is_idle(result)
    if idle:
        completed = session.run([*argv, "--continue"], env=_variables(session, settings), stdin=REMINDER)
        outputs |= {"stdout of the reminder": completed.stdout, "stderr of the reminder": completed.stderr}
        result = _result(completed)
        idle = _is_idle(result)
    session.keep(outputs)
    session.judge({**facts(completed, result), "idle": "yes" if idle else "no"})
    return result


def _variables(session: Session, settings: ClaudeCodeSettings) -> dict[str, str]:
    return {
        "CLAUDE_CONFIG_DIR": f"{session.home}/{settings.own_folder}",
        "ANTHROPIC_API_KEY": session.token,
        "ANTHROPIC_BASE_URL": session.base,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": _RETRIES,  # the gateway has tried again before, and its own would take minutes
        "API_TIMEOUT_MS": str(int(session.settings.timeout * 1000)),
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        **({} if settings.is_instructed else NO_MEMORY_FILES),
    }


def _without_trees(root: str) -> list[str]:
    """Return the arguments with which the client loads no instruction file of the tree, and no hook."""
    folder = re.sub(r"[^\w./-]", "?", root)  # in a pattern, which this is, a letter that means nothing else
    return ["--settings", json.dumps({"claudeMdExcludes": [f"{folder}/**"], "disableAllHooks": True})]


def _result(completed: Completed) -> dict[str, Any]:
    """The result that it printed; empty if it printed none."""
    try:
        result = json.loads(completed.stdout)
    except ValueError:
        return {}
    return result if isinstance(result, dict) and result.get("type") == "result" else {}


def _is_idle(result: Mapping[str, Any]) -> bool:
    """Return whether the one answer that there was used no tool, and does not say that the findings are left."""
    if not result or result.get("is_error") or result.get("num_turns") != 1 or result.get("stop_reason") == "refusal":
        return False
    return not leaves_findings(str(result.get("result") or ""))


def facts(completed: Completed, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts for the status table; absent facts are empty."""
    told = {"error": "yes" if result.get("is_error") else "no"} if result else {}
    if str(result.get("subtype", "")).startswith("error"):
        told["error"] = "yes"
    return {
        **told,
        "ending": ending(completed),
        "subtype": result.get("subtype", ""),
        "code": result.get("api_error_status") or "",
        "stop_reason": result.get("stop_reason") or "",
        "text": result.get("result") or "",
        "denials": len(result.get("permission_denials") or ()),
        "structured": "yes" if isinstance(result.get("structured_output"), dict) else "no",
        "words": result.get("result") or ("" if result else last_words(completed)),
    }
