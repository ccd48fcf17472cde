"""Conversations with a model that calls tools: one shape for whoever runs the tools, a class for each protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any
from typing import Protocol

from pytest_crab.clients.answers import CALLS
from pytest_crab.clients.answers import Unanswered
from pytest_crab.clients.answers import address
from pytest_crab.clients.answers import as_json
from pytest_crab.clients.answers import connection
from pytest_crab.clients.answers import post
from pytest_crab.clients.answers import refused_with
from pytest_crab.clients.answers import require_whole
from pytest_crab.clients.failures import Status
from pytest_crab.settings import Api

if TYPE_CHECKING:
    import httpx2

    from pytest_crab.clients.asking import AskingSettings
    from pytest_crab.protocols import ModelAccess

_UNREADABLE = "its answer is not in its provider's protocol"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that is offered; ``input_schema`` is a JSON schema of its arguments."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """The model's wish to use a tool; ``arguments`` None: what it gave is no JSON object."""

    id: str
    name: str
    arguments: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool printed for the call of this id; ``failed``: it did not do what was asked."""

    id: str
    text: str
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of the model; it is its last one if it calls no tool."""

    text: str
    calls: tuple[ToolCall, ...]


class Conversation(Protocol):
    """A conversation in one protocol; ``messages`` is all of it, as the provider is shown it."""

    messages: list[dict[str, Any]]

    def next_turn(self) -> Turn:
        """Ask for the next answer. Raises Unanswered."""

    def add_results(self, results: Sequence[ToolResult]) -> None:
        """Put the results of the last answer's calls behind it."""


@contextmanager
def open_conversation(
    settings: AskingSettings, access: ModelAccess, tools: Sequence[Tool], question: str
) -> Iterator[Conversation]:
    """A conversation that begins with ``question``, in the protocol of the settings' provider."""
    kind = _Messages if settings.protocol() is Api.ANTHROPIC else _ChatCompletions
    with connection(access) as client:
        yield kind(settings, access, client, tools, question)


class _Messages:
    """Anthropic's Messages, through its SDK."""

    def __init__(
        self,
        settings: AskingSettings,
        access: ModelAccess,
        client: httpx2.Client,
        tools: Sequence[Tool],
        question: str,
    ) -> None:
        import anthropic

        self.messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
        self._settings = settings
        self._tools: Any = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema} for tool in tools
        ]
        self._client = anthropic.Anthropic(
            api_key=access.token,
            base_url=address(settings.provider),
            http_client=client,
            timeout=settings.timeout,
            max_retries=0,  # the gateway has tried again before
        )

    def next_turn(self) -> Turn:
        """See Conversation."""
        import anthropic

        message = self._ask()
        if not isinstance(message, anthropic.types.Message):
            raise Unanswered(Status.BAD_OUTPUT, _UNREADABLE)
        require_whole(message.stop_reason, self._settings.max_tokens, CALLS)
        self.messages.append({"role": "assistant", "content": [part.model_dump() for part in message.content]})
        calls = tuple(
            ToolCall(id=part.id, name=part.name, arguments=part.input if isinstance(part.input, Mapping) else None)
            for part in message.content
            if part.type == "tool_use"
        )
        return Turn(text="".join(part.text for part in message.content if part.type == "text"), calls=calls)

    def _ask(self) -> Any:
        import anthropic

        settings = self._settings
        try:
            return self._client.messages.create(
                model=settings.model,
                max_tokens=settings.max_tokens,
                messages=self.messages,  # type: ignore[arg-type]  # what came as blocks goes back as mappings
                tools=self._tools,
                extra_body=settings.typed_options(),
            )
        except anthropic.APITimeoutError as error:
            raise Unanswered(Status.TIMEOUT, f"no answer within {settings.timeout:g} s") from error
        except anthropic.APIConnectionError as error:
            raise Unanswered(Status.CLIENT_ERROR, f"the connection broke ({error})") from error
        except anthropic.APIStatusError as error:
            raise refused_with(error.status_code, error.response.text) from error
        except (anthropic.APIError, ValueError) as error:
            raise Unanswered(Status.BAD_OUTPUT, f"its answer cannot be read ({type(error).__name__})") from error

    def add_results(self, results: Sequence[ToolResult]) -> None:
        """See Conversation."""
        parts = [
            {"type": "tool_result", "tool_use_id": each.id, "content": each.text, "is_error": each.failed}
            for each in results
        ]
        self.messages.append({"role": "user", "content": parts})


class _ChatCompletions:
    """OpenAI's chat/completions, which servers of one's own speak too."""

    def __init__(
        self,
        settings: AskingSettings,
        access: ModelAccess,
        client: httpx2.Client,
        tools: Sequence[Tool],
        question: str,
    ) -> None:
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
        self._settings = settings
        self._token = access.token
        self._client = client
        self._tools = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in tools
        ]

    def next_turn(self) -> Turn:
        """See Conversation."""
        settings = self._settings
        document = {
            "model": settings.model,
            "max_completion_tokens": settings.max_tokens,
            **settings.typed_options(),
            "messages": self.messages,
            "tools": self._tools,
        }
        url = f"{address(settings.provider)}/chat/completions"
        answer = post(self._client, url, document, token=self._token, timeout=settings.timeout)
        if not answer.is_success:
            raise refused_with(answer.status_code, answer.text)
        try:
            choice = as_json(answer.text)["choices"][0]
            message = choice["message"]
            text = _text(message.get("content") or "")
            calls = message.get("tool_calls") or []
            stop = "refusal" if message.get("refusal") else choice["finish_reason"]
            turn = Turn(text=text, calls=tuple(self._call(number, each) for number, each in enumerate(calls)))
        except (LookupError, TypeError, AttributeError) as error:
            raise Unanswered(Status.BAD_OUTPUT, _UNREADABLE) from error
        require_whole(stop, settings.max_tokens, CALLS)
        self.messages.append(_as_shown(turn))
        return turn

    def _call(self, number: int, call: Mapping[str, Any]) -> ToolCall:
        """One call as it came; some servers give it no id, and some its arguments as an object."""
        given = call["function"]["arguments"]
        arguments = as_json(given) if isinstance(given, str) else given
        return ToolCall(
            id=str(call.get("id") or f"call_{len(self.messages)}_{number}"),
            name=str(call["function"]["name"]),
            arguments=arguments if isinstance(arguments, Mapping) else None,
        )

    def add_results(self, results: Sequence[ToolResult]) -> None:
        """See Conversation; the protocol has no field for a failure, so the text says it."""
        for each in results:
            text = f"This failed: {each.text}" if each.failed else each.text
            self.messages.append({"role": "tool", "tool_call_id": each.id, "content": text})


def _text(content: str | Sequence[Mapping[str, Any]]) -> str:
    """The text of an answer, which some servers give in parts."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content if part["type"] == "text")


def _as_shown(turn: Turn) -> dict[str, Any]:
    """An answer as the next request repeats it: nothing in it that a provider may refuse there."""
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments or {})},
        }
        for call in turn.calls
    ]
    return {"role": "assistant", "content": turn.text, **({"tool_calls": calls} if calls else {})}
