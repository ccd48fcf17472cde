"""The loop of a small coding agent: a model with a shell and an editor that act inside the workspace."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_crab.clients.chat import Chat, ChatSettings
from pytest_crab.clients.client_run import require_above_zero
from pytest_crab.clients.conversation import Conversation, Tool, ToolCall, ToolResult, Turn
from pytest_crab.clients.idle_answers import REMINDER, describe_idleness, leaves_findings
from pytest_crab.clients.prompting import asks_question
from pytest_crab.clients.status_table import Status
from pytest_crab.formats import format_dollars
from pytest_crab.model_access import ModelAccess, Services
from pytest_crab.protocols import Completed, Workspace
from pytest_crab.text import cut_middle

#: The most of one command's output, in characters, that the model is shown: its start and its end.
_SHOWN = 20_000
#: So many characters are taken for a token where the provider does not count.
_CHARACTERS = 4


def tools(seconds: float, root: str) -> tuple[Tool, ...]:
    """Return the tools; a command has so many seconds, and ``root`` is the folder that it runs in."""
    return (
        Tool(
            name="shell",
            description=(
                f"Run a command with sh in the repository's folder, {root}; there is no network. Each command starts "
                f"there anew and is ended after {seconds:g} seconds. Returns what it prints; of more than {_SHOWN} "
                "characters the middle is left out."
            ),
            input_schema=_schema("command"),
        ),
        Tool(
            name="edit",
            description=(
                "Replace a text in a file by another. `old` must occur exactly once, with enough lines around it to "
                "say which place is meant; an empty `old` makes a new file of `new`. "
                f"`path` is relative to the repository's folder, {root}."
            ),
            input_schema=_schema("path", "old", "new"),
        ),
    )


def _schema(*names: str) -> dict[str, Any]:
    """Return the schema of arguments that are texts, all of them needed."""
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLoopSettings(ChatSettings):
    """Settings of the loop beside the model.

    The loop ends as ``limit``, and its oracles unknown, once it reaches any of these limits; ``timeout`` is for one
    answer or command.
    """

    #: The most answers.
    max_turns: int = 50
    #: The most tokens, read and written. What the provider does not count is guessed from the length of what was said.
    total_tokens: int = 2_000_000
    #: The most dollars by the gateway's prices.
    max_usd: float | None = None
    #: The most seconds in all.
    seconds: float = 1800.0

    def expects_work(self) -> bool:
        """Return whether an answer without a tool is none, unless it says that it leaves the findings."""
        return not asks_question(self.instructions())

    def __post_init__(self) -> None:
        super(ToolLoopSettings, self).__post_init__()
        require_above_zero(
            max_turns=self.max_turns, total_tokens=self.total_tokens, max_usd=self.max_usd, seconds=self.seconds
        )


class ToolLoop(Chat):
    """One conversation with its limits: the model uses its tools until it says that it is done."""

    _settings: ToolLoopSettings

    def __init__(
        self,
        settings: ToolLoopSettings,
        services: Services,
        access: ModelAccess,
        conversation: Conversation,
        workspace: Workspace,
    ) -> None:
        super().__init__(settings, services, access, conversation, end=time.monotonic() + settings.seconds)
        self._workspace = workspace
        self._guessed = 0  # tokens, where the provider does not count them

    def run(self, question: str) -> str:
        """Work until the model is done; return the text of its last answer. Raises ModelError.

        A model that used no tool, and does not say that it leaves the findings, is reminded once; then it is an error.
        """
        conversation = self._conversation
        conversation.messages.append({"role": "user", "content": question})
        worked = reminded = False
        for _ in range(self._settings.max_turns):
            turn = self._next_turn(self._settings.timeout)
            if not turn.calls:
                if worked or not self._settings.expects_work() or leaves_findings(turn.text):
                    return turn.text
                if reminded:
                    told = f"it used no tool, though it was reminded, and {describe_idleness(turn.text)}"
                    raise self.error(Status.BAD_OUTPUT, told)
                reminded = True
                self._remind(turn)
                continue
            worked = True
            conversation.add_results([self._result(call) for call in turn.calls])
            self._guessed += len(json.dumps(conversation.messages)) // _CHARACTERS
            self._check()
        raise self.error(Status.LIMIT, f"it reached max_turns, {self._settings.max_turns}")

    def keep(self) -> str:
        """Keep the conversation in the store; return its key."""
        return self._services.keep("tool-loop", json.dumps(self._conversation.messages, indent=1))

    def _remind(self, turn: Turn) -> None:
        messages = self._conversation.messages
        if not turn.text.strip():
            messages.pop()  # providers refuse a message without content
        messages.append({"role": "user", "content": REMINDER})

    def _check(self) -> None:
        settings, usage = self._settings, self.usage()
        counted = usage.input_tokens is not None and usage.output_tokens is not None
        tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0) if counted else self._guessed
        if time.monotonic() > self._end:
            raise self.error(Status.LIMIT, f"it took longer than seconds, {settings.seconds:g}")
        if tokens > settings.total_tokens:
            raise self.error(Status.LIMIT, f"it used {tokens} tokens, and total_tokens is {settings.total_tokens}")
        if settings.max_usd is None:
            return
        if usage.cost_usd is None:
            missing = f"what {settings.model} costs is not known, so max_usd cannot be kept; give it models.prices"
            raise self.error(Status.CLIENT_ERROR, f"{missing} in crab.yaml")
        if usage.cost_usd > settings.max_usd:
            cost = format_dollars(usage.cost_usd)
            raise self.error(Status.LIMIT, f"it cost {cost} USD, and max_usd is {settings.max_usd:g}")

    def _result(self, call: ToolCall) -> ToolResult:
        problem = call.problem or _problem(call.name, call.arguments)
        text, fine = (problem, False) if problem is not None else self._use(call.name, call.arguments)
        return ToolResult(id=call.id, text=text, failed=not fine)

    def _use(self, tool: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        """Return what a tool says, and whether it did what it was asked to."""
        if tool == "shell":
            return _output_of(self._shell(given["command"]))
        return self._edit(given["path"], given["old"], given["new"])

    def _edit(self, path: str, old: str, new: str) -> tuple[str, bool]:
        place = shlex.quote(path)
        if not old:
            folder = shlex.quote(posixpath.dirname(path) or ".")
            return _output_of(self._shell(f"test ! -e {place} && mkdir -p {folder} && cat > {place}", new))
        found = self._shell(f"cat {place}")
        if found.exit_code != 0:
            return _output_of(found)
        text = found.stdout.decode(errors="surrogateescape")
        places = _find(text, old)
        if len(places) != 1:
            return f"`old` occurs {len(places)} times in {path}; it must occur once", False
        start, end = places[0].span()
        return _output_of(self._shell(f"cat > {place}", text[:start] + _with_ends(new, places[0]) + text[end:]))

    def _shell(self, command: str, stdin: str = "") -> Completed:
        seconds = max(1.0, min(self._settings.timeout, self._end - time.monotonic()))
        data = stdin.encode(errors="surrogateescape")
        done = self._workspace.run(["sh", "-c", command], stdin=data, seconds=seconds)
        if done.too_much_disk:
            raise self.error(Status.LIMIT, "its commands wrote more to the disk than they may")
        return done


def _problem(tool: str, given: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a call, for the model to mend; None if nothing is, whatever else it gives."""
    known = {each.name: each.input_schema["required"] for each in tools(0, "")}
    if tool not in known:
        return f"there is no tool {tool!r}; there are {' and '.join(known)}"
    names = known[tool]
    wrong = [
        *(f"`{name}` is missing" for name in names if name not in given),
        *(f"`{name}` is no text" for name in names if name in given and not isinstance(given[name], str)),
    ]
    if not wrong:
        return None
    wrong += [f"`{name}` is not known" for name in given if name not in names]
    return f"{tool} takes {', '.join(f'`{name}`' for name in names)}, and {'; '.join(wrong)}"


def _find(text: str, old: str) -> list[re.Match[str]]:
    """Return where ``old`` occurs: byte by byte, or else whatever the lines of the file end with."""
    exact = list(re.finditer(re.escape(old), text))
    return exact or list(re.finditer("\r?\n".join(map(re.escape, re.split("\r?\n", old))), text))


def _with_ends(new: str, place: re.Match[str]) -> str:
    """Return ``new`` with ends of lines as in its place, or as the first of the file where its place has none."""
    before = place[0] if "\n" in place[0] else place.string
    return re.sub("\r?\n", "\r\n", new) if before.partition("\n")[0].endswith("\r") else new


def _output_of(done: Completed) -> tuple[str, bool]:
    """Return what a command printed as the model is shown it, and whether it succeeded."""
    text = cut_middle((done.stdout + done.stderr).decode(errors="replace"), _SHOWN)
    if done.exit_code == 0:
        return text or "(nothing printed)", True
    ended = "it did not end in time" if done.timed_out else f"exit code {done.exit_code}"
    return f"{text}\n({ended})", False
