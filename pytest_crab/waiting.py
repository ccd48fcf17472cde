"""The time that a thread waits for its turn: it is said, and it is no part of what a step takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

#: What is added to a step's name while it waits for a slot.
FOR_A_SLOT = ": waits for a slot"


@dataclass
class Waited:
    """The seconds that this thread has waited since ``waits_counted`` began."""

    notice: Callable[[bool], None]
    seconds: float = 0.0


_counting: ContextVar[tuple[Waited, ...]] = ContextVar("counting", default=())


@contextmanager
def waits_counted(notice: Callable[[bool], None] = lambda _begins: None) -> Iterator[Waited]:
    """Count what this thread waits inside; ``notice`` is called when a wait begins (true) and when it ends.

    Of several inside one another all count, and the innermost is called.
    """
    own = Waited(notice)
    token = _counting.set((*_counting.get(), own))
    try:
        yield own
    finally:
        _counting.reset(token)


@contextmanager
def waiting() -> Iterator[None]:
    """Wait for a turn inside, which is counted and said."""
    counting = _counting.get()
    for one in counting[-1:]:
        one.notice(True)
    start = time.monotonic()
    try:
        yield
    finally:
        took = time.monotonic() - start
        for one in counting:
            one.seconds += took
        for one in counting[-1:]:
            one.notice(False)
