"""Sizes of disk space as people write and read them; K, M, G and T are powers of 1024."""

from __future__ import annotations

import re

_UNITS = "KMGT"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(?:i?B)?", re.IGNORECASE)


def read_size(text: str) -> int:
    """The bytes that ``20G``, ``1.5T`` or ``800 MB`` stand for. Raises ValueError, also for a number without unit."""
    match = _SIZE.fullmatch(text)
    size = int(float(match[1]) * 1024 ** (1 + _UNITS.index(match[2].upper()))) if match else 0
    if size <= 0:
        raise ValueError(f"{text!r} is no size")
    return size


def in_words(size: float) -> str:
    """``size`` bytes with two digits or three: 1.4 GB, 23 MB."""
    power = 1
    while size >= 1000 * 1024**power and power < len(_UNITS):
        power += 1
    value = size / 1024**power
    return f"{value:.{1 if value < 10 else 0}f} {_UNITS[power - 1]}B"
