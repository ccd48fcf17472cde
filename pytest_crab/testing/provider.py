"""A server for tests that answers by a script: Anthropic Messages, and OpenAI's text protocols and embeddings."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from aiohttp import web

from pytest_crab.testing import dialogue, request_body
from pytest_crab.testing.dialogue import Call, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it arrived; ``turn`` counts the answers that its conversation already holds."""

    api: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def streams(self) -> bool:
        """True if the client wants a stream; there is none of embeddings."""
        return bool(self.body.get("stream")) and self.api != "embeddings"

    @property
    def tools(self) -> frozenset[str]:
        """The names of the tools that are offered."""
        return request_body.tools_of(self.body)

    @property
    def turn(self) -> int:
        """The number of answers that came before in this conversation."""
        return request_body.turn_of(self.body)


#: The reply where a test scripts none.
OK = Reply(text="ok")

#: Decides the reply to a request.
Script = Callable[[Asked], "Reply | Script"]


def say(text: str, **changes: Any) -> Reply:
    """Return an answer in words; ``changes`` are other fields of Reply."""
    return Reply(text=text, **changes)


def call(tool: str, arguments: Mapping[str, Any], **changes: Any) -> Reply:
    """Return a call of one tool."""
    return Reply(calls=(Call(tool=tool, arguments=arguments),), stop="end", **changes)


def fail(status: int, message: str = "scripted failure", **headers: str) -> Reply:
    """Return an error of the protocol; a header's name is written with underscores: ``retry_after="1"``."""
    return Reply(status=status, text=message, headers={name.replace("_", "-"): text for name, text in headers.items()})


def refuse(text: str = "I will not do this.") -> Reply:
    """Return a refusal, as each protocol has it."""
    return Reply(text=text, stop="refusal")


def garbage(raw: bytes = b"<html>not what was asked for</html>") -> Reply:
    """Return a body that no protocol knows, with status 200."""
    return Reply(raw=raw)


def structured(data: Any) -> Script:
    """Return a script that hands over ``data`` through the client's tool for structured output, else as a JSON text."""

    def script(asked: Asked) -> Reply:
        tool = request_body.structured_tool(asked.tools)
        return say(json.dumps(data)) if tool is None else call(tool, data)

    return script


def run(command: str) -> Script:
    """Return a script that calls the client's shell tool, whatever its name is, with ``command``."""

    def script(asked: Asked) -> Reply:
        tool, arguments = request_body.shell_call(asked.body, command)
        return call(tool, arguments)

    return script


def reply_of(step: Reply | Script, asked: Asked) -> Reply:
    """Return the reply of a script to a request; a script may return another one, such as that of ``run``."""
    while not isinstance(step, Reply):
        step = step(asked)
    return step


def turns(*steps: Reply | Script) -> Script:
    """Return a script whose n-th step answers the n-th turn of any conversation, and the last one all that follow.

    It looks at the request alone, so conversations may run beside each other, be retried and be replayed.
    """

    def script(asked: Asked) -> Reply:
        return reply_of(steps[min(asked.turn, len(steps) - 1)], asked)

    return script


def in_order(*steps: Reply | Script) -> Script:
    """Return a script whose n-th step answers the n-th request that arrives, and the last one all that follow."""
    rest = list(steps)

    def script(asked: Asked) -> Reply:
        return reply_of(rest.pop(0) if len(rest) > 1 else rest[0], asked)

    return script


class ScriptedProvider:
    """A server in a thread of its own, for as long as its context lasts; on 127.0.0.1, unless given a ``listener``.

    ``script`` may be set anew at any time; ``asked`` holds every request that arrived. ``anthropic_url`` and
    ``openai_url`` are what the variables ANTHROPIC_BASE_URL and OPENAI_BASE_URL, or base_url in crab.yaml, are set to.
    ``listener`` is an IPv4 socket that is bound, of another address or network namespace; it is closed at the end.
    """

    def __init__(
        self,
        script: Reply | Script | Sequence[Reply | Script] = OK,
        port: int = 0,
        listener: socket.socket | None = None,
    ) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.heads = 0
        self._host, self._port = "127.0.0.1", port
        self._listener = listener
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._over = asyncio.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._main, name="scripted-provider", daemon=True)

    @property
    def script(self) -> Script:
        """The script; setting it also takes a reply, or several replies for the turns of a conversation."""
        return self._script

    @script.setter
    def script(self, script: Reply | Script | Sequence[Reply | Script]) -> None:
        self._script = script if callable(script) else turns(*([script] if isinstance(script, Reply) else script))

    @property
    def port(self) -> int:
        """The port, once the context was entered."""
        return self._port

    @property
    def anthropic_url(self) -> str:
        """The base of the Messages API."""
        return f"http://{self._host}:{self._port}"

    @property
    def openai_url(self) -> str:
        """The base of Responses and chat/completions."""
        return f"http://{self._host}:{self._port}/v1"

    def __enter__(self) -> ScriptedProvider:  # noqa: PYI034 - Python 3.10 has no Self
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def _main(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except OSError as error:
            self._failure = error
        finally:
            self._ready.set()
            left = asyncio.all_tasks(self._loop)  # answers that linger
            for task in left:
                task.cancel()
            if left:
                self._loop.run_until_complete(asyncio.wait(left))
            self._loop.close()

    async def _serve(self) -> None:
        app = web.Application(client_max_size=1 << 28)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        listener = self._listener or socket.create_server((self._host, self._port))
        self._host, self._port = listener.getsockname()
        await web.SockSite(runner, listener, backlog=512).start()
        self._ready.set()
        await self._over.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.method in {"HEAD", "GET"}:
            self.heads += 1
            return web.json_response({"object": "list", "data": []})
        path = request.path
        api = next((name for ending, name in dialogue.PATHS.items() if path.endswith(ending)), None)
        if api is None:
            return web.json_response({"error": {"message": f"nothing is at {path}"}}, status=404)
        asked = Asked(api=api, path=request.path_qs, headers=dict(request.headers), body=await request.json())
        self.asked.append(asked)
        reply = reply_of(self.script, asked)
        await asyncio.sleep(reply.delay)
        if reply.raw is not None:
            return web.Response(body=reply.raw, content_type="text/html")
        if reply.status != 200:
            body = dialogue.error(api, reply.status, reply.text)
            return web.json_response(body, status=reply.status, headers=reply.headers)
        if not asked.streams:
            return await self._whole(request, asked, reply)
        return await self._stream(request, reply, dialogue.events(asked.api, asked.body, reply))

    async def _whole(self, request: web.Request, asked: Asked, reply: Reply) -> web.StreamResponse:
        body = json.dumps(dialogue.whole(asked.api, asked.body, reply)).encode()
        await asyncio.sleep(reply.stall)
        if reply.cut is None:
            return web.Response(body=body, content_type="application/json", headers=reply.headers)
        response = web.StreamResponse(headers={"content-type": "application/json", "content-length": str(len(body))})
        if reply.cut:
            await response.prepare(request)
            await response.write(body[: len(body) // 2])
        return _hang_up(request, response)

    async def _stream(self, request: web.Request, reply: Reply, events: Iterable[bytes]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream", **reply.headers})
        if reply.cut == 0:
            return _hang_up(request, response)
        await response.prepare(request)
        for number, event in enumerate(events, 1):
            await response.write(event)
            await asyncio.sleep(reply.pause + (reply.stall if number == 1 else 0))
            if number == reply.cut:
                return _hang_up(request, response)
        await asyncio.sleep(reply.linger)
        await response.write_eof()
        return response


def _hang_up(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """Close the connection in the middle of an answer."""
    if request.transport is not None:
        request.transport.close()
    return response
