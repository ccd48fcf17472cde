"""Carries one request to a provider: again where that helps, and as a stream from its first byte on."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp

from pytest_crab.models.api_formats import KINDS
from pytest_crab.models.request_limits import RequestLimit
from pytest_crab.models.usage import BodyMeter, StreamMeter
from pytest_crab.retry_policy import RetryPolicy, retry_after

#: Answers that may be another one in a moment.
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})

#: Seconds: no wait is longer, and a provider that asks for more gets no second try.
MOST_WAIT = 60.0

#: An answer may take as long as its step: the step's own deadline ends it, and breaks off what is under way.
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=30)


class Unreachable(Exception):
    """No try brought an answer; the text says why."""


def _pause(policy: RetryPolicy, tries: int, headers: Mapping[str, str]) -> float | None:
    """Return the seconds until the next try, as long as the provider asks for; None: there is none."""
    pause, asked = policy.pause(tries), retry_after(headers)
    if pause is None or asked is None:
        return pause
    return asked if asked <= policy.longest else None


@dataclass(kw_only=True)
class UpstreamReply:
    """An answer under way: its head, its first bytes, and the rest as it comes.

    Reading on raises Cut where the provider goes away.
    """

    status: int
    headers: Mapping[str, str]
    #: It has seen what was read so far.
    meter: BodyMeter | StreamMeter
    first: bytes
    rest: Callable[[], AsyncIterator[bytes]] = field(repr=False)

    #: Whether the provider has ended the answer, or cut it.
    ended: bool = False

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield all bytes, metered."""
        self.meter.feed(self.first)
        yield self.first
        try:
            async for chunk in self.rest():
                self.meter.feed(chunk)
                yield chunk
        except Cut:
            self.ended = True
            raise
        self.ended = True


class Cut(Exception):
    """The provider went away in the middle of an answer."""


@asynccontextmanager
async def ask(
    session: aiohttp.ClientSession,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    retries: RetryPolicy,
    limit: RequestLimit,
    note: Callable[[int], None] = lambda _tries: None,
) -> AsyncIterator[UpstreamReply]:
    """An answer of the provider, be it good or bad, whose first bytes are there; ``note`` gets the number of each try.

    Each try takes its turn by ``limit``, until its answer is over. Raises Unreachable.
    """
    tries = 0
    while True:
        tries += 1
        async with limit.turn() as round_:
            note(tries)
            try:
                response = await session.post(url, data=body, headers=headers, timeout=_TIMEOUT, allow_redirects=False)
            except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
                pause, why = _pause(retries, tries, {}), _why(error)
            else:
                async with response:
                    limit.note(round_, response.status, response.headers)
                    pause = _pause(retries, tries, response.headers) if response.status in RETRIED else None
                    if pause is None:
                        try:
                            reply = await _begin(response)
                        except Cut as cut:
                            pause, why = _pause(retries, tries, {}), str(cut)
                        else:
                            if reply.status != response.status:  # an error that said at first that it is none
                                limit.note(round_, reply.status, response.headers)
                                pause = _pause(retries, tries, response.headers) if reply.status in RETRIED else None
                            if pause is None:
                                yield reply
                                return
        if pause is None:
            raise Unreachable(why)
        await asyncio.sleep(pause)


async def _begin(response: aiohttp.ClientResponse) -> UpstreamReply:
    """Return the reply with its first bytes: of a stream the first chunk, of anything else all of it. Raises Cut."""
    streams = response.status == 200 and response.content_type == "text/event-stream"

    async def rest() -> AsyncIterator[bytes]:
        while streams and (chunk := await _read(response.content.readany)):
            yield chunk

    first = await _read(response.content.readany if streams else response.read)
    if streams and not first:
        raise Cut("the stream ended before its first byte")
    return UpstreamReply(
        status=response.status if streams or response.status != 200 else _status_of(first),
        headers=response.headers,
        meter=StreamMeter() if streams else BodyMeter(),
        first=first,
        rest=rest,
    )


#: The field of an error in a body; a text in JSON cannot look like one.
_ERROR = re.compile(rb'"error"\s*:\s*[{"]')

#: The statuses of errors that name their kind alone.
_KINDS = {kind: status for status, kind in KINDS.items()} | {
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "invalid_api_key": 401,
    "model_not_found": 404,
}


def _status_of(body: bytes) -> int:
    """Return the status that a body with status 200 should have had: some providers send an error with it."""
    if _ERROR.search(body) is None:
        return 200
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return 200
    if not isinstance(document, dict):
        return 200
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    error = document.get("error") or first.get("error")
    if not error:
        return 200
    told = [error.get(name) for name in ("status", "code", "type")] if isinstance(error, dict) else []
    codes = (int(code) for code in map(str, told) if re.fullmatch("[45][0-9][0-9]", code))
    return next(codes, next((_KINDS[kind] for kind in map(str, told) if kind in _KINDS), 502))


async def _read(read: Callable[[], Awaitable[bytes]]) -> bytes:
    try:
        return await read()
    except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
        raise Cut(_why(error)) from error


def _why(error: BaseException) -> str:
    """Return an error of the network in a few words; some of them have none of their own."""
    if isinstance(error, asyncio.TimeoutError):
        return "it did not answer in time"
    return " ".join(str(error).split()) or type(error).__name__
