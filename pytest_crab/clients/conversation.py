"""Conversations with a model, which may call tools: one shape for all callers, a class for each protocol."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from typing_extensions import override

from pytest_crab.clients.anthropic_messages import MessagesClient, kept
from pytest_crab.clients.gateway_connection import GatewayRequest
from pytest_crab.clients.model_http import CALLS, as_json, connection, post, require_success, require_whole
from pytest_crab.clients.status_table import Status, model_error
from pytest_crab.settings import Api

if TYPE_CHECKING:
    from pytest_crab.clients.gateway_connection import GatewayAnswer, GatewayConnection
    from pytest_crab.model_access import ModelAccess

_UNREADABLE = "its answer is not in its provider's protocol"


class RequestSettings(Protocol):
    """The settings of a conversation that its caller gives."""

    @property
    def model(self) -> str:
        """The model that is asked."""

    @property
    def provider(self) -> str:
        """The gateway's name of its provider."""

    @property
    def max_tokens(self) -> int | None:
        """The most tokens of one answer; None: no limit is asked for."""

    def typed_options(self) -> dict[str, Any]:
        """Return further fields of a request."""

    def limited(self, tokens: int | None) -> dict[str, Any]:
        """Return further fields of a request in OpenAI's protocol, with a limit of the answer among them."""

    def protocol(self) -> Api:
        """Return the protocol that the model is asked in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that is offered."""

    name: str
    description: str
    #: A JSON schema of the tool's arguments.
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """The model's wish to use a tool."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    #: Why its arguments cannot be read, and then there are none; None: they can.
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The output of a tool for one call."""

    #: The id of the call.
    id: str
    text: str
    #: Whether the tool did not do what was asked.
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of the model; it is its last one if it calls no tool."""

    text: str
    calls: tuple[ToolCall, ...] = ()


class Conversation(ABC):
    """A conversation in one protocol; ``messages`` is all of it, as the provider is shown it.

    ``exchanges`` are the requests that were answered, with the answers as they came.
    """

    def __init__(
        self, settings: RequestSettings, access: ModelAccess, client: GatewayConnection, tools: Sequence[Tool]
    ) -> None:
        self.messages: list[dict[str, Any]] = []
        self.exchanges: list[Mapping[str, Any]] = []
        self._asked: Mapping[str, Any] = {}
        self._settings = settings
        self._access = access
        self._client = client
        self._tools = tools

    def anew(self) -> Conversation:
        """Return a conversation of the same kind without a message, which another thread may have meanwhile."""
        anew = copy.copy(self)
        anew.messages, anew.exchanges = [], []
        return anew

    def next_turn(self, seconds: float) -> Turn:
        """Ask for the next answer, which is then a part of ``messages``. Raises ModelError."""
        path, document = self.request()
        return self.take(
            post(self._client, self._settings.provider, path, document, token=self._access.token, timeout=seconds)
        )

    @abstractmethod
    def request(self) -> GatewayRequest:
        """Return the request for the next answer, to a path of the provider."""

    def take(self, answer: GatewayAnswer) -> Turn:
        """Read the answer to ``request``, which is then a part of ``messages``. Raises ModelError."""
        told = as_json(answer.text)
        self.exchanges.append({"asked": self.messages[-1]["content"], "status": answer.status_code, "told": told})
        require_success(answer)
        return self._read(told)

    @abstractmethod
    def _read(self, told: Any) -> Turn:
        """Read a good answer. Raises ModelError."""

    @abstractmethod
    def add_results(self, results: Sequence[ToolResult]) -> None:
        """Answer the calls of the last turn."""

    def close(self) -> None:  # noqa: B027 - not every protocol opens anything
        """Close what this conversation has opened, also for those that are made of it."""


@contextmanager
def open_conversation(
    settings: RequestSettings, access: ModelAccess, tools: Sequence[Tool] = ()
) -> Iterator[Conversation]:
    """Open a conversation in the protocol of the settings' provider, over a connection of its own."""
    with connection(access) as client:
        conversation = start_conversation(settings, access, client, tools)
        try:
            yield conversation
        finally:
            conversation.close()


def start_conversation(
    settings: RequestSettings, access: ModelAccess, client: GatewayConnection, tools: Sequence[Tool] = ()
) -> Conversation:
    """Return a conversation in the protocol of the settings' provider, over a connection that others use too."""
    kind = _Messages if settings.protocol() is Api.ANTHROPIC else _ChatCompletions
    return kind(settings, access, client, tools)


class _Messages(Conversation):
    """Anthropic's Messages; a library asks them, which is shared with the conversations that are made of this one."""

    def __init__(
        self, settings: RequestSettings, access: ModelAccess, client: GatewayConnection, tools: Sequence[Tool]
    ) -> None:
        super().__init__(settings, access, client, tools)
        self._library = MessagesClient(access, settings.provider)

    @override
    def next_turn(self, seconds: float) -> Turn:
        return self.take(self._library.ask(self.request().document, seconds))

    @override
    def close(self) -> None:
        self._library.close()

    @override
    def request(self) -> GatewayRequest:
        settings = self._settings
        tools = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in self._tools
        ]
        document = {
            "model": settings.model,
            "max_tokens": settings.max_tokens,
            "messages": kept(self.messages) if tools else self.messages,
            **({"tools": tools} if tools else {}),
            **settings.typed_options(),
        }
        if document["max_tokens"] is None:
            raise model_error(Status.CLIENT_ERROR, "Anthropic's protocol asks for a limit: give max_tokens a number")
        self._asked = {name: value for name, value in document.items() if value is not None}
        return GatewayRequest("v1/messages", self._asked)

    def _read(self, told: Any) -> Turn:
        try:
            content = told["content"]
            stop = told.get("stop_reason")
            text = "".join(part["text"] for part in content if part["type"] == "text")
            calls = tuple(self._call(part) for part in content if part["type"] == "tool_use")
        except (LookupError, TypeError, AttributeError) as error:
            raise model_error(Status.BAD_OUTPUT, _UNREADABLE) from error
        require_whole(stop, self._asked, CALLS if self._tools else frozenset())
        self.messages.append({"role": "assistant", "content": content})
        return Turn(text=text, calls=calls)

    def _call(self, part: Mapping[str, Any]) -> ToolCall:
        arguments, problem = _read_arguments(part["input"])
        return ToolCall(id=str(part["id"]), name=str(part["name"]), arguments=arguments, problem=problem)

    @override
    def add_results(self, results: Sequence[ToolResult]) -> None:
        parts = [
            {"type": "tool_result", "tool_use_id": each.id, "content": each.text, "is_error": each.failed}
            for each in results
        ]
        self.messages.append({"role": "user", "content": parts})


class _ChatCompletions(Conversation):
    """OpenAI's chat/completions, which servers of one's own speak too."""

    @override
    def request(self) -> GatewayRequest:
        settings = self._settings
        tools = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in self._tools
        ]
        self._asked = {
            "model": settings.model,
            **settings.limited(settings.max_tokens),
            "messages": self.messages,
            **({"tools": tools} if tools else {}),
        }
        return GatewayRequest("chat/completions", self._asked)

    def _read(self, told: Any) -> Turn:
        try:
            choice = told["choices"][0]
            message = choice["message"]
            content = message.get("content") or ""
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            text = "".join(part["text"] for part in parts if part["type"] == "text")
            calls = (message.get("tool_calls") or []) if self._tools else []
            stop = "refusal" if message.get("refusal") else choice.get("finish_reason")
            turn = Turn(text=text, calls=tuple(self._call(number, each) for number, each in enumerate(calls)))
        except (LookupError, TypeError, AttributeError) as error:
            raise model_error(Status.BAD_OUTPUT, _UNREADABLE) from error
        require_whole(stop, self._asked, CALLS if self._tools else frozenset())
        self.messages.append(_repeatable(turn))
        return turn

    def _call(self, number: int, call: Mapping[str, Any]) -> ToolCall:
        """Read one call; some servers give it no id, and some its arguments as an object."""
        arguments, problem = _read_arguments(call["function"]["arguments"])
        return ToolCall(
            id=str(call.get("id") or f"call_{len(self.messages)}_{number}"),
            name=str(call["function"]["name"]),
            arguments=arguments,
            problem=problem,
        )

    @override
    def add_results(self, results: Sequence[ToolResult]) -> None:
        """The protocol has no field for a failure, so the text says it."""
        for each in results:
            text = f"This failed: {each.text}" if each.failed else each.text
            self.messages.append({"role": "tool", "tool_call_id": each.id, "content": text})


def _read_arguments(given: Any) -> tuple[Mapping[str, Any], str | None]:
    """Return the arguments of a call; where they cannot be read, none and the reason."""
    try:
        arguments = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError) as error:
        return {}, f"its arguments are not JSON ({error})"
    return (arguments, None) if isinstance(arguments, Mapping) else ({}, "its arguments are no JSON object")


def _repeatable(turn: Turn) -> dict[str, Any]:
    """Return an answer as the next request repeats it: nothing in it that a provider may refuse there."""
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for call in turn.calls
    ]
    return {"role": "assistant", "content": turn.text, **({"tool_calls": calls} if calls else {})}
