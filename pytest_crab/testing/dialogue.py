"""Writes the scripted provider's replies in each protocol, whole and as events."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_crab.testing import embeddings

#: The protocol by the end of a request's path.
PATHS = {
    "/messages": "messages",
    "/responses": "responses",
    "/chat/completions": "chat",
    "/completions": "completions",
    "/embeddings": "embeddings",
}

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of one tool."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The provider's answer to one request."""

    #: Its text, or the message of an error.
    text: str = ""
    #: The tools that it calls.
    calls: tuple[Call, ...] = ()
    #: ``end``, ``refusal`` or ``length``.
    stop: str = "end"
    #: Tokens as input, output, cached and cache_write.
    usage: Mapping[str, int] = field(default_factory=lambda: {"input": 100, "output": 20})
    #: Another one than 200 is an error.
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Sent as it is instead of anything that the protocol knows.
    raw: bytes | None = None
    #: The events after which a stream is cut; 0: before the first byte.
    cut: int | None = None
    #: Seconds that a stream stands still after its first event.
    stall: float = 0.0
    #: Seconds after each event.
    pause: float = 0.0
    #: Seconds that a stream stays open after its last event.
    linger: float = 0.0
    #: Seconds before the head.
    delay: float = 0.0
    #: The parts that the text is sent in.
    pieces: int = 2
    #: Those of the first token, by token, which the two protocols of completions send where the request asks for them.
    log_probabilities: Mapping[str, float] | None = None
    #: The tokens of the prompt, each with the log-probabilities at its place by token; a request for completions with
    #: ``echo`` gets the prompt with them.
    echoed: Sequence[tuple[str, Mapping[str, float]]] | None = None


def error(api: str, status: int, message: str) -> dict[str, Any]:
    """Return the body of an error."""
    kind = _KINDS.get(status, "api_error")
    if api == "messages":
        return {"type": "error", "error": {"type": kind, "message": message}}
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def whole(api: str, body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    """Return a reply as one document."""
    return _WRITERS[api][0](body, reply)


def events(api: str, body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
    """Yield a reply as the events of a stream."""
    return _WRITERS[api][1](body, reply)


def _id(prefix: str, body: Mapping[str, Any], number: int = 0) -> str:
    """Return an id that is the same for the same request, so that whole runs can be compared."""
    text = json.dumps([body, number], sort_keys=True)
    return f"{prefix}_{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def _pieces(text: str, count: int) -> list[str]:
    size = max(-(-len(text) // max(count, 1)), 1)
    return [text[start : start + size] for start in range(0, len(text), size)]


#: The reasons for an end by a reply's ``stop``, and by calls of tools.
_MESSAGE_STOPS = {"end": "end_turn", "refusal": "refusal", "length": "max_tokens", "calls": "tool_use"}
_CHAT_STOPS = {"end": "stop", "refusal": "content_filter", "length": "length", "calls": "tool_calls"}


def _stop(reply: Reply, words: Mapping[str, str]) -> str:
    return words["calls" if reply.calls and reply.stop == "end" else reply.stop]


def _event(data: Mapping[str, Any], *, named: bool) -> bytes:
    name = f"event: {data['type']}\n" if named else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


# --- Anthropic Messages ---------------------------------------------------------------------------------------------


def _message(body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    content += [
        {"type": "tool_use", "id": _id("toolu", body, number), "name": each.tool, "input": dict(each.arguments)}
        for number, each in enumerate(reply.calls)
    ]
    return {
        "id": _id("msg", body),
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": content,
        "stop_reason": _stop(reply, _MESSAGE_STOPS),
        "stop_sequence": None,
        "usage": _message_usage(reply),
    }


def _message_usage(reply: Reply) -> dict[str, int]:
    return {
        "input_tokens": reply.usage.get("input", 0),
        "cache_creation_input_tokens": reply.usage.get("cache_write", 0),
        "cache_read_input_tokens": reply.usage.get("cached", 0),
        "output_tokens": reply.usage.get("output", 0),
    }


def _message_events(body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
    message = _message(body, reply)
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield _event({"type": "message_start", "message": start}, named=True)
    for index, block in enumerate(message["content"]):
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        yield _event({"type": "content_block_start", "index": index, "content_block": empty}, named=True)
        text = block["text"] if is_text else json.dumps(block["input"])
        kind, name = ("text_delta", "text") if is_text else ("input_json_delta", "partial_json")
        for piece in _pieces(text, reply.pieces):
            delta = {"type": kind, name: piece}
            yield _event({"type": "content_block_delta", "index": index, "delta": delta}, named=True)
        yield _event({"type": "content_block_stop", "index": index}, named=True)
    yield _event(
        {
            "type": "message_delta",
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": message["usage"]["output_tokens"]},
        },
        named=True,
    )
    yield _event({"type": "message_stop"}, named=True)


# --- OpenAI Responses -----------------------------------------------------------------------------------------------


def _response(body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    part = (
        {"type": "refusal", "refusal": reply.text}
        if reply.stop == "refusal"
        else {"type": "output_text", "text": reply.text, "annotations": []}
    )
    output: list[dict[str, Any]] = (
        [{"type": "message", "id": _id("msg", body), "status": "completed", "role": "assistant", "content": [part]}]
        if reply.text
        else []
    )
    output += [
        {
            "type": "function_call",
            "id": _id("fc", body, number),
            "call_id": _id("call", body, number),
            "status": "completed",
            "name": each.tool,
            "arguments": json.dumps(dict(each.arguments)),
        }
        for number, each in enumerate(reply.calls)
    ]
    cut = reply.stop == "length"
    return {
        "id": _id("resp", body),
        "object": "response",
        "created_at": 0,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "model": body.get("model"),
        "output": output,
        "usage": _response_usage(reply),
    }


def _response_usage(reply: Reply) -> dict[str, Any]:
    read, written = reply.usage.get("input", 0), reply.usage.get("output", 0)
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": reply.usage.get("cached", 0)},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + written,
    }


def _response_events(body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
    response = _response(body, reply)
    for number, data in enumerate(_response_data(response, reply)):
        yield _event({**data, "sequence_number": number}, named=True)


def _response_data(response: Mapping[str, Any], reply: Reply) -> Iterator[dict[str, Any]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    for index, item in enumerate(response["output"]):
        is_message = item["type"] == "message"
        empty = {**item, "status": "in_progress", **({"content": []} if is_message else {"arguments": ""})}
        yield {"type": "response.output_item.added", "output_index": index, "item": empty}
        place = {"item_id": item["id"], "output_index": index}
        if is_message and reply.stop != "refusal":
            for piece in _pieces(reply.text, reply.pieces):
                yield {"type": "response.output_text.delta", **place, "content_index": 0, "delta": piece}
        if not is_message:
            for piece in _pieces(item["arguments"], reply.pieces):
                yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


# --- OpenAI chat/completions ----------------------------------------------------------------------------------------


def _chat_usage(reply: Reply) -> dict[str, Any]:
    read, written = reply.usage.get("input", 0), reply.usage.get("output", 0)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": reply.usage.get("cached", 0)},
    }


def _chat_calls(body: Mapping[str, Any], reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "id": _id("call", body, number),
            "type": "function",
            "function": {"name": each.tool, "arguments": json.dumps(dict(each.arguments))},
        }
        for number, each in enumerate(reply.calls)
    ]


def _completion(body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    content = {"content": None, "refusal": reply.text} if reply.stop == "refusal" else {"content": reply.text}
    calls = _chat_calls(body, reply)
    message = {"role": "assistant", **content, **({"tool_calls": calls} if calls else {})}
    return {
        "id": _id("chatcmpl", body),
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model"),
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": _stop(reply, _CHAT_STOPS),
                "logprobs": _token_probabilities(body, reply),
            }
        ],
        "usage": _chat_usage(reply),
    }


def _likely(count: Any, reply: Reply) -> list[tuple[str, float]]:
    """Return as many of a reply's tokens as a request asks for, the most likely ones first."""
    known = (reply.log_probabilities or {}).items()
    return sorted(known, key=lambda pair: -pair[1])[: count if isinstance(count, int) else 0]


def _token_probabilities(body: Mapping[str, Any], reply: Reply) -> dict[str, Any] | None:
    if not body.get("logprobs") or reply.log_probabilities is None:
        return None
    likely = [{"token": token, "logprob": value} for token, value in _likely(body.get("top_logprobs"), reply)]
    return {"content": [{**likely[0], "top_logprobs": likely}]} if likely else {"content": []}


# --- OpenAI completions ---------------------------------------------------------------------------------------------


def _text_completion(body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    echo = str(body.get("prompt", "")) if body.get("echo") and reply.echoed is not None else ""
    return {
        "id": _id("cmpl", body),
        "object": "text_completion",
        "created": 0,
        "model": body.get("model"),
        "choices": [
            {
                "index": 0,
                "text": echo + reply.text,
                "finish_reason": _stop(reply, _CHAT_STOPS),
                "logprobs": _text_probabilities(body, reply, with_prompt=bool(echo)),
            }
        ],
        "usage": _chat_usage(reply),
    }


def _text_probabilities(body: Mapping[str, Any], reply: Reply, *, with_prompt: bool) -> dict[str, Any] | None:
    """Return the log-probabilities of the prompt's tokens, if wanted, and of the first one after it."""
    count = body.get("logprobs")
    if not isinstance(count, int) or count < 1:
        return None
    tokens: list[str] = []
    values: list[float | None] = []
    tops: list[dict[str, float] | None] = []
    for token, known in reply.echoed or () if with_prompt else ():
        likely = dict(sorted(known.items(), key=lambda pair: -pair[1])[:count])
        tokens.append(token)
        values.append(known[token] if len(tokens) > 1 else None)
        tops.append({**likely, token: known[token]} if len(tokens) > 1 else None)
    if written := _likely(count, reply):
        tokens.append(written[0][0])
        values.append(written[0][1])
        tops.append(dict(written))
    return {"tokens": tokens, "token_logprobs": values, "top_logprobs": tops} if tokens else None


def _text_completion_events(body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
    head = {name: value for name, value in _text_completion(body, reply).items() if name != "usage"}
    parts = [(piece, None) for piece in _pieces(reply.text, reply.pieces)]
    for text, stop in (*parts, ("", _stop(reply, _CHAT_STOPS))):
        yield _event({**head, "choices": [{"index": 0, "text": text, "finish_reason": stop}]}, named=False)
    yield from _stream_end(head, body, reply)


def _chat_events(body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
    head = {"id": _id("chatcmpl", body), "object": "chat.completion.chunk", "created": 0, "model": body.get("model")}

    def chunk(delta: Mapping[str, Any], stop: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": stop, "logprobs": None}
        return _event({**head, "choices": [choice]}, named=False)

    yield chunk({"role": "assistant", "content": ""})
    word = "refusal" if reply.stop == "refusal" else "content"
    for piece in _pieces(reply.text, reply.pieces):
        yield chunk({word: piece})
    for index, each in enumerate(_chat_calls(body, reply)):
        yield chunk({"tool_calls": [{"index": index, **each}]})
    yield chunk({}, _stop(reply, _CHAT_STOPS))
    yield from _stream_end(head, body, reply)


def _stream_end(head: Mapping[str, Any], body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
    """Yield the usage where the request asks for it, and the end, as both protocols of completions do."""
    if (body.get("stream_options") or {}).get("include_usage"):
        yield _event({**head, "choices": [], "usage": _chat_usage(reply)}, named=False)
    yield b"data: [DONE]\n\n"


#: The writers of a whole reply and of its events, by protocol.
_WRITERS = {
    "messages": (_message, _message_events),
    "responses": (_response, _response_events),
    "chat": (_completion, _chat_events),
    "completions": (_text_completion, _text_completion_events),
    "embeddings": (
        lambda body, reply: embeddings.whole(body, reply.usage.get("input", 0)),
        lambda _body, _reply: iter(()),  # they have no streams
    ),
}
