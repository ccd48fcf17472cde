"""One request to a model through the gateway's socket, and the errors that stand for what is no whole answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_crab.clients.gateway_connection import GatewayAnswer, GatewayConnection, GatewayRequest
from pytest_crab.clients.status_table import Status, http_status, model_error
from pytest_crab.settings import TokenLimit

if TYPE_CHECKING:
    from pytest_crab.model_access import ModelAccess

#: The stop reasons of a whole answer, of one that is cut, and of a refusal, in small letters: servers have their own
#: words, and some none at all.
_WHOLE = frozenset({"", "end_turn", "stop_sequence", "stop", "eos", "eos_token", "end", "complete", "completed"})
_CUT = frozenset({"max_tokens", "length", "max_length"})
_FULL = frozenset({"model_length", "model_context_window_exceeded"})
REFUSED = frozenset({"refusal", "content_filter", "safety"})
#: Those of an answer that is whole and calls tools.
CALLS = frozenset({"tool_use", "tool_calls", "function_call"})

#: The most characters of an error that a sentence repeats.
_LONGEST_QUOTE = 300


@contextmanager
def connection(access: ModelAccess) -> Iterator[GatewayConnection]:
    """Open the way to the gateway's socket of this step."""
    opened = GatewayConnection(access.socket)
    try:
        yield opened
    finally:
        opened.close()


def post(
    client: GatewayConnection, provider: str, path: str, document: Mapping[str, Any], *, token: str, timeout: float
) -> GatewayAnswer:
    """Send one request to a provider's path and wait for its answer, whatever its status is.

    Raises ModelError where there is none.
    """
    ((_, answer),) = post_each(client, provider, [GatewayRequest(path, document)], token=token, timeout=timeout)
    return answer


def post_each(
    client: GatewayConnection,
    provider: str,
    requests: Iterable[GatewayRequest],
    *,
    token: str,
    timeout: float,
    parallel: int = 1,
) -> Iterator[tuple[int, GatewayAnswer]]:
    """Send requests to a provider's paths, at most ``parallel`` at a time, and yield the answers as they come.

    Each stands behind the number of its request, from 0. Raises ModelError where one has no answer.
    """
    headers = {"authorization": f"Bearer {token}", "anthropic-version": "2023-06-01"}
    named = (GatewayRequest(f"/{provider}/{path}", document) for path, document in requests)
    try:
        yield from client.post_each(named, headers, timeout, parallel=parallel)
    except TimeoutError as error:
        raise model_error(Status.TIMEOUT, f"no answer within {timeout:g} s") from error
    except OSError as error:
        raise model_error(Status.CLIENT_ERROR, f"the connection broke ({error or type(error).__name__})") from error


def checked(answer: GatewayAnswer) -> Any:
    """Return a good answer, as ``as_json`` reads it. Raises ModelError for any other."""
    require_success(answer)
    return as_json(answer.text)


def require_success(answer: GatewayAnswer) -> None:
    """Raise ModelError for an answer with an error status, in the words of the provider or the gateway."""
    code, body = answer.status_code, answer.text
    if not 200 <= code < 300:
        raise model_error(http_status(code, body), f"it answered {code}: {_explanation(body)}")


def require_whole(stop: Any, document: Mapping[str, Any], also: frozenset[str] = frozenset()) -> None:
    """Raise ModelError unless an answer to ``document`` that stopped for this reason is whole.

    ``also`` are further good reasons.
    """
    stop = "" if stop is None else str(stop).lower()
    if stop in REFUSED:
        raise model_error(Status.REFUSED, "the model refuses")
    if stop in _CUT:
        asked = [f"{each.value} is {document[each.value]}" for each in TokenLimit if each.value in document]
        limit = asked[0] if asked else "no limit is asked for, so it is the provider's own"
        raise model_error(Status.LIMIT, f"the answer was cut ({stop}; {limit})")
    if stop in _FULL:
        raise model_error(Status.LIMIT, f"the answer was cut ({stop}; the limit is the model's context window)")
    if stop not in _WHOLE | also:
        raise model_error(Status.BAD_OUTPUT, f"the answer is no whole one, it stopped for {stop!r}")


def as_json(text: str) -> Any:
    """Return the JSON value that a text is, or the text itself where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _explanation(body: str) -> str:
    """Return the message in an error's body, as both protocols have it; else the body as it is."""
    try:
        told = as_json(body)
        error = told.get("error") or told["choices"][0]["error"]
        words = error if isinstance(error, str) else error["message"]
    except (LookupError, TypeError, AttributeError):
        words = body
    return " ".join(str(words).split())[:_LONGEST_QUOTE] or "no explanation"
