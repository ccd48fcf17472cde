"""A small coding agent of our own: a model of Anthropic's with a shell and an editor that act inside the workspace."""

from __future__ import annotations

import json
import posixpath
import shlex
import time
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Any
from typing import ClassVar

from pytest_crab.clients.asking import CUT
from pytest_crab.clients.asking import WHOLE
from pytest_crab.clients.asking import AskingSettings
from pytest_crab.clients.failures import Status
from pytest_crab.clients.prompting import prompt
from pytest_crab.clients.running import require_above_zero
from pytest_crab.errors import AgentError
from pytest_crab.protocols import Checkout
from pytest_crab.protocols import Completed
from pytest_crab.protocols import ModelAccess
from pytest_crab.protocols import Workspace
from pytest_crab.types import Finding
from pytest_crab.types import PullRequest
from pytest_crab.types import Revision

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import Message

#: The most of one command's output, in characters, that the model is shown: its start and its end.
_SHOWN = 20_000
_NOTES = 16_000
#: So many characters are taken for a token where the provider does not count.
_CHARACTERS = 4

_TOOLS: Any = (
    {
        "name": "shell",
        "description": "Run a command with sh in the repository's folder; there is no network. Returns what it prints.",
        "input_schema": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
    {
        "name": "edit",
        "description": (
            "Replace a text in a file by another. `old` must occur exactly once, with enough lines around it to say "
            "which place is meant; an empty `old` makes a new file of `new`."
        ),
        "input_schema": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "old": {"type": "string"}, "new": {"type": "string"}},
            "required": ["path", "old", "new"],
        },
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicAgent(AskingSettings):
    """Lets the model use its tools until it says that it is done.

    It ends as ``limit``, and its oracles unknown, after ``max_turns`` answers, ``total_tokens`` read and written,
    ``max_usd`` by the prices in crab.yaml, or ``seconds`` in all; ``timeout`` is for one answer or command. Tokens that
    the provider does not count are guessed from the length of what was said.
    """

    role: ClassVar[str] = "revise"
    simulated: bool = field(default=False, init=False)

    max_turns: int = 50
    total_tokens: int = 2_000_000
    max_usd: float | None = None
    seconds: float = 1800.0

    def __post_init__(self) -> None:
        super(AnthropicAgent, self).__post_init__()
        require_above_zero(
            max_turns=self.max_turns, total_tokens=self.total_tokens, max_usd=self.max_usd, seconds=self.seconds
        )

    def identity(self) -> Mapping[str, Any] | None:
        """As that of every asker, with the tools."""
        return {**(AskingSettings.identity(self) or {}), "adapter": "anthropic agent", "tools": _TOOLS}

    def revise(self, pull_request: PullRequest, findings: Sequence[Finding], checkout: Checkout) -> Revision:
        """What the model changes. Raises AgentError, GatewayError, Cancelled, EngineError."""
        with checkout.models(self.provider) as access, checkout.workspace(models=access) as workspace:
            work = _Work(self, checkout, access, workspace)
            said = work.run(prompt(self.told(), pull_request, findings))
            return Revision(
                diff=workspace.diff().replace(access.token, "[token]"),  # it is void after the step
                usage=checkout.usage(access),
                version=self.model,
                notes=said.replace(access.token, "[token]")[:_NOTES] or None,
                transcript=work.keep(),
            )


class _Work:
    """One conversation, with its limits."""

    def __init__(self, settings: AnthropicAgent, checkout: Checkout, access: ModelAccess, workspace: Workspace) -> None:
        self._settings = settings
        self._checkout = checkout
        self._access = access
        self._workspace = workspace
        self._messages: list[dict[str, Any]] = []
        self._end = time.monotonic() + settings.seconds
        self._guessed = 0  # tokens, where the provider does not count them

    def run(self, asked: str) -> str:
        """Work until the model is done; what it says at the end. Raises AgentError."""
        import anthropic
        import httpx2

        self._messages.append({"role": "user", "content": asked})
        with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(self._access.socket))) as way:
            client = anthropic.Anthropic(
                api_key=self._access.token,
                base_url=f"http://gateway/{self._settings.provider}",
                http_client=way,
                timeout=self._settings.timeout,
                max_retries=0,  # the gateway has tried again before
            )
            for _ in range(self._settings.max_turns):
                message = self._answer(client)
                self._messages.append({"role": "assistant", "content": [part.model_dump() for part in message.content]})
                results = list(self._results(message))
                if not results:
                    return "".join(part.text for part in message.content if part.type == "text")
                self._guessed += len(json.dumps(self._messages)) // _CHARACTERS
                self._messages.append({"role": "user", "content": results})
                self._check()
        raise self.failed(Status.LIMIT, f"it reached max_turns, {self._settings.max_turns}")

    def failed(self, status: Status, sentence: str) -> AgentError:
        """The error that carries the status."""
        kept = f"; its transcript is {self.keep()[:12]} in the store"
        return AgentError(f"{self._settings.model} ended as {status}: {sentence}{kept}", status=str(status))

    def keep(self) -> str:
        """Keep the conversation in the store; the key that it is under."""
        return self._checkout.keep("anthropic", json.dumps(self._messages, indent=1))

    def _answer(self, client: Anthropic) -> Message:
        import anthropic

        settings = self._settings
        try:
            message = client.messages.create(
                model=settings.model,
                max_tokens=settings.max_tokens,
                messages=self._messages,  # type: ignore[arg-type]  # what came as blocks goes back as mappings
                tools=_TOOLS,
                extra_body=settings.typed_options(),
            )
        except anthropic.APITimeoutError as error:
            raise self.failed(Status.TIMEOUT, f"no answer within {settings.timeout:g} s") from error
        except anthropic.APIStatusError as error:
            raise self.failed(settings.status_of(error.status_code), f"it answered {error.status_code}") from error
        except (anthropic.APIError, ValueError) as error:
            raise self.failed(Status.BAD_OUTPUT, f"its answer cannot be read ({type(error).__name__})") from error
        if not isinstance(message, anthropic.types.Message):
            raise self.failed(Status.BAD_OUTPUT, "its answer is not in its provider's protocol")
        if message.stop_reason == "refusal":
            raise self.failed(Status.REFUSED, "the model refuses")
        stop = str(message.stop_reason)
        if stop in CUT:
            raise self.failed(Status.LIMIT, f"the answer was cut ({stop}; max_tokens is {settings.max_tokens})")
        if stop not in {*WHOLE, "tool_use"}:
            raise self.failed(Status.BAD_OUTPUT, f"its answer is no whole one, it stopped for {stop!r}")
        return message

    def _check(self) -> None:
        settings, usage = self._settings, self._checkout.usage(self._access)
        counted = usage.input_tokens is not None and usage.output_tokens is not None
        tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0) if counted else self._guessed
        if time.monotonic() > self._end:
            raise self.failed(Status.LIMIT, f"it took longer than seconds, {settings.seconds:g}")
        if tokens > settings.total_tokens:
            raise self.failed(Status.LIMIT, f"it used {tokens} tokens, and total_tokens is {settings.total_tokens}")
        if settings.max_usd is None:
            return
        if usage.cost_usd is None:
            missing = f"what {settings.model} costs is not known, so max_usd cannot be kept; give it models.prices"
            raise self.failed(Status.CLIENT_ERROR, f"{missing} in crab.yaml")
        if usage.cost_usd > settings.max_usd:
            raise self.failed(Status.LIMIT, f"it cost {usage.cost_usd:.2f} USD, and max_usd is {settings.max_usd:g}")

    def _results(self, message: Message) -> Iterator[dict[str, Any]]:
        for part in message.content:
            if part.type == "tool_use":
                text, fine = self._use(part.name, part.input if isinstance(part.input, Mapping) else {})
                yield {"type": "tool_result", "tool_use_id": part.id, "content": text, "is_error": not fine}

    def _use(self, tool: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        """What a tool says, and whether it did what it was asked to."""
        if tool == "shell" and isinstance(given.get("command"), str):
            return _said(self._shell(given["command"]))
        if tool == "edit" and all(isinstance(given.get(name), str) for name in ("path", "old", "new")):
            return self._edit(given["path"], given["old"], given["new"])
        return f"there is no tool {tool!r} that takes this", False

    def _edit(self, path: str, old: str, new: str) -> tuple[str, bool]:
        place = shlex.quote(path)
        if not old:
            folder = shlex.quote(posixpath.dirname(path) or ".")
            return _said(self._shell(f"test ! -e {place} && mkdir -p {folder} && cat > {place}", new))
        found = self._shell(f"cat {place}")
        if found.exit_code != 0:
            return _said(found)
        text = found.stdout.decode(errors="surrogateescape")
        if text.count(old) != 1:
            return f"`old` occurs {text.count(old)} times in {path}; it must occur once", False
        return _said(self._shell(f"cat > {place}", text.replace(old, new)))

    def _shell(self, command: str, stdin: str = "") -> Completed:
        seconds = max(1.0, min(self._settings.timeout, self._end - time.monotonic()))
        data = stdin.encode(errors="surrogateescape")
        done = self._workspace.run(["sh", "-c", command], stdin=data, seconds=seconds)
        if done.too_much_disk:
            raise self.failed(Status.LIMIT, "its commands wrote more to the disk than they may")
        return done


def _said(done: Completed) -> tuple[str, bool]:
    text = (done.stdout + done.stderr).decode(errors="replace")
    if len(text) > _SHOWN:
        half = _SHOWN // 2
        text = f"{text[:half]}\n[{len(text) - _SHOWN} characters left out]\n{text[-half:]}"
    if done.exit_code == 0:
        return text or "(nothing printed)", True
    ended = "it did not end in time" if done.timed_out else f"exit code {done.exit_code}"
    return f"{text}\n({ended})", False
