"""Retries of calls to services on the network."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pytest_crab.retry_policy import RetryPolicy

if TYPE_CHECKING:
    import tenacity

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
    import tenacity

    def pause_of(error: object) -> float | None:
        return getattr(error, "pause", None) if isinstance(error, failure) else None

    def pause(state: tenacity.RetryCallState) -> float:
        return max(
            pause_of(state.outcome and state.outcome.exception()) or 0.0, policy.pause(state.attempt_number) or 0.0
        )

    def is_over(state: tenacity.RetryCallState) -> bool:
        return state.attempt_number > policy.most or time.monotonic() + state.upcoming_sleep > until

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(lambda error: pause_of(error) is not None),
        wait=pause,
        stop=is_over,
        sleep=sleep,
        reraise=True,
    )(call)
