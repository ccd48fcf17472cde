"""Retries of calls to services on the network."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from pytest_crab.retry_policy import RetryPolicy

T = TypeVar("T")


def call_retrying(
    call: Callable[[], T],
    failure: type[Exception],
    *,
    policy: RetryPolicy,
    until: float,
    sleep: Callable[[float], None],
) -> T:
    """Make a call that may be made twice, again where it raises a ``failure`` that may pass.

    A failure has ``pause``: the seconds that the service asks to wait, None if another try would not help.
    It waits what the service asks for, at least what the policy says, and gives up where that would end after
    ``until``, a moment of the monotonic clock. Raises what the last call raised.
    """
    failed = 0
    while True:
        try:
            return call()
        except failure as error:
            failed += 1
            asked: float | None = getattr(error, "pause", None)
            own = policy.pause(failed)
            if asked is None or own is None or time.monotonic() + max(asked, own) > until:
                raise
        sleep(max(asked, own))
