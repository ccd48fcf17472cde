"""Codex: its command line, its variables, and the facts in its events and in the records of its sessions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from pytest_crab.clients.client_run import Session, ending, last_words
from pytest_crab.clients.idle_answers import REMINDER, leaves_findings
from pytest_crab.clients.instruction_files import InstructedSettings
from pytest_crab.errors import EngineError
from pytest_crab.protocols import Completed
from pytest_crab.text import split_lines

#: What keeps the pull request's own configuration, rules, hooks, skills and AGENTS.md from being loaded.
ISOLATION = (
    *("--ignore-user-config", "--ignore-rules", "-c", "project_doc_max_bytes=0", "-c", "features.hooks=false"),
)
NO_SKILLS = ("-c", "skills.include_instructions=false")
_QUIET = (
    *("-c", "approval_policy=never", "-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"),
    *("-c", "web_search=disabled"),  # the provider would look things up, the pull request itself among them
    *("-c", "shell_environment_policy.inherit=core", "-c", "shell_environment_policy.ignore_default_excludes=false"),
)
_KEY = "CRAB_MODEL_TOKEN"
#: Makes the home, and puts the client's own tools on PATH.
_LAUNCH = 'mkdir -p "$CODEX_HOME" && PATH="$PATH:$0" && exec "$@"'
#: Prints the records of all threads, a line each.
_SESSIONS = 'test ! -d "$1/sessions" || find "$1/sessions" -name "rollout-*.jsonl" -exec cat {} +'
#: Prints each skill of the tree, by the way that leads there and by where it lies.
_TREE_SKILLS = """
find -L "$PWD" -iname SKILL.md -print0 2>/dev/null
find -L "$PWD" -iname SKILL.md -exec realpath -z {} + 2>/dev/null
true
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexSettings(InstructedSettings):
    """Codex has no limit of its own on turns or cost: the deadline and the gateway's budgets are what ends it."""

    client: ClassVar[str] = "codex"
    own_folder: ClassVar[str] = ".codex"
    places: ClassVar[Mapping[str, str]] = {
        "AGENTS.md": "AGENTS.md",
        "AGENTS.override.md": "AGENTS.override.md",
        ".agents/skills": "skills",
        ".codex/skills": "skills",
    }

    provider: str = "openai"


class CodexOutput(NamedTuple):
    """The output of a run of codex."""

    #: The last message.
    message: str | None
    #: The review as codex itself structures it; None: there is none.
    review: Mapping[str, Any] | None
    #: Whether its records could not be read, so that there may be a review.
    unread: bool = False
    #: Whether the tree is no longer what it was.
    changed: bool = False


def run(session: Session, settings: CodexSettings, prompt: str, *more: str) -> CodexOutput:
    """Run the client on a prompt and return its output. Raises the role's error."""
    skills = _without_trees(session) if settings.is_instructed else NO_SKILLS
    argv = [session.program, "exec", *ISOLATION, *skills, *_QUIET, *_provider(session.base, settings.timeout)]
    argv += ["-c", f"model={json.dumps(settings.model)}"] if settings.model else []
    argv += ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", *settings.args, "--json", *more]
    env = {"CODEX_HOME": f"{session.home}/{settings.own_folder}", _KEY: session.token}
    start = ("sh", "-c", _LAUNCH, str(session.installed.trees[0] / "codex-path"))
    completed = session.run([*start, *argv], env=env, stdin=prompt)
    outputs = {"stdout": completed.stdout, "stderr": completed.stderr}
    events = list(_lines(completed.stdout))
    idle = settings.expects_work() and _is_idle(events)
    if idle:
        completed = session.run([*start, *argv[:-1], "resume", "--last", argv[-1]], env=env, stdin=REMINDER)
        outputs |= {"stdout of the reminder": completed.stdout, "stderr of the reminder": completed.stderr}
        events = list(_lines(completed.stdout))
        idle = _is_idle(events)
    records = b"" if completed.timed_out else session.read(_SESSIONS, env["CODEX_HOME"])
    session.keep({**outputs, "records": records or b""})
    message = _message(events)
    changed = message is None and settings.role == "agent" and bool(session.workspace.diff())
    output = CodexOutput(message, _review(_lines(records or b"")), unread=records is None, changed=changed)
    session.judge({**facts(completed, events, output), "idle": "yes" if idle else "no"})
    return output


def _without_trees(session: Session) -> tuple[str, str]:
    """Return the arguments with which codex lists the skills of its home, and none of the tree's."""
    found = session.read(_TREE_SKILLS)
    if found is None:
        raise EngineError("the skills in the tree could not be listed, so that codex would load them")
    names = dict.fromkeys(os.fsdecode(path) for path in found.split(b"\0")[:-1])
    entries = ",".join(f"{{path={json.dumps(name)},enabled=false}}" for name in names)
    return ("-c", f"skills.config=[{entries}]")


def _provider(base: str, seconds: float) -> tuple[str, str, str, str]:
    """The gateway as a provider; the gateway itself tries again, so that codex need not."""
    fields = {
        "name": '"pytest-crab"',
        "base_url": json.dumps(f"{base}/v1"),
        "wire_api": '"responses"',
        "env_key": f'"{_KEY}"',
        "request_max_retries": "1",
        "stream_max_retries": "1",
        "stream_idle_timeout_ms": str(int(seconds * 1000)),
    }
    provider = ",".join(f"{name}={value}" for name, value in fields.items())
    return ("-c", "model_provider=crab", "-c", f"model_providers.crab={{{provider}}}")


def _lines(text: bytes) -> Iterator[Mapping[str, Any]]:
    """The JSON mappings among the lines."""
    for line in split_lines(text):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _message(events: Sequence[Mapping[str, Any]]) -> str | None:
    """The last thing that the agent said; None if it said nothing."""
    items = [event.get("item") or {} for event in events if event.get("type") == "item.completed"]
    said = [str(item.get("text") or "") for item in items if item.get("type") == "agent_message"]
    return said[-1] if said else None


def _is_idle(events: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a finished turn used no tool, and says something else than that the findings are left."""
    items = [event.get("item") or {} for event in events if event.get("type") == "item.completed"]
    message = _message(events)
    done = any(event.get("type") == "turn.completed" for event in events)
    worked = any(item.get("type") not in ("agent_message", "reasoning", "error") for item in items)
    return done and message is not None and not worked and not leaves_findings(message)


def _review(records: Iterator[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    for record in records:
        item = (record.get("payload") or {}).get("item") or record.get("payload") or {}
        output = item.get("review_output") if str(item.get("type", "")).lower().startswith("exited") else None
        if isinstance(output, dict):
            return output
    return None


def facts(completed: Completed, events: Sequence[Mapping[str, Any]], output: CodexOutput) -> dict[str, Any]:
    """Return the facts for the status table."""
    failed = ""
    for event in events:
        if event.get("type") == "turn.failed":
            failed = str((event.get("error") or {}).get("message") or "it does not say why")
    done = any(event.get("type") == "turn.completed" for event in events)
    message = (
        "yes"
        if (output.message or "").strip()
        else ("no" if output.message is None and not output.changed else "empty")
    )
    return {
        "ending": ending(completed),
        "failed": failed,
        "completed": "yes" if done else "no",
        "message": message,
        "records": "no" if output.unread else "yes",
        "review": _form(output.review),
        "words": failed or ("" if done or completed.timed_out else last_words(completed)),
    }


def _form(review: Mapping[str, Any] | None) -> str:
    """Return the form of a review: codex puts an answer that it could not read into the explanation alone."""
    if review is None:
        return "no"
    if review.get("findings") or review.get("overall_correctness"):
        return "yes"
    return "prose" if str(review.get("overall_explanation") or "").strip() else "no"
