"""The limit of requests to a provider at a time, alone and before a real provider that has a limit of its own."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Any

import pytest

from pytest_crab.models.request_limits import FIRST, MOST, RequestLimit
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, fail, say

STEP = {"trial": "set/one::human[0]", "step": "answers", "attempt": 1}


def play(game: Callable[[RequestLimit], Coroutine[Any, Any, Any]], longest: float = 60.0, most: int = MOST) -> Any:
    """Play a game with a limit, which needs a loop: in a thread, since a browser of other tests has one in this."""

    async def begin() -> Any:
        return await asyncio.wait_for(game(RequestLimit(longest, most)), 20)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(begin())).result()


async def answer(limit: RequestLimit, count: int, status: int = 200, **headers: str) -> None:
    """Have so many requests under way at once, then have each answered alike."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    async with AsyncExitStack() as under_way:
        rounds = [await under_way.enter_async_context(limit.turn()) for _ in range(count)]
        for sent_in in rounds:
            limit.note(sent_in, status, named)


def test_it_doubles_with_each_full_round_until_the_first_refusal() -> None:
    async def game(limit: RequestLimit) -> list[int]:
        seen = [limit.most]
        for _ in range(3):
            await answer(limit, limit.most)
            seen.append(limit.most)
        return seen

    assert play(game) == [FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST]


def test_a_refusal_halves_it_once_for_all_that_were_under_way_and_then_it_grows_by_one_a_round() -> None:
    async def game(limit: RequestLimit) -> list[int]:
        await answer(limit, limit.most, 429)
        seen = [limit.most]
        for _ in range(4):
            await answer(limit, limit.most)
            seen.append(limit.most)
        return seen

    halved, *grown = play(game)
    assert halved == FIRST // 2
    assert grown[-1] - halved in (3, 4)


def test_what_is_not_used_does_not_grow() -> None:
    async def game(limit: RequestLimit) -> int:
        for _ in range(50):
            await answer(limit, 3)
        return limit.most

    assert play(game) == FIRST


@pytest.mark.parametrize("most", [1, FIRST + 4])
def test_a_limit_of_the_provider_is_never_exceeded(most: int) -> None:
    async def game(limit: RequestLimit) -> int:
        for _ in range(3):
            await answer(limit, limit.most)
        return limit.most

    assert play(game, most=most) == most


def test_it_never_ends_below_one() -> None:
    async def game(limit: RequestLimit) -> int:
        for _ in range(12):
            await answer(limit, 1, 429)
        return limit.most

    assert play(game) == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"status": 429, "retry_after": "0.3"},
        {"status": 503, "retry_after": "0.3"},
        {"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "300ms"},
        {"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "0.3"},
        {"anthropic_ratelimit_requests_remaining": "0", "anthropic_ratelimit_requests_reset": "DATE"},
    ],
    ids=str,
)
def test_a_provider_that_asks_for_a_pause_gets_it_from_all(headers: dict[str, Any]) -> None:
    async def game(limit: RequestLimit) -> float:
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=0.3)
        given = {name: soon.isoformat() if text == "DATE" else text for name, text in headers.items()}
        await answer(limit, 1, **given)
        before = asyncio.get_running_loop().time()
        async with limit.turn():
            return asyncio.get_running_loop().time() - before

    assert play(game) > 0.2


@pytest.mark.parametrize(
    "headers",
    [
        {"status": 429, "retry_after": "3600"},
        {"x_ratelimit_remaining_requests": "1", "x_ratelimit_reset_requests": "6m0s"},
        {"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "soon"},
        {"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "6m0s"},
    ],
    ids=str,
)
def test_there_is_no_pause_that_is_too_long_or_is_not_asked_for(headers: dict[str, Any]) -> None:
    async def game(limit: RequestLimit) -> None:
        await answer(limit, 1, **headers)
        async with limit.turn():
            pass

    play(game)


def test_a_request_that_leaves_the_queue_takes_no_place() -> None:
    async def game(limit: RequestLimit) -> None:
        async with AsyncExitStack() as under_way:
            for _ in range(limit.most):
                await under_way.enter_async_context(limit.turn())
            waiting = [asyncio.create_task(answer(limit, 1)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            waiting[1].cancel()
            await asyncio.sleep(0)
        waiting[2].cancel()  # let in and gone at one moment
        await asyncio.gather(*waiting, return_exceptions=True)
        await answer(limit, FIRST)

    play(game)


class StrictModel:
    """Takes ``most`` requests at a time, each for ``seconds``, and refuses what is above."""

    def __init__(self, most: int, seconds: float) -> None:
        self.most, self.seconds = most, seconds
        self.refused = self.answered = 0
        self._ends: list[float] = []

    def __call__(self, asked: Asked) -> Reply:
        del asked
        now = time.monotonic()
        self._ends = [end for end in self._ends if end > now]
        if len(self._ends) >= self.most:
            self.refused += 1
            return fail(429, "slow down", retry_after="0.05")
        self._ends.append(now + self.seconds)
        self.answered += 1
        return say("ok", delay=self.seconds)


def test_callers_that_ask_too_much_at_a_time_are_all_answered(make: Any, client: Any, chat: Any) -> None:
    model = StrictModel(most=5, seconds=0.05)
    make.provider.script = model
    gateway = make(retries=4)
    with gateway.open(**STEP) as access, client(access) as http, ThreadPoolExecutor(60) as pool:

        def ask(number: int) -> int:
            return http.post(chat.path, json=chat.body(f"question {number}")).status_code

        codes = list(pool.map(ask, range(120)))
    assert codes == [200] * 120
    assert model.answered == 120
    assert model.refused < 60  # 55 of the first 60, had all been sent at once, and most of them again and again
