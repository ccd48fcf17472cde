"""The gateway's process: started by models.gateway, it ends with those who use it.

Its configuration comes as one line on standard input, its keys from the environment; no argument tells anything.
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

from pytest_crab import plain
from pytest_crab.models.accounts import Accounts
from pytest_crab.models.cassettes import Cassettes
from pytest_crab.models.door import Door
from pytest_crab.models.forwarding import MOST_WAIT
from pytest_crab.retry_policy import RetryPolicy
from pytest_crab.settings import ModelSettings

#: The longest request that is taken, in bytes.
MOST_BODY = 64 << 20

#: Seconds: how long it may take until a client that has ended is seen to have left.
_REST = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What a gateway is told when it starts; no key is among it."""

    models: ModelSettings
    cassettes: str
    ledger: str
    budget: float | None = None
    replay: bool = False


def read_configuration(line: str) -> Configuration:
    """The configuration from its line. Raises ValueError."""
    problems: list[str] = []
    configuration = plain.read(Configuration, json.loads(line), problems)
    if configuration is None:
        raise ValueError("; ".join(problems))
    return configuration


class Life:
    """Who uses the gateway: the one that started it, by a pipe, and others, by a connection each; it ends with them."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self._users = 0

    def come(self) -> None:
        """One more."""
        self._users += 1

    def leave(self) -> None:
        """One less; the last one ends it."""
        self._users -= 1
        if not self._users:
            self.over.set()

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Count a connection for as long as it lasts."""
        self.come()
        writer.write(b"%d\n" % self._users)
        try:
            await reader.read()
        except ConnectionError:
            pass  # gone is gone
        finally:
            writer.close()
            self.leave()


class Entrances:
    """The sockets that sandboxes are shown, one for each access: who is behind one can use no other's token."""

    def __init__(self, runner: web.AppRunner) -> None:
        self._runner = runner
        self._sites: dict[str, web.SockSite] = {}

    async def open(self) -> str:
        """Make a socket; its path in the gateway's folder."""
        path = f"door/{secrets.token_hex(4)}.sock"
        site = self._sites[path] = web.SockSite(self._runner, _bound(Path(path), 0o666), backlog=512)
        await site.start()
        return path

    async def close(self, path: str) -> None:
        """Take a socket away; who is connected to it may do nothing any more."""
        site = self._sites.pop(path, None)
        if site is not None:
            await site.stop()
            _remove(path)


class Desk:
    """The administration: accounts are opened and closed here, on a socket that no sandbox is shown."""

    def __init__(self, accounts: Accounts, entrances: Entrances) -> None:
        self._accounts = accounts
        self._entrances = entrances

    def app(self) -> web.Application:
        """The application for the administration's socket."""
        app = web.Application()
        app.add_routes([web.post("/open", self.open), web.post("/close", self.close), web.post("/usage", self.usage)])
        return app

    async def open(self, request: web.Request) -> web.Response:
        """Open an account."""
        asked = await request.json()
        account = self._accounts.open(**asked)
        account.entrance = await self._entrances.open()
        return web.json_response({"token": account.token, "socket": account.entrance})

    async def close(self, request: web.Request) -> web.Response:
        """Void a token, end what is under way for it, and tell what it used and what went wrong."""
        account = self._accounts.find((await request.json())["token"])
        if account is None:
            return web.json_response({"unknown": True})
        account.open = False
        await self._entrances.close(account.entrance)
        await account.end()
        told = {
            "usage": account.usage(),
            "fault": account.fault,
            "lasting": account.lasting is not None or not account.answered,
            "gave_up": bool(account.given_up),
            "overspent": account.overspent,
            "trial": account.trial,
            "short": account.short,
        }
        return web.json_response(told)

    async def usage(self, request: web.Request) -> web.Response:
        """Tell what an account used so far; what its client has just left is counted."""
        account = self._accounts.find((await request.json())["token"])
        if account is None:
            return web.json_response({"unknown": True})
        await account.rest(_REST)
        return web.json_response({"usage": account.usage()})


async def serve(configuration: Configuration, stdin: Any) -> None:
    """Serve in the current folder until nobody uses the gateway any more."""
    accounts = Accounts(
        Path(configuration.ledger), budget=configuration.budget, trial_budget=configuration.models.trial_budget
    )
    keys = read_keys(configuration.models, os.environ)
    life = Life()
    life.come()
    loop = asyncio.get_running_loop()
    lifeline = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lifeline), stdin)
    connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=300)
    async with aiohttp.ClientSession(connector=connector, trust_env=True, auto_decompress=True) as session:
        door = Door(
            session=session,
            settings=configuration.models,
            keys=keys,
            accounts=accounts,
            cassettes=Cassettes(Path(configuration.cassettes), keys.values()),
            replay=configuration.replay,
            retries=RetryPolicy(
                most=configuration.models.retries, wait=configuration.models.retry_wait, longest=MOST_WAIT
            ),
        )
        app = web.Application(client_max_size=MOST_BODY)
        app.router.add_route("*", "/{provider}{path:.*}", door.handle)
        runners = [await _runner(app)]
        runners.append(await _runner(Desk(accounts, Entrances(runners[0])).app()))
        await web.SockSite(runners[1], _bound(Path("desk.sock"), 0o600), backlog=512).start()
        lease = await asyncio.start_unix_server(life.attend, "lease.sock")
        print("ready", flush=True)  # noqa: T201 - the starter waits for it
        starter = asyncio.create_task(_end_of(lifeline, life))
        await life.over.wait()
        starter.cancel()
        lease.close()
        for runner in runners:
            await runner.cleanup()


async def _end_of(lifeline: asyncio.StreamReader, life: Life) -> None:
    await lifeline.read()
    life.leave()


async def _runner(app: web.Application) -> web.AppRunner:
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    return runner


def _bound(path: Path, mode: int) -> socket.socket:
    """A socket at a path, in place of one that a dead gateway left."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(mode)
    return listener


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def read_keys(settings: ModelSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """The key of each provider that has one, by the provider's name."""
    found = {name: environ.get(provider.key_env or "", "").strip() for name, provider in settings.providers.items()}
    return {name: key for name, key in found.items() if key}


def main() -> None:
    """Read the configuration and serve."""
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
