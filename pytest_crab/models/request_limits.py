"""The limit of requests to a provider at a time, which its own answers set, for every caller of the gateway."""

from __future__ import annotations

import asyncio
import datetime
import re
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from pytest_crab.retry_policy import retry_after

#: The limit at first, and the most that it becomes.
FIRST, MOST = 16, 512

#: The answers that say that there were too many requests.
TOO_MANY = frozenset({429, 529})

#: The headers that say how many requests are left, each with the one that says when there are more.
_LEFT = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
)
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)")


class RequestLimit:
    """The limit of requests to one model of one provider that are under way at a time.

    Where half of it is used, it grows by one with each good answer until the first that says too many, and from
    then on by one with each round of as many good answers as it allows. Too many: it is halved, once for all
    requests of a round. What waits goes on in order. A provider that asks for a pause, or says that no request is
    left, is sent none until then, for at most ``longest`` seconds. It is never more than ``most``.
    """

    def __init__(self, longest: float, most: int = MOST) -> None:
        self._longest = longest
        self._most = most
        self._limit = float(min(FIRST, most))
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._refused = False
        self._round = 0
        self._pause_end = 0.0
        self._wake: asyncio.TimerHandle | None = None

    @property
    def most(self) -> int:
        """The number of requests that may be under way now."""
        return int(self._limit)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """Wait for a place among the requests under way, and hold it; yields the round, which ``note`` takes."""
        await self._enter()
        try:
            yield self._round
        finally:
            self._under_way -= 1
            self._let_in()

    def note(self, sent_in: int, status: int, headers: Mapping[str, str]) -> None:
        """Take over what an answer to a request of this round says."""
        if status in TOO_MANY or (status == 503 and retry_after(headers) is not None):
            self._pause(retry_after(headers))
            if sent_in == self._round:  # what was sent before the limit was halved says nothing of the new one
                self._round += 1
                self._refused = True
                self._limit = max(1.0, self._limit / 2)
        elif status < 400:
            if 2 * self._under_way >= self.most:
                self._limit = min(float(self._most), self._limit + (1 / self._limit if self._refused else 1.0))
            self._pause(_seconds_until_more(headers))
        self._let_in()

    def _pause(self, seconds: float | None) -> None:
        """Let nothing in for so long; a pause longer than ``longest`` is passed on with each answer instead."""
        if seconds is not None and seconds <= self._longest:
            self._pause_end = max(self._pause_end, asyncio.get_running_loop().time() + seconds)

    async def _enter(self) -> None:
        if not self._waiting and self._has_room():
            self._under_way += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._let_in()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it was let in at the very moment that it went away
                self._under_way -= 1
            else:
                self._waiting.remove(place)
            self._let_in()
            raise

    def _has_room(self) -> bool:
        return self._under_way < self.most and asyncio.get_running_loop().time() >= self._pause_end

    def _let_in(self) -> None:
        """Let in what waits as far as there is room, and come back when a pause ends."""
        while self._waiting and self._has_room():
            place = self._waiting.popleft()
            if not place.done():
                self._under_way += 1
                place.set_result(None)
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        loop = asyncio.get_running_loop()
        if self._waiting and loop.time() < self._pause_end:
            self._wake = loop.call_at(self._pause_end, self._let_in)


def _seconds_until_more(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until a provider takes requests again where it says that none is left; else None."""
    for left, reset in _LEFT:
        if headers.get(left, "").strip() == "0":
            return _seconds(headers.get(reset, "").strip())
    return None


def _seconds(text: str) -> float | None:
    """Return a time from now as providers write it, ``1m30s``, ``6ms``, ``2.5`` or a date; None if it is none."""
    parts = _PART.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    try:
        return max(float(text), 0.0)
    except ValueError:
        pass  # perhaps a date
    try:
        then = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        return max((then - datetime.datetime.now(datetime.timezone.utc)).total_seconds(), 0.0)
    except (ValueError, TypeError):  # TypeError: a date without its zone
        return None
