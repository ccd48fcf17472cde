"""Time that is waited: counted by all who count it, said by the innermost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_crab.waiting import waiting, waits_counted


def test_what_is_waited_inside_counts_and_the_innermost_is_told(passes: Callable[[float], None]) -> None:
    told: list[tuple[str, bool]] = []
    with waits_counted(lambda begins: told.append(("outer", begins))) as outer:
        with waiting():
            passes(1)
        with waits_counted(lambda begins: told.append(("inner", begins))) as inner:
            passes(10)
            with waiting():
                passes(2)
    with waiting():
        passes(4)
    assert (outer.seconds, inner.seconds) == (3, 2)
    assert told == [("outer", True), ("outer", False), ("inner", True), ("inner", False)]


def test_a_wait_that_is_broken_off_counts(passes: Callable[[float], None]) -> None:
    def broken_off() -> None:
        with waiting():
            passes(2)
            raise KeyboardInterrupt

    with waits_counted() as counted:
        with pytest.raises(KeyboardInterrupt):
            broken_off()
        assert counted.seconds == 2
