"""Asking a model without a client: one conversation through the gateway, in the protocol of its provider."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pytest_crab import serialization
from pytest_crab.clients.answer_limits import most_tokens
from pytest_crab.clients.conversation import Conversation, Turn, open_conversation
from pytest_crab.clients.model_http import checked, connection, post
from pytest_crab.clients.prompting import digest_of, instructions
from pytest_crab.clients.status_table import Status, model_error
from pytest_crab.errors import ModelError
from pytest_crab.model_access import ModelAccess, Services
from pytest_crab.settings import Api, TokenLimit, load_settings
from pytest_crab.types import Usage

T = TypeVar("T")


def endpoint_of(provider: str, folder: Path) -> Mapping[str, str] | None:
    """Return address and protocol of a provider by crab.yaml in ``folder``; None for an unknown one. Raises BadInput.

    They decide an answer: the same name may be another server tomorrow.
    """
    found = load_settings(folder).models.providers.get(provider)
    return None if found is None else {"base_url": found.base_url, "api": str(found.api)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """Settings of everything that asks a model directly."""

    #: The name of the built-in instructions.
    role: ClassVar[str]
    #: The package that has the built-in instructions, in its folder prompts.
    package: ClassVar[str] = "pytest_crab.clients"
    #: The diff is shown with numbers, which the answer is to give. Part of the identity, so that reviews are made anew.
    numbered: ClassVar[bool] = False
    #: The settings that are no part of the identity: they decide no answer, or stand in it as something else.
    beside_identity: ClassVar[frozenset[str]] = frozenset({"prompt", "folder"})

    #: The model that ``provider`` is asked for.
    model: str
    #: The gateway's name of the provider.
    provider: str = "anthropic"
    #: The provider's protocol; None: the one that crab.yaml gives it.
    api: Api | None = None
    #: A file of instructions in place of ours, relative to ``folder``.
    prompt: str | None = None
    #: In seconds, for one pull request.
    timeout: float = 600.0
    #: The most that one answer may be long; None: no limit is asked for; 0: the limit of the model.
    max_tokens: int | None = 0
    #: The field that says so to OpenAI's protocol; None: the one that crab.yaml gives the provider.
    token_limit: TokenLimit | None = None
    #: Further fields of the request, such as temperature or top_p; one that is null is left out, and one that limits
    #: the answer replaces ``max_tokens``.
    options: Mapping[str, Any] | None = None
    #: The folder of crab.yaml.
    folder: str = "."

    def __post_init__(self) -> None:
        if self.max_tokens == 0:
            object.__setattr__(self, "max_tokens", most_tokens(self.model))
        if self.timeout <= 0 or (self.max_tokens is not None and self.max_tokens <= 0):
            raise ValueError("timeout and max_tokens should be above 0")
        require_readable("prompt", self.prompt, self.instructions)

    def instructions(self) -> str:
        """Return the text that goes before the data."""
        return instructions(self.role, self.prompt, self.folder, self.package)

    def identity(self) -> Mapping[str, Any]:
        """The model, its endpoint, the prompt's digest and every other setting. Raises BadInput."""
        settings = {name: value for name, value in serialization.dump(self).items() if name not in self.beside_identity}
        return {
            "adapter": self.role,
            "model": self.model,
            "endpoint": endpoint_of(self.provider, Path(self.folder)),
            "prompt": digest_of(self.instructions()),
            "settings": settings,
            **({"diff": "numbered"} if self.numbered else {}),
        }

    def typed_options(self) -> dict[str, Any]:
        """The further fields of a request, typed as JSON, since YAML is read as texts alone."""
        return {name: _parse_json(value) for name, value in (self.options or {}).items()}

    @property
    def providers(self) -> tuple[str, ...]:
        """The providers that are asked, which should be known before a run begins."""
        return (self.provider,)

    def protocol(self) -> Api:
        """The protocol that the model is asked in. Raises BadInput."""
        if self.api is not None:
            return self.api
        endpoint = endpoint_of(self.provider, Path(self.folder))
        return Api.OPENAI if endpoint is None else Api(endpoint["api"])

    def limited(self, tokens: int | None) -> dict[str, Any]:
        """Return the further fields of a request in OpenAI's protocol whose answer has at most so many tokens."""
        options = self.typed_options()
        limit = (
            {}
            if tokens is None or any(each.value in options for each in TokenLimit)
            else {str(self.limit_field()): tokens}
        )
        return {name: value for name, value in (limit | options).items() if value is not None}

    def limit_field(self) -> TokenLimit:
        """Return the field that limits an answer in OpenAI's protocol. Raises BadInput."""
        if self.token_limit is not None:
            return self.token_limit
        known = load_settings(Path(self.folder)).models.providers.get(self.provider)
        return TokenLimit.MAX_TOKENS if known is None else known.token_limit

    @contextmanager
    def chat(self, services: Services) -> Iterator[Chat]:
        """Open a way to the model for one step. Raises ModelError, GatewayError."""
        with services.models(self.provider) as access, open_conversation(self, access) as conversation:
            yield Chat(self, services, access, conversation)

    def request(
        self, services: Services, path: str, fields: Mapping[str, Any], read: Callable[[Any], T]
    ) -> tuple[T, Usage]:
        """Return what ``read`` takes from the answer to one request of the provider's ``path``, and what it used.

        Instructions are not sent. Raises ModelError and GatewayError.
        """
        document = {"model": self.model, **self.typed_options(), **fields}
        with services.models(self.provider) as access, connection(access) as client:
            answer = post(client, self.provider, path, document, token=access.token, timeout=self.timeout)
            found = read(checked(answer))
        return found, services.usage(access)


class Chat:
    """A model being asked; every exchange is kept for the transcript.

    ``asked_again`` counts the answers that could not be read, after which the same was asked once more.
    """

    def __init__(
        self,
        settings: ChatSettings,
        services: Services,
        access: ModelAccess,
        conversation: Conversation,
        *,
        end: float | None = None,
        beside: list[Conversation] | None = None,
    ) -> None:
        self._settings = settings
        self._services = services
        self._access = access
        self._conversation = conversation
        self._all = [conversation] if beside is None else beside
        self._end = time.monotonic() + settings.timeout if end is None else end
        self.asked_again = 0

    def branch(self) -> Chat:
        """Return a chat of the same step for another thread: with this deadline, and kept in one transcript."""
        anew = self._conversation.anew()
        self._all.append(anew)
        return Chat(self._settings, self._services, self._access, anew, end=self._end, beside=self._all)

    def ask(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Return the answer to a conversation of {"role": user or assistant, "content": text}. Raises ModelError."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise self.error(Status.TIMEOUT, f"it took longer than timeout, {self._settings.timeout:g} s")
        self._conversation.messages[:] = map(dict, messages)
        return self._next_turn(left).text

    def _next_turn(self, seconds: float) -> Turn:
        try:
            return self._conversation.next_turn(seconds)
        except ModelError as error:
            raise self.error(Status(error.status or Status.CLIENT_ERROR), str(error)) from error

    def usage(self) -> Usage:
        """Return what the gateway has metered."""
        return self._services.usage(self._access)

    def keep(self) -> str:
        """Keep the exchanges in the store, those of branches too; return their key."""
        return self._services.keep(self._settings.role, json.dumps(self._exchanges(), indent=1))

    def _exchanges(self) -> list[Mapping[str, Any]]:
        return [exchange for conversation in self._all for exchange in conversation.exchanges]

    def error(self, status: Status, sentence: str) -> ModelError:
        """Return the error of this status; its sentence names the model and the kept exchange."""
        kept = f"; the exchange is transcript {self.keep()[:12]} in the store" if self._exchanges() else ""
        again = ", and was asked once more" if self.asked_again else ""
        return model_error(status, f"{self._settings.model} ended as {status}{again}: {sentence}{kept}")


def require_readable(name: str, file: str | None, read: Any) -> None:
    """Raise ValueError unless a file of instructions can be read."""
    try:
        read()
    except (OSError, ValueError) as error:
        raise ValueError(f"{name} {file} cannot be read: {error}") from error


def _parse_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
