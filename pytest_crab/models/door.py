"""What a client meets: each request is let in, answered from a recording or by its provider, and booked."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import AsyncIterator
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
from aiohttp import web

from pytest_crab.models.accounts import Account
from pytest_crab.models.accounts import Accounts
from pytest_crab.models.accounts import Entry
from pytest_crab.models.cassettes import RECORDED
from pytest_crab.models.cassettes import Answer
from pytest_crab.models.cassettes import Cassettes
from pytest_crab.models.cassettes import Miss
from pytest_crab.models.cassettes import Question
from pytest_crab.models.dialects import DIALECTS
from pytest_crab.models.dialects import Dialect
from pytest_crab.models.dialects import forwarded
from pytest_crab.models.dialects import returned
from pytest_crab.models.dialects import token_of
from pytest_crab.models.exchange import Exchange
from pytest_crab.models.exchange import Refusal
from pytest_crab.models.exchange import read_document
from pytest_crab.models.exchange import server_tool
from pytest_crab.models.forwarding import RETRIED
from pytest_crab.models.forwarding import Cut
from pytest_crab.models.forwarding import Reply
from pytest_crab.models.forwarding import Unreachable
from pytest_crab.models.forwarding import ask
from pytest_crab.models.metering import BodyMeter
from pytest_crab.models.metering import StreamMeter
from pytest_crab.models.metering import bound
from pytest_crab.models.metering import cost_of
from pytest_crab.models.metering import estimate
from pytest_crab.models.metering import price_of
from pytest_crab.models.normal import key_of
from pytest_crab.models.normal import normalise
from pytest_crab.redaction import Redactor
from pytest_crab.retry_policy import RetryPolicy
from pytest_crab.settings import Api
from pytest_crab.settings import ModelSettings
from pytest_crab.settings import Provider

#: Tells clients, in the words of the providers, that the same again would bring the same.
_FINAL = {"x-should-retry": "false"}

#: What a client is told where its provider gave no answer.
_UNREACHABLE = 502

#: Bytes: a longer request is read in a thread, so that the others need not wait.
_LONG = 1 << 18

_OVER = "this token is not valid here, or the step that it was made for is over"


def _entrance(request: web.Request) -> str | None:
    """The socket that a request came by."""
    return None if request.transport is None else str(request.transport.get_extra_info("sockname"))


@dataclass(frozen=True, kw_only=True)
class Door:
    """The handler of the socket that sandboxes are shown."""

    session: aiohttp.ClientSession
    settings: ModelSettings
    keys: Mapping[str, str]
    accounts: Accounts
    cassettes: Cassettes
    retries: RetryPolicy
    replay: bool = False

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request; whatever the gateway itself has to say is said in the protocol's own shape."""
        known = self.settings.providers.get(request.match_info["provider"])
        dialect = DIALECTS[known.api if known else Api.OPENAI]
        account = self.accounts.find(token_of(request.headers))
        if account is not None and account.entrance != _entrance(request):
            account = None
        try:
            if account is None:
                return await self._handle(request, known, dialect, None)
            with account.busy(request.transport):
                return await self._handle(request, known, dialect, account)
        except Refusal as refusal:
            if account is not None and refusal.lasting:
                account.overspent = account.overspent or (refusal.overspent and account.lasting is None)
                account.lasting = account.lasting or str(refusal)
            if account is not None and refusal.passing:
                account.passing = str(refusal)
            told = dialect.error(refusal.status, f"pytest-crab: {refusal}")
            return web.json_response(told, status=refusal.status, headers=_FINAL)

    async def _handle(
        self, request: web.Request, known: Provider | None, dialect: Dialect, account: Account | None
    ) -> web.StreamResponse:
        path = request.match_info["path"].removeprefix("/v1").rstrip("/")
        if known is None:
            names = ", ".join(sorted(self.settings.providers))
            raise Refusal(404, f"/{request.match_info['provider']} is no provider; the first segment is one of {names}")
        if not path and request.method in {"HEAD", "GET"}:
            return web.Response()
        if account is None or not account.open:
            raise Refusal(401, _OVER)
        if account.providers is not None and request.match_info["provider"] not in account.providers:
            raise Refusal(403, _foreign(request.match_info["provider"], account.providers))
        if request.method == "GET" and path == "/models":
            return web.json_response(dialect.models(sorted(self.settings.prices)))
        if request.method != "POST" or path not in dialect.posts:
            raise Refusal(404, f"{request.method} {request.path} is not forwarded; POST {_listed(dialect.posts)} are")
        body = await request.read()
        document = await asyncio.to_thread(read_document, body) if len(body) > _LONG else read_document(body)
        foreign = None if self.settings.server_tools else server_tool(document)
        if foreign is not None:
            sentence = f"{foreign} looks things up, the fix among them: models.server_tools in crab.yaml would allow it"
            raise Refusal(400, sentence)
        if document.get("background"):
            raise Refusal(400, "an answer in the background could neither be fetched nor counted: ask without it")
        exchange = Exchange(
            account=account,
            provider=request.match_info["provider"],
            known=known,
            dialect=dialect,
            path=path,
            query=request.query_string,
            document=document,
            body=body,
            headers=request.headers,
        )
        return await self._answer(request, exchange)

    async def _answer(self, request: web.Request, exchange: Exchange) -> web.StreamResponse:
        if not exchange.account.open:  # it ended while the body came
            raise Refusal(401, _OVER)
        answer = self._replay if self.replay else self._forward
        if not self.accounts.limited and exchange.account.allowance is None:
            return await answer(request, exchange)
        async with self.accounts.turn(exchange.account):
            self._afford(exchange)
            return await answer(request, exchange)

    def _afford(self, exchange: Exchange) -> None:
        """Raise Refusal if this request would go beyond a budget, or nobody could tell whether it does."""
        why = self.accounts.exhausted(exchange.account)
        if why is not None:
            raise Refusal(400, why, lasting=True, overspent=self.accounts.overspent(exchange.account))
        price = None if self.replay else price_of(exchange.model, self.settings.prices)
        if not self.replay and price is None:
            sentence = (
                f"{exchange.model or 'a request without a model'} has no price, so that no budget can be kept: "
                "add it to models.prices in crab.yaml"
            )
            raise Refusal(400, sentence, passing=True)
        most = 0.0 if price is None or exchange.counts else bound(exchange.document, price)
        why = self.accounts.beyond_allowance(exchange.account, most)
        if why is not None:
            raise Refusal(400, why, lasting=True)

    # --- live -------------------------------------------------------------------------------------------------------

    async def _forward(self, request: web.Request, exchange: Exchange) -> web.StreamResponse:
        name, known, dialect = exchange.provider, exchange.known, exchange.dialect
        given_up = exchange.account.given_up
        if given_up and exchange.question in given_up:
            return self._again(exchange, given_up[exchange.question])
        key = self.keys.get(name)
        if known.key_env is not None and key is None:
            where = "in the environment of the run, or of each worker of --crab-cluster"
            raise Refusal(401, f"there is no key for {name}: set {known.key_env} {where}", passing=True)
        url = dialect.url(known.base_url, exchange.path) + (f"?{exchange.query}" if exchange.query else "")
        headers = {
            **forwarded(exchange.headers),
            **dialect.sign(key),
            "content-type": "application/json",
            "accept-encoding": "identity",
        }
        try:
            async with ask(self.session, url, headers, exchange.sent(), self.retries, exchange.note_try) as reply:
                exchange.status, exchange.meter = reply.status, reply.meter
                if reply.streams:
                    return await self._stream(request, exchange, reply)
                return await self._whole(exchange, reply, key)
        except asyncio.CancelledError:  # the client is gone; the provider may have done its work all the same
            self._book(exchange)
            raise
        except Unreachable as why:
            sentence = (
                f"{name} at {known.base_url} gave no answer ({why}): "
                f"check the network and models.providers.{name}.base_url in crab.yaml"
            )
            refusal = given_up[exchange.question] = Refusal(_UNREACHABLE, sentence, passing=True)
            exchange.status = _UNREACHABLE
            self._book(exchange)
            raise refusal from why

    def _again(self, exchange: Exchange, known: Answer | Refusal) -> web.StreamResponse:
        """What a question came to that was given up, without another try. Raises Refusal."""
        exchange.status = known.status
        self._book(exchange)
        if isinstance(known, Refusal):
            raise Refusal(known.status, str(known), passing=True)
        return web.Response(status=known.status, headers={"content-type": known.type, **_FINAL}, body=known.body)

    async def _whole(self, exchange: Exchange, reply: Reply, key: str | None) -> web.StreamResponse:
        body = b"".join([chunk async for chunk in reply.chunks()])
        if key is not None:  # some providers repeat a key that they do not like
            body = Redactor({key: "<key>"}).body(body)
        self._book(exchange)
        answer = Answer(status=reply.status, type=reply.headers.get("content-type", ""), body=body)
        self._record(exchange, answer)
        headers = dict(returned(reply.headers))
        if reply.status in RETRIED:
            exchange.account.given_up[exchange.question] = answer
            headers |= _FINAL
        return web.Response(status=reply.status, headers=headers, body=body)

    async def _stream(self, request: web.Request, exchange: Exchange, reply: Reply) -> web.StreamResponse:
        """Pass a stream on as it comes; one that is cut is cut for the client, and not recorded.

        Once the last event is there it is none: a client may leave then, and a provider end the stream as it likes.
        """
        response = web.StreamResponse(status=reply.status, headers=returned(reply.headers))
        passed: list[bytes] = []
        try:
            await response.prepare(request)
            async for chunk in exchange.shown(self._passed(exchange, reply, passed)):
                await response.write(chunk)
        except Cut:
            if request.transport is not None:
                request.transport.abort()
            return response
        finally:
            self._book(exchange)
            if reply.meter.complete:
                self._record(exchange, Answer(status=reply.status, type="text/event-stream", body=b"".join(passed)))
        await response.write_eof()
        return response

    async def _passed(self, exchange: Exchange, reply: Reply, passed: list[bytes]) -> AsyncIterator[bytes]:
        """The chunks of a stream, which are added to ``passed`` for a recording. Raises Cut where one is cut."""
        try:
            async for chunk in reply.chunks():
                if self.settings.record:
                    passed.append(chunk)
                if reply.meter.complete:  # a client that has it all may ask what it used
                    self._book(exchange)
                yield chunk
        except Cut:
            exchange.ended = True
            if not reply.meter.complete:
                raise
        exchange.ended = True

    def _record(self, exchange: Exchange, answer: Answer) -> None:
        """Start writing a recording; whoever closes the account waits for it."""
        if not self.settings.record or answer.status not in RECORDED:
            return
        account = exchange.account
        task = asyncio.create_task(self._write(exchange, answer, account.recordings[-1:]))
        account.recordings.append(task)

    async def _write(self, exchange: Exchange, answer: Answer, before: list[asyncio.Task[None]]) -> None:
        account = exchange.account
        await asyncio.gather(*before, return_exceptions=True)
        try:
            await asyncio.to_thread(self._keep, exchange, answer)
        except (OSError, ValueError, RecursionError) as error:
            account.lasting = account.lasting or f"an answer could not be recorded in {self.cassettes.folder}: {error}"

    def _keep(self, exchange: Exchange, answer: Answer) -> None:
        self.cassettes.record(self._question(exchange), answer, (exchange.account.token,))

    # --- replayed ---------------------------------------------------------------------------------------------------

    async def _replay(self, request: web.Request, exchange: Exchange) -> web.StreamResponse:
        question = await asyncio.to_thread(self._question, exchange)
        exchange.replayed = True
        try:
            exchange.recorded_by, answer = await asyncio.to_thread(self.cassettes.find, question)
        except Miss as miss:
            where = f"{exchange.provider}{exchange.path} ({exchange.account.label})"
            sentence = f"--crab-replay: a request to {where} has no recording, run without it to make one; {miss}"
            raise Refusal(400, sentence, lasting=True) from miss
        except (OSError, ValueError) as error:
            raise Refusal(400, f"--crab-replay: a recording cannot be read: {error}", lasting=True) from error
        streams = answer.type.startswith("text/event-stream")
        exchange.status, exchange.meter = answer.status, StreamMeter() if streams else BodyMeter()
        for chunk in answer.chunks():
            exchange.meter.feed(chunk)
        self._book(exchange)
        headers = {"content-type": answer.type}
        if not streams:
            return web.Response(status=answer.status, headers=headers, body=answer.body)
        response = web.StreamResponse(status=answer.status, headers=headers)
        await response.prepare(request)
        async for chunk in exchange.shown(_slowly(answer.chunks())):
            await response.write(chunk)
        await response.write_eof()
        return response

    # --- both -------------------------------------------------------------------------------------------------------

    @staticmethod
    def _question(exchange: Exchange) -> Question:
        content = normalise(exchange.document)
        key = key_of(exchange.provider, exchange.path, content)
        return Question(
            key=key,
            provider=exchange.provider,
            path=exchange.path,
            content=content,
            label=exchange.account.label,
            number=exchange.account.number(key),
        )

    def _book(self, exchange: Exchange) -> None:
        """Book a request, once."""
        if exchange.booked:
            return
        meter, account = exchange.meter, exchange.account
        exchange.booked = True
        account.asking -= {asyncio.current_task()}
        tokens = meter.tokens if meter else None
        price, seconds = price_of(exchange.model, self.settings.prices), time.monotonic() - exchange.clock
        complete, started = meter is not None and meter.complete, exchange.status < 400
        told = complete and tokens is not None
        guessed = started and not told and not exchange.replayed and not exchange.counts
        entry = Entry(
            time=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds"),
            trial=account.trial,
            step=account.step,
            attempt=account.attempt,
            provider=exchange.provider,
            path=exchange.path,
            model=exchange.model,
            status=exchange.status,
            tries=exchange.tries,
            seconds=seconds,
            complete=complete,
            tokens=tokens,
            cost=cost_of(tokens, price),
            estimate=estimate(exchange.document, meter, seconds, price) if price is not None and guessed else None,
            replayed=exchange.replayed,
            cut=guessed and not complete and exchange.ended,
            recorded_by=None if exchange.recorded_by == account.label else exchange.recorded_by,
        )
        self.accounts.enter(account, entry)


async def _slowly(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Chunks one at a time, between which others have their turn."""
    for chunk in chunks:
        yield chunk
        await asyncio.sleep(0)


def _foreign(provider: str, own: Iterable[str]) -> str:
    return (
        f"this token is good for {', '.join(sorted(own))} and not for {provider}: "
        "more_providers of the adapter in crab.yaml would allow it"
    )


def _listed(paths: frozenset[str]) -> str:
    return " and ".join(f"/v1{path}" for path in sorted(paths))
