"""Asking a model without a client: one conversation through the gateway, in the protocol of its provider."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import ClassVar

from pytest_crab import plain
from pytest_crab.clients.answers import Unanswered
from pytest_crab.clients.answers import address
from pytest_crab.clients.answers import as_json
from pytest_crab.clients.answers import connection
from pytest_crab.clients.answers import post
from pytest_crab.clients.answers import refused_with
from pytest_crab.clients.answers import require_whole
from pytest_crab.clients.endpoints import endpoint_of
from pytest_crab.clients.failures import Status
from pytest_crab.clients.prompting import digest_of
from pytest_crab.clients.prompting import instructions
from pytest_crab.errors import ReviewerError
from pytest_crab.parsing.loose import read_loose
from pytest_crab.protocols import Checkout
from pytest_crab.protocols import ModelAccess
from pytest_crab.settings import Api
from pytest_crab.types import Review


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingSettings:
    """What reviewers that ask a model directly share.

    ``model`` is asked of ``provider``, the gateway's name of it; ``api`` is the provider's protocol (None: the one that
    crab.yaml gives it). ``prompt`` is a file of instructions in place of ours, relative to ``folder``, which is
    crab.yaml's. ``timeout`` is in seconds, for one pull request; ``max_tokens`` is the
    most that one answer may be long. ``options`` are further fields of the request, such as temperature or top_p.
    """

    role: ClassVar[str]

    model: str
    provider: str = "anthropic"
    api: Api | None = None
    prompt: str | None = None
    timeout: float = 600.0
    max_tokens: int = 8192
    options: Mapping[str, Any] | None = None
    folder: str = "."

    def __post_init__(self) -> None:
        if self.timeout <= 0 or self.max_tokens <= 0:
            raise ValueError("timeout and max_tokens should be above 0")
        try:
            self.told()
        except (OSError, ValueError) as error:
            raise ValueError(f"prompt {self.prompt} cannot be read: {error}") from error

    def told(self) -> str:
        """The instructions that go before the data."""
        return instructions(self.role, None if self.prompt is None else Path(self.folder, self.prompt).expanduser())

    def identity(self) -> Mapping[str, Any] | None:
        """The model, who is asked for it, the prompt's digest and every other setting. Raises BadInput."""
        settings = plain.dump(self)
        settings.pop("prompt", None)
        settings.pop("folder", None)
        return {
            "adapter": self.role,
            "model": self.model,
            "endpoint": endpoint_of(self.provider, Path(self.folder)),
            "prompt": digest_of(self.told()),
            "settings": settings,
        }

    def typed_options(self) -> dict[str, Any]:
        """The further fields of a request, as JSON means them."""
        return {name: _typed(value) for name, value in (self.options or {}).items()}

    @property
    def providers(self) -> tuple[str, ...]:
        """The providers that are asked, which should be known before a run begins."""
        return (self.provider,)

    def protocol(self) -> Api:
        """The protocol that the model is asked in. Raises BadInput."""
        endpoint = endpoint_of(self.provider, Path(self.folder))
        return self.api or (Api.OPENAI if endpoint is None else Api(endpoint["api"]))

    @contextmanager
    def asking(self, checkout: Checkout) -> Iterator[Asking]:
        """A way to the model for one step. Raises ReviewerError, GatewayError."""
        with checkout.models(self.provider) as access:
            yield Asking(self, checkout, access)


class Asking:
    """A model being asked; every exchange is noted for the transcript."""

    def __init__(self, settings: AskingSettings, checkout: Checkout, access: ModelAccess) -> None:
        self._settings = settings
        self._checkout = checkout
        self._access = access
        self._api = settings.protocol()
        self._end = time.monotonic() + settings.timeout
        self._exchanges: list[Mapping[str, Any]] = []

    def ask(self, messages: list[dict[str, str]]) -> str:
        """The model's answer to a conversation of {"role": user or assistant, "content": text}.

        Raises ReviewerError, with the status that a client's failure of this kind has.
        """
        path = "/v1/messages" if self._api is Api.ANTHROPIC else "/chat/completions"
        settings, access = self._settings, self._access
        left = self._end - time.monotonic()
        if left <= 0:
            raise self._failed(Status.TIMEOUT, f"it took longer than timeout, {settings.timeout:g} s")
        try:
            with connection(access) as client:
                url = f"{address(settings.provider)}{path}"
                answer = post(client, url, self._request(messages), token=access.token, timeout=left)
            self._exchanges.append(
                {"asked": messages[-1]["content"], "status": answer.status_code, "told": as_json(answer.text)}
            )
            if not answer.is_success:
                raise refused_with(answer.status_code, answer.text)
            return self._text(answer.text)
        except Unanswered as error:
            raise self._failed(error.status, str(error)) from error

    def ask_for_findings(
        self, messages: list[dict[str, str]], *, path: str | None = None, files: Collection[str] = ()
    ) -> tuple[str, Review]:
        """The answer, and the findings in it, all on ``path`` if given; ``files`` are those of the diff.

        Raises ReviewerError where it is no review.
        """
        text = self.ask(messages)
        problems: list[str] = []
        review = read_loose(text, problems, path=path, files=files)
        if review is None:
            raise self._failed(Status.BAD_OUTPUT, f"its findings cannot be read: {problems[0]}")
        return text, review

    def reviewed(self, review: Review) -> Review:
        """The review as it goes on the record, with what the gateway has metered."""
        return dataclasses.replace(
            review,
            usage=self._checkout.usage(self._access),
            version=self._settings.model,
            transcript=self.keep(),
        )

    def keep(self) -> str:
        """Keep the exchanges in the store; the key that they are under."""
        return self._checkout.keep(self._settings.role, json.dumps(self._exchanges, indent=1))

    def _request(self, messages: list[dict[str, str]]) -> dict[str, Any]:
        longest = "max_tokens" if self._api is Api.ANTHROPIC else "max_completion_tokens"
        return {
            "model": self._settings.model,
            longest: self._settings.max_tokens,
            **self._settings.typed_options(),
            "messages": messages,
        }

    def _text(self, body: str) -> str:
        """The text of an answer. Raises Unanswered if the model refused, was cut off, or it is no answer."""
        try:
            document = as_json(body)
            if self._api is Api.ANTHROPIC:
                text = "".join(part["text"] for part in document["content"] if part["type"] == "text")
                stop = document["stop_reason"]
            else:
                choice = document["choices"][0]
                content = choice["message"].get("content") or ""
                parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
                text = "".join(part["text"] for part in parts if part["type"] == "text")
                stop = "refusal" if choice["message"].get("refusal") else choice["finish_reason"]
        except (LookupError, TypeError, AttributeError) as error:
            raise Unanswered(Status.BAD_OUTPUT, "its answer is not in its provider's protocol") from error
        require_whole(stop, self._settings.max_tokens)
        return text

    def _failed(self, status: Status, sentence: str) -> ReviewerError:
        kept = f"; the exchange is transcript {self.keep()[:12]} in the store" if self._exchanges else ""
        return ReviewerError(f"{self._settings.model} ended as {status}: {sentence}{kept}", status=str(status))


def _typed(value: Any) -> Any:
    """A value of ``options`` as JSON means it, since YAML is read as texts alone."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
