"""Asking a model without a client: one conversation through the gateway, in the protocol of its provider."""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import ClassVar

from pytest_crab import plain
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

_STATUSES = {401: Status.AUTH, 403: Status.AUTH, 429: Status.RATE_LIMITED, 529: Status.OVERLOADED}
_WORDS = 200
#: The stop reasons of a whole answer, and of one that is cut.
WHOLE = {"end_turn", "stop_sequence", "stop"}
CUT = {"max_tokens", "length", "model_context_window_exceeded"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingSettings:
    """What reviewers that ask a model directly share.

    ``model`` is asked of ``provider``, the gateway's name of it; ``api`` is the provider's protocol (None: anthropic
    for the provider of that name, else openai's chat/completions). ``prompt`` is a file of instructions in place of
    ours, relative to ``folder``, which is crab.yaml's. ``timeout`` is in seconds, for one answer; ``max_tokens`` is the
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

    def status_of(self, code: int) -> Status:
        """What an HTTP status other than 200 is called."""
        return _STATUSES.get(code, Status.OVERLOADED if code >= 500 else Status.CLIENT_ERROR)

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
        default = Api.ANTHROPIC if settings.provider == "anthropic" else Api.OPENAI
        self._api = settings.api or default
        self._exchanges: list[Mapping[str, Any]] = []

    def ask(self, messages: list[dict[str, str]]) -> str:
        """The model's answer to a conversation of {"role": user or assistant, "content": text}.

        Raises ReviewerError, with the status that a client's failure of this kind has.
        """
        import httpx2

        headers = {"authorization": f"Bearer {self._access.token}", "anthropic-version": "2023-06-01"}
        path = "/v1/messages" if self._api is Api.ANTHROPIC else "/chat/completions"
        try:
            with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(self._access.socket))) as client:
                answer = client.post(
                    f"http://gateway/{self._settings.provider}{path}",
                    json=self._request(messages),
                    headers=headers,
                    timeout=self._settings.timeout,
                )
        except httpx2.TimeoutException as error:
            raise self._failed(Status.TIMEOUT, f"no answer within {self._settings.timeout:g} s") from error
        except httpx2.HTTPError as error:
            raise self._failed(Status.CLIENT_ERROR, f"the connection broke ({error})") from error
        self._exchanges.append({"asked": messages[-1]["content"], "status": answer.status_code, "told": answer.text})
        if answer.status_code != httpx2.codes.OK:
            words = " ".join(answer.text.split())[:_WORDS]
            status = self._settings.status_of(answer.status_code)
            raise self._failed(status, f"it answered {answer.status_code}: {words}")
        return self._text(answer.text)

    def ask_for_findings(self, messages: list[dict[str, str]], path: str | None = None) -> tuple[str, Review]:
        """The answer, and the findings in it, all on ``path`` if given. Raises ReviewerError where it is no review."""
        text = self.ask(messages)
        problems: list[str] = []
        review = read_loose(text, problems, path=path)
        if review is None:
            raise self._failed(Status.BAD_OUTPUT, f"its findings cannot be read: {problems[0]}")
        return text, review

    def reviewed(self, review: Review) -> Review:
        """The review as it goes on the record, with what the gateway has metered."""
        return Review(
            findings=review.findings,
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
        """The text of an answer. Raises ReviewerError if the model refused, was cut off, or it is no answer."""
        try:
            document = json.loads(body)
            if self._api is Api.ANTHROPIC:
                text = "".join(part["text"] for part in document["content"] if part["type"] == "text")
                stop = document["stop_reason"]
            else:
                choice = document["choices"][0]
                text = choice["message"].get("content") or ""
                stop = "refusal" if choice["message"].get("refusal") else choice["finish_reason"]
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise self._failed(Status.BAD_OUTPUT, "its answer is not in its provider's protocol") from error
        if stop in ("refusal", "content_filter"):
            raise self._failed(Status.REFUSED, "the model refuses")
        if stop in CUT:
            raise self._failed(Status.LIMIT, f"the answer was cut ({stop}; max_tokens is {self._settings.max_tokens})")
        if stop not in WHOLE:
            raise self._failed(Status.BAD_OUTPUT, f"the answer is no whole one, it stopped for {stop!r}")
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
