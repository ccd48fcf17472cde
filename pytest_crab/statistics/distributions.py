"""Student's t and the binomial, for the few quantiles and tails that intervals and tests need."""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

#: The chance that a standard normal variable is at most a number.
normal_cdf = NormalDist().cdf

#: Degrees of freedom from which on t is not told from the normal distribution.
_MANY = 1e6


def t_cdf(x: float, df: float) -> float:
    """The chance that Student's t with ``df`` degrees of freedom (any number above 0) is at most ``x``."""
    if df >= _MANY:
        return normal_cdf(x)
    if x * x < df:  # where the tail's form would lose digits
        centre = math.copysign(_beta(x * x / (df + x * x), 0.5, df / 2) / 2, x)
        return 0.5 + centre
    tail = _beta(df / (df + x * x), df / 2, 0.5) / 2
    return 1 - tail if x > 0 else tail


@functools.lru_cache(maxsize=4096)
def t_quantile(chance: float, df: float) -> float:
    """The value that Student's t is below with this chance, strictly between 0 and 1."""
    if not 0 < chance < 1 or not df > 0:
        raise ValueError("a chance lies between 0 and 1, and degrees of freedom above 0")
    if chance < 0.5:
        return -t_quantile(1 - chance, df)
    low, high = 0.0, 2.0
    while t_cdf(high, df) < chance:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, df) < chance else (low, middle)
        if high - low < 1e-12 * high:
            break
    return (low + high) / 2


def beta_quantile(chance: float, a: float, b: float) -> float:
    """The value that a beta variable with these parameters (above 0) is below with this chance."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _beta(middle, a, b) < chance else (low, middle)
    return (low + high) / 2


def sign_test(fewer: int, total: int) -> float:
    """The two-sided exact chance that of ``total`` fair coins at most ``fewer`` show one of the sides."""
    if not total:
        return 1.0
    ways = tail = 1
    for heads in range(fewer):
        ways = ways * (total - heads) // (heads + 1)
        tail += ways
    return float(min(1, 2 * tail / 2**total))


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function from 0 up to 1 by its continued fraction (NIST DLMF 8.17.22)."""
    if not x:
        return 0.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1 / (1 + step * d)
            c = 1 + step / c
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * value
