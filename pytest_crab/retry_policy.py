"""The back-off of the package: how often to try again, and how long to wait before."""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """A number of tries, and about how many seconds to wait before the first new one.

    Each further wait is twice as long, up to ``longest`` seconds.
    """

    most: int
    wait: float
    longest: float = 120.0

    def pause(self, failed: int) -> float | None:
        """Return the seconds until the next try after so many failures; None: there is none."""
        if failed > self.most:
            return None
        return min(self.wait * 2.0 ** (failed - 1) * random.uniform(0.75, 1.25), self.longest)  # noqa: S311 - no secret


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
