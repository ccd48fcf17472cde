"""The gateway's process: started by models.gateway, it ends with its last user.

Its configuration comes as one line on standard input, its keys as environment variables; it takes no argument.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from pytest_crab import serialization
from pytest_crab.garbage import freeze_once
from pytest_crab.models.cassettes import Cassettes
from pytest_crab.models.client import ADMIN_SOCKET, LEASE_SOCKET, STEP_SOCKETS
from pytest_crab.models.ledger import Ledger
from pytest_crab.models.prices import read_published
from pytest_crab.models.proxy import Proxy
from pytest_crab.models.recorder import Recorder
from pytest_crab.models.upstream import MOST_WAIT
from pytest_crab.retry_policy import RetryPolicy
from pytest_crab.settings import ModelSettings

#: The longest request that is taken, in bytes.
MOST_BODY = 64 << 20

#: Seconds until the end of a client is noticed, at most.
_REST = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The settings that a gateway starts with; no key is among them."""

    models: ModelSettings
    cassettes: str
    ledger: str
    budget: float | None = None
    replay: bool = False


def read_configuration(line: str) -> Configuration:
    """Read the configuration from its line. Raises ValueError."""
    problems: list[str] = []
    configuration = serialization.read(Configuration, json.loads(line), problems)
    if configuration is None:
        raise ValueError("; ".join(problems))
    return configuration


class UserCount:
    """Counts the users of the gateway: its starter, by a pipe, and others, by a connection each; it ends with them."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self._users = 0

    def add(self) -> None:
        """Count one more."""
        self._users += 1

    def remove(self) -> None:
        """Count one less; the last one ends the gateway."""
        self._users -= 1
        if not self._users:
            self.over.set()

    async def hold_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Count a connection for as long as it lasts."""
        self.add()
        writer.write(b"%d\n" % self._users)
        try:
            await reader.read()
        except ConnectionError:
            pass  # gone is gone
        finally:
            writer.close()
            self.remove()

    async def until_closed(self, pipe: asyncio.StreamReader) -> None:
        """Count the starter, who was added before, until its end of the pipe is closed."""
        await pipe.read()
        self.remove()


class StepSockets:
    """The sockets that sandboxes are shown, one for each access: a token is good at its own socket alone."""

    def __init__(self, runner: web.AppRunner) -> None:
        self._runner = runner
        self._sites: dict[str, web.SockSite] = {}

    async def open(self) -> str:
        """Make a socket; return its path in the gateway's folder."""
        path = f"{STEP_SOCKETS}/{secrets.token_hex(4)}.sock"
        site = self._sites[path] = web.SockSite(self._runner, _bind(Path(path), 0o666), backlog=512)
        await site.start()
        return path

    async def close(self, path: str) -> None:
        """Take a socket away; its connections may do nothing any more."""
        site = self._sites.pop(path, None)
        if site is not None:
            await site.stop()
            await asyncio.to_thread(Path(path).unlink, missing_ok=True)


class AdminApi:
    """Opens and closes accounts, on a socket that no sandbox is shown."""

    def __init__(self, ledger: Ledger, sockets: StepSockets) -> None:
        self._ledger = ledger
        self._sockets = sockets

    def app(self) -> web.Application:
        """Return the application for the administration's socket."""
        app = web.Application()
        app.add_routes([web.post("/open", self.open), web.post("/close", self.close), web.post("/usage", self.usage)])
        return app

    async def open(self, request: web.Request) -> web.Response:
        """Open an account."""
        account = self._ledger.open(**await request.json())
        account.socket = await self._sockets.open()
        return web.json_response({"token": account.token, "socket": account.socket})

    async def close(self, request: web.Request) -> web.Response:
        """Void a token, break off its requests, and say what it used and what went wrong."""
        account = self._ledger.find((await request.json())["token"])
        if account is None:
            return web.json_response({"unknown": True})
        account.open = False
        await self._sockets.close(account.socket)
        await account.end()
        answer = {
            "usage": account.usage(),
            "fault": account.fault,
            "lasting": account.lasting is not None or not account.has_answer,
            "gave_up": bool(account.given_up),
            "overspent": account.overspent,
            "trial": account.trial,
            "short": account.short,
        }
        return web.json_response(answer)

    async def usage(self, request: web.Request) -> web.Response:
        """Say what an account used so far; requests that its client has just left are counted."""
        account = self._ledger.find((await request.json())["token"])
        if account is None:
            return web.json_response({"unknown": True})
        await account.rest(_REST)
        return web.json_response({"usage": account.usage()})


async def serve(configuration: Configuration, stdin: Any) -> None:
    """Serve in the current folder until the gateway has no user any more."""
    settings = configuration.models
    ledger = Ledger(Path(configuration.ledger), budget=configuration.budget, trial_budget=settings.trial_budget)
    keys = read_keys(settings, os.environ)
    users = UserCount()
    users.add()
    pipe = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(pipe), stdin)
    connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=300)
    proxied = any(name.lower().endswith("_proxy") for name in os.environ)  # looking for one costs each request
    cookies = aiohttp.DummyCookieJar()  # one step's cookies are not another one's
    cassettes = Cassettes(Path(configuration.cassettes), keys.values())
    async with aiohttp.ClientSession(connector=connector, trust_env=proxied, cookie_jar=cookies) as session:
        proxy = Proxy(
            session=session,
            settings=settings,
            keys=keys,
            ledger=ledger,
            cassettes=cassettes,
            recorder=Recorder(cassettes),
            replay=configuration.replay,
            policy=RetryPolicy(most=settings.retries, wait=settings.retry_wait, longest=MOST_WAIT),
        )
        app = web.Application(client_max_size=MOST_BODY)
        app.router.add_route("*", "/{provider}{path:.*}", proxy.handle)
        runners = [await _runner(app)]
        runners.append(await _runner(AdminApi(ledger, StepSockets(runners[0])).app()))
        await web.SockSite(runners[1], _bind(Path(ADMIN_SOCKET), 0o600), backlog=512).start()
        lease = await asyncio.start_unix_server(users.hold_connection, LEASE_SOCKET)
        print("ready", flush=True)  # noqa: T201 - the starter waits for it
        starter = asyncio.create_task(users.until_closed(pipe))
        if not configuration.replay and any(one.base_url.startswith("https:") for one in settings.providers.values()):
            asyncio.get_running_loop().run_in_executor(None, read_published)  # else all wait at the first answer
        await users.over.wait()
        starter.cancel()
        lease.close()
        for runner in runners:
            await runner.cleanup()


async def _runner(app: web.Application) -> web.AppRunner:
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    return runner


def _bind(path: Path, mode: int) -> socket.socket:
    """Listen on a socket at a path, in place of one that a dead gateway left."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(mode)
    return listener


def read_keys(settings: ModelSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the key of each provider that has one, by the provider's name."""
    found = {name: environ.get(provider.key_env or "", "").strip() for name, provider in settings.providers.items()}
    return {name: key for name, key in found.items() if key}


def main() -> None:
    """Read the configuration and serve."""
    freeze_once()
    stdin = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = stdin.read(1)
        if not byte:
            sys.exit("the gateway was given no configuration")
        line += byte
    asyncio.run(serve(read_configuration(line.decode()), stdin))


if __name__ == "__main__":
    main()
