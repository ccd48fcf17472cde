"""What the gateway adds to a request and to a stream: run with the Python that has pytest-crab[models] installed.

A scripted provider is asked directly and through the gateway, alternated in the same run: one large request after the
other, then many small ones side by side. Then many streams run at once both ways; each chunk carries the moment at
which it was sent, so that the delay of every chunk is known.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from aiohttp import web
from figures import middle, tell

from pytest_crab.model_access import ModelAccess
from pytest_crab.models import Gateway
from pytest_crab.settings import Api, ModelSettings, Provider

REQUEST_BUDGET, CHUNK_BUDGET = 5.0, 10.0

#: So many small requests of a round, so many of them side by side, and so many rounds.
SMALL, SIDE_BY_SIDE, ROUNDS = 1_000, 100, 5

#: So often streams are begun at once each way.
STREAM_ROUNDS = 3


def body(number: int, *, stream: bool = False, words: int = 13_000) -> dict[str, Any]:
    """A request as large as those of real clients, or of fewer words; no two are the same."""
    said = f"{'x y z ' * words} {number}"
    return {"model": "scripted", "max_tokens": 9, "stream": stream, "messages": [{"role": "user", "content": said}]}


class Way(NamedTuple):
    """One way to ask: a session, an address, and what goes with it."""

    session: aiohttp.ClientSession
    url: str
    headers: dict[str, str]


class Stream(NamedTuple):
    """One stream as it arrived: whether every byte is the provider's, and each chunk's delay in milliseconds."""

    whole: bool
    delays: list[float]


async def provide(port_to: str, chunks: int, pause: float) -> None:
    """Answer whole requests at once, and streams with one stamped event every ``pause`` seconds."""

    async def handle(request: web.Request) -> web.StreamResponse:
        document = await request.json()
        if not document.get("stream"):
            return web.json_response({"id": "m", "usage": {"input_tokens": 1, "output_tokens": 1}})
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        seen = hashlib.sha256()
        for _ in range(chunks):
            event = f"data: {json.dumps({'sent': time.perf_counter(), 'noise': os.urandom(50).hex()})}\n\n".encode()
            seen.update(event)
            await response.write(event)
            await asyncio.sleep(pause)
        await response.write(f'data: {{"type": "message_stop", "sha256": "{seen.hexdigest()}"}}\n\n'.encode())
        await response.write_eof()
        return response

    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/messages", handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    Path(port_to).write_text(str(runner.addresses[0][1]))  # noqa: ASYNC240 - nobody is served yet
    await asyncio.Event().wait()


async def ask(way: Way, number: int) -> float:
    """The milliseconds of one whole request."""
    start = time.perf_counter()
    async with way.session.post(way.url, json=body(number), headers=way.headers) as answer:
        await answer.read()
        answer.raise_for_status()
    return 1000 * (time.perf_counter() - start)


async def follow(way: Way, number: int) -> Stream:
    """One stream to its end."""
    delays: list[float] = []
    seen, last = hashlib.sha256(), b""
    async with way.session.post(way.url, json=body(number, stream=True), headers=way.headers) as answer:
        answer.raise_for_status()
        async for line in answer.content:
            if b'"sent"' in line:
                delays.append(1000 * (time.perf_counter() - json.loads(line[5:])["sent"]))
            if b'"sha256"' in line:
                last = line
                break
            seen.update(line)
        rest = await answer.content.read()
    return Stream(rest == b"\n" and json.loads(last[5:])["sha256"] == seen.hexdigest(), delays)


async def measure(port: int, access: ModelAccess, process: int, requests: int, streams: int) -> bool:
    """Measure both, print, and say whether the budgets hold."""
    connectors = aiohttp.TCPConnector(limit=0), aiohttp.UnixConnector(path=str(access.socket), limit=0)
    async with (
        aiohttp.ClientSession(connector=connectors[0]) as plain,
        aiohttp.ClientSession(connector=connectors[1]) as through,
    ):
        direct = Way(plain, f"http://127.0.0.1:{port}/v1/messages", {})
        gateway = Way(through, "http://gateway/anthropic/v1/messages", {"x-api-key": access.token})
        ways = {"direct": direct, "gateway": gateway}
        took: dict[str, list[float]] = {name: [] for name in ways}
        before = processor(process)
        for number in range(requests + 5):
            for name in sorted(ways, reverse=bool(number % 2)):
                spent = await ask(ways[name], number)
                if number >= 5:  # the first ones open connections
                    took[name].append(spent)
        added = statistics.median(took["gateway"]) - statistics.median(took["direct"])
        print(f"{requests} requests of {len(json.dumps(body(0))) // 1000} kB, one after the other")
        for name, each in took.items():
            print(f"  {name:8} median {statistics.median(each):6.2f} ms   p99 {p99(each):6.2f} ms")
        print(f"  processor time of the gateway {1000 * (processor(process) - before) / requests:.2f} ms a request")
        print(f"  added at the median {added:.2f} ms; budget {REQUEST_BUDGET:.0f} ms")
        await side_by_side(ways, process)
        tell("gateway.added", f"{added:.1f}", good=added <= REQUEST_BUDGET)
        return await at_once(ways, streams) and added <= REQUEST_BUDGET


async def at_once(ways: Mapping[str, Way], streams: int) -> bool:
    """Measure streams that begin at once, both ways in turn, print, and say whether the budget holds and all is whole.

    The first round opens connections, which spreads the streams, and so is not counted.
    """
    late: dict[str, list[float]] = {name: [] for name in ways}
    whole = True
    for number in range(STREAM_ROUNDS + 1):
        for name in sorted(ways, reverse=bool(number % 2)):
            found = await asyncio.gather(*(follow(ways[name], number * streams + each) for each in range(streams)))
            whole = whole and all(stream.whole for stream in found)
            late[name] += [p99([delay for stream in found for delay in stream.delays])] if number else []
    print(f"{streams} streams at once, {STREAM_ROUNDS} rounds, {'all' if whole else 'NOT ALL'} equal byte for byte")
    for name, each in late.items():
        print(f"  {name:8} delay of a chunk: p99 {middle(each, 1)} ms")
    good = statistics.median(late["gateway"]) <= CHUNK_BUDGET
    print(f"  budget {CHUNK_BUDGET:.0f} ms through the gateway")
    tell("gateway.stream", middle(late["gateway"], 1), good=good)
    tell("gateway.stream.direct", middle(late["direct"], 1))
    return good and whole


async def side_by_side(ways: Mapping[str, Way], process: int) -> None:
    """Measure requests that run side by side, both ways in turn, and print how many are answered a second."""
    rates: dict[str, list[float]] = {name: [] for name in ways}
    spent: list[float] = []
    for number in range(ROUNDS):
        for name in sorted(ways, reverse=bool(number % 2)):
            numbers = iter(range(number * SMALL, (number + 1) * SMALL))

            async def ask_in_turn(way: Way, numbers: Iterator[int]) -> None:
                for each in numbers:
                    async with way.session.post(way.url, json=body(each, words=50), headers=way.headers) as answer:
                        await answer.read()
                        answer.raise_for_status()

            before, start = processor(process), time.perf_counter()
            await asyncio.gather(*(ask_in_turn(ways[name], numbers) for _ in range(SIDE_BY_SIDE)))
            rates[name].append(SMALL / (time.perf_counter() - start))
            if name == "gateway":
                spent.append(1000 * (processor(process) - before) / SMALL)
    print(
        f"{SMALL} requests of {len(json.dumps(body(0, words=50)))} bytes, {SIDE_BY_SIDE} side by side, {ROUNDS} rounds"
    )
    for name, each in rates.items():
        print(f"  {name:8} {middle(each, 0)} a second")
    tell("gateway.rate", middle(rates["gateway"], 0))
    tell("gateway.rate.direct", middle(rates["direct"], 0))
    tell("gateway.processor", middle(spent, 2))


def processor(process: int) -> float:
    """The seconds of a processor that a process has used, which other work on the machine does not add to."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def p99(numbers: list[float]) -> float:
    """The 99th percentile."""
    return statistics.quantiles(numbers, n=100)[98]


@contextmanager
def provider(folder: Path, chunks: int, pause: float) -> Iterator[int]:
    """The provider in a process of its own; its port."""
    port = folder / "port"
    argv = [sys.executable, __file__, "--provide", str(port), "--chunks", str(chunks), "--pause", str(pause)]
    with subprocess.Popen(argv) as process:
        try:
            while not port.exists() or not port.read_text():
                time.sleep(0.05)
            yield int(port.read_text())
        finally:
            process.kill()


def main() -> int:
    """Measure and print; 1 if a budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=200, help="whole requests each way (default: 200)")
    parser.add_argument("--streams", type=int, default=200, help="streams at once (default: 200)")
    parser.add_argument("--chunks", type=int, default=20, help="chunks of a stream (default: 20)")
    parser.add_argument("--pause", type=float, default=0.25, help="seconds between chunks (default: 0.25)")
    parser.add_argument("--provide", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.provide:
        asyncio.run(provide(options.provide, options.chunks, options.pause))
    os.environ["ANTHROPIC_API_KEY"] = "a-key-of-no-use"
    with tempfile.TemporaryDirectory() as name, provider(Path(name), options.chunks, options.pause) as port:
        folder = Path(name)
        url = f"http://127.0.0.1:{port}"
        providers = {"anthropic": Provider(base_url=url, api=Api.ANTHROPIC, key_env="ANTHROPIC_API_KEY")}
        settings = ModelSettings(providers=providers)
        gateway = Gateway(lambda: folder / "gateway", settings, cassettes=folder / "c", ledgers=folder / "l")
        with gateway.open(trial="benchmark", step="review", attempt=1) as access:
            good = asyncio.run(measure(port, access, gateway.process_id or 0, options.requests, options.streams))
        gateway.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
