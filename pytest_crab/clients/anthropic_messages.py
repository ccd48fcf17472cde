"""Anthropic's Messages by its own library, through the gateway: the answer is streamed, and no request is retried."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_crab.clients.gateway_connection import GatewayAnswer
from pytest_crab.clients.status_table import Status, model_error

if TYPE_CHECKING:
    import anthropic

    from pytest_crab.model_access import ModelAccess

#: The fields that the library asks for by name; it takes any other as it is.
_FIELDS = ("model", "max_tokens", "messages", "tools")
#: Marks the end of what a provider may keep for the next request of the same conversation.
_KEPT = {"type": "ephemeral"}


class MessagesClient:
    """The library's client for one step and provider, made at the first request, for any number of threads."""

    def __init__(self, access: ModelAccess, provider: str) -> None:
        self._access = access
        self._provider = provider
        self._client: anthropic.Anthropic | None = None
        self._lock = threading.Lock()

    def ask(self, document: Mapping[str, Any], timeout: float) -> GatewayAnswer:
        """Return the whole answer to a request, or the error that the provider or the gateway answers with.

        ``timeout`` is the most seconds without a byte. Raises ModelError where there is no answer.
        """
        import anthropic
        import httpx2

        fields: dict[str, Any] = {name: document[name] for name in _FIELDS if name in document}
        further = {name: value for name, value in document.items() if name not in fields}
        try:
            with self._opened().messages.stream(**fields, extra_body=further, timeout=timeout) as stream:
                code = stream.response.status_code
                if not stream.response.headers.get("content-type", "").startswith("text/event-stream"):
                    whole = stream.response.read()  # of a server that knows no streams
                    return GatewayAnswer(code, whole.decode("utf-8", "replace"))
                if [event.type for event in stream][-1:] == ["message_stop"]:
                    return GatewayAnswer(code, stream.get_final_message().to_json(indent=None))
        except anthropic.APIStatusError as error:
            return _refusal(error)
        except (anthropic.APITimeoutError, httpx2.TimeoutException) as error:
            raise model_error(Status.TIMEOUT, f"no answer within {timeout:g} s") from error
        except (anthropic.APIConnectionError, httpx2.TransportError) as error:
            cause = error.__cause__ or error
            raise model_error(Status.CLIENT_ERROR, f"the connection broke ({cause or type(cause).__name__})") from error
        except (anthropic.AnthropicError, ValueError, TypeError, AttributeError, LookupError) as error:
            raise model_error(Status.BAD_OUTPUT, "its answer is not in its provider's protocol") from error
        raise model_error(Status.CLIENT_ERROR, "the connection broke (the answer has no end)")

    def close(self) -> None:
        """Close what is open."""
        if self._client is not None:
            self._client.close()

    def _opened(self) -> anthropic.Anthropic:
        import anthropic
        import httpx2

        with self._lock:
            if self._client is None:
                way = httpx2.Client(transport=httpx2.HTTPTransport(uds=str(self._access.socket)), trust_env=False)
                self._client = anthropic.Anthropic(
                    base_url=f"http://gateway/{self._provider}",
                    api_key=self._access.token,
                    max_retries=0,
                    http_client=way,
                )
        return self._client


def kept(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with a mark at their end: the next turn begins with them, and costs a tenth for them."""
    *before, last = messages
    content = last["content"]
    *parts, end = [{"type": "text", "text": content}] if isinstance(content, str) else content
    parts.append({**end, "cache_control": _KEPT})
    return [*before, {**last, "content": parts}]


def _refusal(error: anthropic.APIStatusError) -> GatewayAnswer:
    """Return an error's answer; one within a stream comes after a good status."""
    status = error.response.status_code
    text = error.response.text if status >= 400 else json.dumps(error.body)
    return GatewayAnswer(status if status >= 400 else 500, text)
