"""Numbers, counts and tables as text for people: one function for each kind of quantity."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from pytest_crab.text import ascii_line

#: Stands where nothing was measured.
NOTHING = "-"


class Bounds(Protocol):
    """An interval of shares."""

    @property
    def low(self) -> float:
        """Its lower end, from 0 to 1."""

    @property
    def high(self) -> float:
        """Its upper end."""


_UNITS = "KMGT"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(?:i?B)?", re.IGNORECASE)


def format_one(noun: str) -> str:
    """Return a noun with its article, as ``an oracle``."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def format_count(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def format_near(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean NEAR?)" where one of the known names is like this one, else nothing."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def format_names(names: Sequence[str], shown: int, between: str = ", ") -> str:
    """Return the first ``shown`` names in a row, and how many more there are."""
    return between.join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")


def format_first(sentences: Sequence[str]) -> str:
    """Return the first of some sentences, and how many more there are in brackets."""
    return sentences[0] + (f" (and {len(sentences) - 1} more)" if len(sentences) > 1 else "")


def format_number(value: float | None) -> str:
    """Return a sum or mean: whole where it is whole, else with one decimal."""
    if value is None:
        return NOTHING
    return str(round(value)) if abs(value - round(value)) < 1e-9 else f"{value:.1f}"


def format_percent(share: float | None) -> str:
    """Return a share between 0 and 1 in percent with one decimal, without the sign."""
    return NOTHING if share is None else f"{100 * share:.1f}"


def format_points(difference: float | None) -> str:
    """Return a difference of two shares in percentage points, with its plus or minus."""
    return NOTHING if difference is None else f"{100 * difference:+.1f}"


def format_whole_percent(share: float) -> str:
    """Return a share between 0 and 1 in whole percent, with the sign."""
    return f"{100 * share:.0f}%"


def format_decimal(value: float | None, places: int = 2) -> str:
    """Return a mean, a ratio or a coefficient with this many decimals."""
    return NOTHING if value is None else f"{value:.{places}f}"


def format_interval(interval: Bounds | None, between: str = "-") -> str:
    """Return an interval of a share in percent: 26.4-38.3."""
    return NOTHING if interval is None else f"{format_percent(interval.low)}{between}{format_percent(interval.high)}"


def format_change_interval(interval: Bounds | None) -> str:
    """Return an interval of a difference in percentage points: -3.1 to +0.4."""
    return NOTHING if interval is None else f"{format_points(interval.low)} to {format_points(interval.high)}"


def format_part(part: int, whole: int, between: str = "/") -> str:
    """Return a part of a whole, as 3/12; nothing where the whole is 0."""
    return f"{part}{between}{whole}" if whole else NOTHING


def format_dollars(amount: float | None, least: int = 2) -> str:
    """Return an amount with ``least`` decimals, or more where two significant digits need them: 0.0008, not 0.00."""
    if amount is None:
        return NOTHING
    if not amount:
        return f"{0:.{least}f}"
    if abs(amount) >= 10 ** (1 - least):
        return f"{amount:.{least}f}"
    whole, _, decimals = f"{amount:.{1 - math.floor(math.log10(abs(amount)))}f}".partition(".")
    return f"{whole}.{decimals[:least]}{decimals[least:].rstrip('0')}"


def format_size(size: float) -> str:
    """Return a number of bytes with two digits or three: 1.4 GB, 23 MB."""
    power = 1
    while size >= 1000 * 1024**power and power < len(_UNITS):
        power += 1
    value = size / 1024**power
    return f"{value:.{1 if value < 10 else 0}f} {_UNITS[power - 1]}B"


def parse_size(text: str) -> int:
    """Return the bytes that ``20G``, ``1.5T`` or ``800 MB`` stand for. Raises ValueError, also without a unit."""
    match = _SIZE.fullmatch(text)
    size = int(float(match[1]) * 1024 ** (1 + _UNITS.index(match[2].upper()))) if match else 0
    if size <= 0:
        raise ValueError(f"{text!r} is no size")
    return size


def parse_share(text: str) -> float:
    """Return the share that ``30%`` or ``0.3`` stands for. Raises ValueError for what is not from 0 to 1."""
    number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= number <= 1:
        raise ValueError(f"{text!r} is no share")
    return number


def parse_points(text: str) -> float:
    """Return the percentage points of ``5`` or ``5pp``. Raises ValueError for what is not from 0 to 100."""
    number = float(text.removesuffix("pp"))
    if not 0 <= number <= 100:
        raise ValueError(f"{text!r} is no number of points")
    return number


def format_p(value: float) -> str:
    """Return a p value with three decimals; below the least of them it says so."""
    return "<0.001" if value < 0.0005 else f"{value:.3f}"


def format_duration(seconds: float) -> str:
    """Return a length of time to the whole second, minute or tenth of an hour."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def today() -> str:
    """Return the date in UTC, as records have it."""
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def format_table(
    rows: Iterable[Sequence[str]], gap: str = "  ", *, right: bool = True, widest: int = 60
) -> Iterator[str]:
    """Yield the lines of a table: the first column to the left, the others to the right unless ``right`` is false.

    Cells may be foreign text: each is escaped to ASCII on one line and cut to ``widest`` characters.
    """
    cells = [[ascii_line(cell, widest) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *rest in cells:
        padded = (cell.rjust(n) if right else cell.ljust(n) for cell, n in zip(rest, widths[1:], strict=True))
        yield gap.join((first.ljust(widths[0]), *padded)).rstrip()
