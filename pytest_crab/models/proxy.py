"""The proxy that clients meet: each request is admitted, answered from a recording or by its provider, and booked."""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web

from pytest_crab.formats import format_dollars
from pytest_crab.model_access import USAGE_HEADER
from pytest_crab.models.api_formats import API_FORMATS, ApiFormat, returned_headers, sent_headers, token_of
from pytest_crab.models.cassettes import RECORDED, Answer, Cassettes, Miss
from pytest_crab.models.event_streams import KeyFilter
from pytest_crab.models.ledger import Account, Ledger, usage_of
from pytest_crab.models.prices import Prices, answers
from pytest_crab.models.recorder import Recorder
from pytest_crab.models.refusal import Refusal
from pytest_crab.models.request import ModelRequest
from pytest_crab.models.request_body import read_document
from pytest_crab.models.request_limits import MOST, RequestLimit
from pytest_crab.models.server_tools import require_no_lookups
from pytest_crab.models.upstream import RETRIED, Cut, Unreachable, UpstreamReply, ask
from pytest_crab.models.usage import BodyMeter, StreamMeter
from pytest_crab.redaction import SHORTEST_SECRET, Redactor
from pytest_crab.retry_policy import RetryPolicy
from pytest_crab.settings import Api, ModelSettings, Provider

#: Says to clients, in the words of the providers, that the same again would bring the same.
_FINAL = {"x-should-retry": "false"}

#: The status for a client whose provider gave no answer.
_UNREACHABLE = 502

#: Bytes: a longer request is read in a thread, so that the others need not wait. A shorter one is not,
#: since handing it to a thread takes longer than the work itself.
_LONG = 1 << 18

#: So many requests begin before what streams has its turn: each takes up to a millisecond, and many may come at once.
_BEGIN_TOGETHER = 4

_OVER = "this token is not valid here, or the step that it was made for is over"


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """The handler of the sockets that sandboxes are shown."""

    session: aiohttp.ClientSession
    settings: ModelSettings
    keys: Mapping[str, str]
    ledger: Ledger
    cassettes: Cassettes
    recorder: Recorder
    policy: RetryPolicy
    replay: bool = False
    limits: dict[tuple[str, str], RequestLimit] = field(default_factory=dict)
    begins: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_BEGIN_TOGETHER))

    @property
    def prices(self) -> Prices:
        """The prices of the run."""
        return Prices(self.settings.prices)

    async def handle(self, http: web.Request) -> web.StreamResponse:
        """Answer one request; a refusal by the gateway itself comes in the protocol's own shape."""
        provider = self.settings.providers.get(http.match_info["provider"])
        api_format = API_FORMATS[provider.api if provider else Api.OPENAI]
        account = self.ledger.find(token_of(http.headers))
        if account is not None and account.socket != _socket(http):
            account = None
        try:
            if account is None:
                return await self._answer(http, provider, api_format, None)
            with account.busy(http.transport):
                return await self._answer(http, provider, api_format, account)
        except Refusal as refusal:
            if account is not None:
                account.note(
                    str(refusal), lasting=refusal.lasting, passing=refusal.passing, overspent=refusal.overspent
                )
            body = api_format.error(refusal.status, f"pytest-crab: {refusal}")
            return web.json_response(body, status=refusal.status, headers=_FINAL)

    async def _answer(
        self, http: web.Request, provider: Provider | None, api_format: ApiFormat, account: Account | None
    ) -> web.StreamResponse:
        """Answer what is asked of the gateway itself, or the model's request once it is admitted. Raises Refusal."""
        async with self.begins:  # see _BEGIN_TOGETHER
            await asyncio.sleep(0)
        path = http.match_info["path"].removeprefix("/v1").rstrip("/")
        if provider is not None and not path and http.method in {"HEAD", "GET"}:
            return web.Response()
        known, account = self._admit(http.match_info["provider"], provider, account)
        if http.method == "GET" and path == "/models":
            return web.json_response(api_format.models(sorted(self.settings.prices)))
        if http.method != "POST" or path not in api_format.posts:
            posts = " and ".join(f"/v1{each}" for each in sorted(api_format.posts))
            raise Refusal(404, f"{http.method} {http.path} is not forwarded; POST {posts} are")
        request = await self._read(http, path, known, api_format, account)
        if not account.open:  # it ended while the body came
            raise Refusal(401, _OVER)
        answer = self._replay if self.replay else self._forward
        if not self.ledger.has_budget and account.allowance is None:
            return await answer(http, request)
        most = 0.0 if self.replay else request.most_cost(self.prices)
        if most is not None and self.ledger.reserve(account, most):
            try:
                return await answer(http, request)
            finally:
                self.ledger.release(account, most)
        async with self.ledger.turn(account):
            self._require_budget(request, most)
            return await answer(http, request)

    def _admit(self, name: str, provider: Provider | None, account: Account | None) -> tuple[Provider, Account]:
        """Raise Refusal unless this is a provider, and one that the account may ask."""
        if provider is None:
            names = ", ".join(sorted(self.settings.providers))
            raise Refusal(404, f"/{name} is no provider; the first segment is one of {names}")
        if account is None or not account.open:
            raise Refusal(401, _OVER)
        if account.providers is not None and name not in account.providers:
            own = ", ".join(sorted(account.providers))
            sentence = f"this token is good for {own} and not for {name}: "
            raise Refusal(403, sentence + "more_providers of the adapter in crab.yaml would allow it")
        return provider, account

    async def _read(
        self, http: web.Request, path: str, provider: Provider, api_format: ApiFormat, account: Account
    ) -> ModelRequest:
        body = await http.read()

        def read() -> ModelRequest:
            document = read_document(body)
            if not self.settings.server_tools:
                require_no_lookups(document)
            if document.get("background"):
                raise Refusal(400, "an answer in the background could neither be fetched nor counted: ask without it")
            request = ModelRequest(
                account=account,
                provider=http.match_info["provider"],
                known=provider,
                api_format=api_format,
                path=path,
                query=http.query_string,
                document=document,
                headers=http.headers,
            )
            if not self.replay:
                _ = request.body  # written now, in this thread
            return request

        return await asyncio.to_thread(read) if len(body) > _LONG else read()

    def _require_budget(self, request: ModelRequest, most: float | None) -> None:
        """Raise Refusal if this request, which costs so much at most, would exceed a budget or may do so unnoticed."""
        account = request.account
        why = self.ledger.refusal(account)
        if why is not None:
            raise Refusal(400, why, lasting=True, overspent=self.ledger.overspent(account))
        if most is None:
            sentence = (
                f"{request.model or 'a request without a model'} has no price, so that no budget can be kept: "
                "add it to models.prices in crab.yaml"
            )
            raise Refusal(400, sentence, passing=True)
        several, left = answers(request.document), self.ledger.left(account)
        if several > 1 and most > left:  # one answer may be the last of a budget, and not a hundred
            cost = f"may cost {format_dollars(most, 4)} USD, and {format_dollars(left, 4)} USD of the budget are left"
            raise Refusal(400, f"this request asks for {several} answers and {cost}: ask for one answer at a time")
        why = self.ledger.beyond_allowance(account, most)
        if why is not None:
            raise Refusal(400, why, lasting=True)

    # --- live -------------------------------------------------------------------------------------------------------

    async def _forward(self, http: web.Request, request: ModelRequest) -> web.StreamResponse:
        """Pass the request on to its provider, unless it was given up before. Raises Refusal."""
        account, name, known = request.account, request.provider, request.known
        if account.given_up and request.question in account.given_up:
            return self._repeat(request, account.given_up[request.question])
        key = self.keys.get(name)
        if known.key_env is not None and key is None:
            where = "in the environment of the run, or of each worker of --crab-cluster"
            raise Refusal(401, f"there is no key for {name}: set {known.key_env} {where}", passing=True)
        url = request.api_format.url(known.base_url, request.path) + (f"?{request.query}" if request.query else "")
        headers = sent_headers(request.headers) | request.api_format.sign(key)
        limit = self.limits.setdefault((name, request.model), RequestLimit(self.policy.longest, known.parallel or MOST))
        try:
            async with ask(self.session, url, headers, request.body, self.policy, limit, request.note_try) as reply:
                request.status, request.meter = reply.status, reply.meter
                if isinstance(reply.meter, StreamMeter):
                    return await self._stream(http, request, reply, key)
                return await self._whole(request, reply, key)
        except asyncio.CancelledError:  # the client is gone; the provider may have done its work all the same
            self._book(request)
            raise
        except Unreachable as why:
            sentence = (
                f"{name} at {known.base_url} gave no answer ({why}): "
                f"check the network and models.providers.{name}.base_url in crab.yaml"
            )
            refusal = account.given_up[request.question] = Refusal(_UNREACHABLE, sentence, passing=True)
            request.status = _UNREACHABLE
            self._book(request)
            raise refusal from why

    def _repeat(self, request: ModelRequest, known: Answer | Refusal) -> web.StreamResponse:
        """Repeat the outcome of a question that was given up, without another try. Raises Refusal."""
        request.status = known.status
        self._book(request)
        if isinstance(known, Refusal):
            raise Refusal(known.status, str(known), passing=True)
        return web.Response(status=known.status, headers={"content-type": known.type, **_FINAL}, body=known.body)

    async def _whole(self, request: ModelRequest, reply: UpstreamReply, key: str | None) -> web.StreamResponse:
        body = b"".join([chunk async for chunk in reply.chunks()])
        if key is not None:  # some providers repeat a key that they do not like
            body = Redactor({key: "<key>"}).body(body)
        self._book(request)
        answer = Answer(status=reply.status, type=reply.headers.get("content-type", ""), body=body)
        self._record(request, answer)
        headers = _shown_headers(reply, key) | _usage_header(request)
        if reply.status in RETRIED:
            request.account.given_up[request.question] = answer
            headers |= _FINAL
        return web.Response(status=reply.status, headers=headers, body=body)

    async def _stream(
        self, http: web.Request, request: ModelRequest, reply: UpstreamReply, key: str | None
    ) -> web.StreamResponse:
        """Pass a stream on as it comes; one that is cut is cut for the client, and not recorded.

        Once the last event is there it is complete: a client may leave then, and a provider end the stream as it likes.
        """
        response = web.StreamResponse(status=reply.status, headers=_shown_headers(reply, key))
        passed: list[bytes] = []

        async def chunks() -> AsyncIterator[bytes]:
            try:
                async for chunk in _without_key(reply, key):
                    if self.settings.record:
                        passed.append(chunk)
                    if reply.meter.complete:  # a client that has it all may ask what it used
                        self._book(request)
                    yield chunk
            except Cut:
                if not reply.meter.complete:
                    raise

        try:
            await _write(http, response, request.filter(chunks()))
        except Cut:
            if http.transport is not None:
                http.transport.abort()
            return response
        finally:
            request.ended = reply.ended
            self._book(request)
            if reply.meter.complete:
                self._record(request, Answer(status=reply.status, type="text/event-stream", body=b"".join(passed)))
        await response.write_eof()
        return response

    def _record(self, request: ModelRequest, answer: Answer) -> None:
        """Have an answer recorded that a provider would give again."""
        if self.settings.record and answer.status in RECORDED:
            self.recorder.add(request, answer)

    # --- replayed ---------------------------------------------------------------------------------------------------

    async def _replay(self, http: web.Request, request: ModelRequest) -> web.StreamResponse:
        """Answer from a recording. Raises Refusal where there is none."""
        question = await asyncio.to_thread(request.question_for_cassettes)
        request.replayed = True
        try:
            request.recorded_by, answer = await asyncio.to_thread(self.cassettes.find, question)
        except Miss as miss:
            where = f"{request.provider}{request.path} ({request.account.label})"
            sentence = f"--crab-replay: a request to {where} has no recording, run without it to make one; {miss}"
            raise Refusal(400, sentence, lasting=True) from miss
        except (OSError, ValueError) as error:
            raise Refusal(400, f"--crab-replay: a recording cannot be read: {error}", lasting=True) from error
        streams = answer.type.startswith("text/event-stream")
        request.status, request.meter = answer.status, StreamMeter() if streams else BodyMeter()
        for chunk in answer.chunks():
            request.meter.feed(chunk)
        self._book(request)
        headers = {"content-type": answer.type, **_usage_header(request)}
        if not streams:
            return web.Response(status=answer.status, headers=headers, body=answer.body)
        response = web.StreamResponse(status=answer.status, headers=headers)
        await _write(http, response, request.filter(_one_by_one(answer.chunks())))
        await response.write_eof()
        return response

    def _book(self, request: ModelRequest) -> None:
        """Book a request, once."""
        if request.booked is not None:
            return
        request.account.asking -= {asyncio.current_task()}
        request.booked = request.entry(datetime.datetime.now(datetime.timezone.utc), self.prices)
        self.ledger.enter(request.account, request.booked)


def _usage_header(request: ModelRequest) -> dict[str, str]:
    """Return the header that says what a whole answer used, once it is booked."""
    return {} if request.booked is None else {USAGE_HEADER: json.dumps(usage_of([request.booked]))}


async def _without_key(reply: UpstreamReply, key: str | None) -> AsyncIterator[bytes]:
    """Yield a stream without the key, by whole events; what may be a part of the key waits for the next event."""
    if key is None or len(key) < SHORTEST_SECRET:
        async for chunk in reply.chunks():
            yield chunk
        return
    events = KeyFilter(key)
    async for chunk in reply.chunks():
        shown = events.feed(chunk) + (events.rest() if reply.meter.complete else b"")
        if shown:
            yield shown
    if rest := events.rest():
        yield rest


def _shown_headers(reply: UpstreamReply, key: str | None) -> dict[str, str]:
    """Return the headers of an answer that the client is shown, without the key."""
    redactor = Redactor({} if key is None else {key: "<key>"})
    return {name: redactor.text(value) for name, value in returned_headers(reply.headers).items()}


def _socket(http: web.Request) -> str | None:
    """Return the socket that a request came by."""
    return None if http.transport is None else str(http.transport.get_extra_info("sockname"))


async def _write(http: web.Request, response: web.StreamResponse, chunks: AsyncIterator[bytes]) -> None:
    await response.prepare(http)
    async for chunk in chunks:
        await response.write(chunk)


async def _one_by_one(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Yield chunks one at a time, between which others have their turn."""
    for chunk in chunks:
        yield chunk
        await asyncio.sleep(0)
