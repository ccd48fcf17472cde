"""US dollars as people read them."""

from __future__ import annotations

import math


def dollars(amount: float, least: int = 2) -> str:
    """An amount with ``least`` decimals, and with as many more as two significant digits need: 0.0008 is 0.00080."""
    if not amount:
        return f"{0:.{least}f}"
    return f"{amount:.{max(least, 1 - math.floor(math.log10(abs(amount))))}f}"
