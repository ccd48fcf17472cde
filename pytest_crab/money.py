"""US dollars as people read them."""

from __future__ import annotations

import math


def dollars(amount: float, least: int = 2) -> str:
    """An amount with ``least`` decimals, and with more where two significant digits need them: 0.0008, not 0.00."""
    if not amount:
        return f"{0:.{least}f}"
    whole, _, decimals = f"{amount:.{max(least, 1 - math.floor(math.log10(abs(amount))))}f}".partition(".")
    return f"{whole}.{decimals[:least]}{decimals[least:].rstrip('0')}"
