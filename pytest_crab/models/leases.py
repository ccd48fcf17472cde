"""Money that somebody else keeps: a gateway on a worker asks for a lease before each request and settles it after."""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_crab.models.exchange import Exchange
from pytest_crab.models.metering import bound
from pytest_crab.models.metering import estimate
from pytest_crab.models.metering import price_of
from pytest_crab.settings import Price

_GONE = "the worker that this gateway belongs to is gone, and nobody grants money for requests any more"


class Leases:
    """The line to the keeper, a Unix socket with a JSON object per line.

    Sent: ``{"ask": id, "trial", "step", "attempt", "provider", "path", "model", "most", "guess"}`` and
    ``{"settle": id or null, "entry": a line of the ledger or null}``. Received: ``{"grant": id}`` or
    ``{"refuse": id, "why": a sentence}``. ``most`` is what the request can cost, ``guess`` what it may have come to if
    nobody hears of it again; both are US dollars, null: no price is known.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, prices: Mapping[str, Price]) -> None:
        self._writer = writer
        self._prices = prices
        self._name = secrets.token_hex(4)
        self._numbers = itertools.count()
        self._asked: dict[str, asyncio.Future[str | None]] = {}
        self._listening = asyncio.create_task(self._listen(reader))

    @classmethod
    async def at(cls, path: Path, prices: Mapping[str, Price]) -> Leases:
        """Connect. Raises OSError."""
        return cls(*await asyncio.open_unix_connection(str(path)), prices)

    async def take(self, exchange: Exchange) -> str | None:
        """Wait until this request may be made, which its ``lease`` then says; else why it may not, as a sentence."""
        if self._listening.done():
            return _GONE
        lease = f"{self._name}-{next(self._numbers)}"
        answer = self._asked[lease] = asyncio.get_running_loop().create_future()
        account, price = exchange.account, price_of(exchange.model, self._prices)
        self._send(
            {
                "ask": lease,
                "trial": account.trial,
                "step": account.step,
                "attempt": account.attempt,
                "provider": exchange.provider,
                "path": exchange.path,
                "model": exchange.model,
                "most": None if price is None else bound(exchange.document, price),
                "guess": None if price is None else estimate(exchange.document, None, 0.0, price),
            }
        )
        why: str | None
        try:
            why = await answer
        except asyncio.CancelledError:
            self.settle(lease, None)
            raise
        finally:
            del self._asked[lease]
        exchange.lease = lease if why is None else None
        return why

    def settle(self, lease: str | None, entry: Mapping[str, Any] | None) -> None:
        """Give a lease back with what the request came to; None: it was not made."""
        if not self._writer.is_closing():
            self._send({"settle": lease, "entry": entry})

    def _send(self, told: Mapping[str, Any]) -> None:
        self._writer.write(json.dumps(told, separators=(",", ":")).encode() + b"\n")

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                told = json.loads(line)
                answer = self._asked.get(told.get("grant") or told.get("refuse"))
                if answer is not None and not answer.done():
                    answer.set_result(told.get("why"))
        except OSError:
            pass  # gone is gone
        finally:
            self._writer.close()
            for answer in self._asked.values():
                if not answer.done():
                    answer.set_result(_GONE)
