"""A pool of threads for work on several things at a time, all of which ends when one of them fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def side_by_side(jobs: int, stop: Callable[[], None]) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of so many threads; a failure calls ``stop``, which breaks off what is under way."""
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            yield pool
        except BaseException:
            stop()
            raise
