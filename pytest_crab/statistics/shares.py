"""A part of a whole, as counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A part of cases."""

    #: Means over repeats make it a fraction.
    part: float = 0
    #: Cases with a result.
    known: int = 0
    #: Cases without one, which are not among ``known``.
    unknown: int = 0

    @classmethod
    def of(cls, results: Iterable[bool | None]) -> Share:
        """Return the share of results that are true; None is an unknown one."""
        found = list(results)
        known = len(found) - found.count(None)
        return cls(part=found.count(True), known=known, unknown=len(found) - known)

    @property
    def rate(self) -> float | None:
        """The share; None of nothing."""
        return self.part / self.known if self.known else None


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean; None of nothing, and where a value is not known."""
    found = list(values)
    known = [value for value in found if value is not None]
    return fmean(known) if known and len(known) == len(found) else None
