"""The one back-off: how long is waited before another try, and what a service may ask for instead."""

from __future__ import annotations

import pytest

from pytest_crab import retry_policy
from pytest_crab.retry_policy import RetryPolicy, retry_after


def test_each_wait_is_about_twice_as_long_up_to_the_longest() -> None:
    policy = RetryPolicy(most=4, wait=10.0, longest=25.0)
    for _ in range(20):
        first, second, third = (policy.pause(failed) or 0 for failed in (1, 2, 3))
        assert 7.5 <= first <= 12.5
        assert 15.0 <= second <= 25.0
        assert third == 25.0
    assert policy.pause(4) is not None
    assert policy.pause(5) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 90.0),
        ({"retry-after": "soon"}, None),
    ],
)
def test_a_service_asks_to_wait(
    headers: dict[str, str], seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry_policy.time, "time", lambda: 10.0)
    assert retry_after(headers) == seconds
