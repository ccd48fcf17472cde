"""The back-off of the package: how often to try again, and how long to wait before."""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """A number of tries, and the waits between them."""

    #: The number of tries.
    most: int
    #: About how many seconds to wait before the first new one. Each further wait is twice as long.
    wait: float
    #: The seconds up to which waits grow.
    longest: float = 120.0

    def pause(self, failed: int) -> float | None:
        """Return the seconds until the next try after so many failures; None: there is none."""
        if failed > self.most:
            return None
        return min(self.wait * 2.0 ** (failed - 1) * random.uniform(0.75, 1.25), self.longest)  # noqa: S311 - no secret

    def retry(
        self, call: Callable[[], T], failure: type[Exception], *, until: float, sleep: Callable[[float], None]
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
                own = self.pause(failed)
                if asked is None or own is None or time.monotonic() + max(asked, own) > until:
                    raise
            sleep(max(asked, own))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After asks for, given as a number or as a date; None if it asks for nothing."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "")
        try:
            return max(float(text) * unit, 0.0)
        except ValueError:
            pass  # no number, perhaps a date
        if text:
            try:
                return max(email.utils.parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
            except ValueError:
                return None
    return None
