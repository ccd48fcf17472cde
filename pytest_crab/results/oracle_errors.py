"""The measured error rates of the oracles that a run's verdicts are from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_crab.results.trial_rows import TrialRow
from pytest_crab.types import ErrorRate


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredErrors:
    """The error rates over the oracles of a run, each counted once; ``unmeasured`` have none of false accepts."""

    false_accept: ErrorRate
    false_reject: ErrorRate
    oracles: int
    unmeasured: int

    def words(self) -> str:
        """Return both rates in words, and how many oracles have none."""
        if self.unmeasured == self.oracles and not self.false_reject.total:
            return "error rates not measured on changes by authors who have not seen them"
        rest = f"; {self.unmeasured} of {self.oracles} oracles not measured" if self.unmeasured else ""
        return f"wrong fixes accepted {self.false_accept}, right ones refused {self.false_reject}{rest}"


def measured_errors(rows: Iterable[TrialRow]) -> MeasuredErrors | None:
    """Return the error rates of the oracles in these rows; None if there is no oracle."""
    by_oracle = {(row.instance, comment): rates for row in rows for comment, rates in row.error_rates.items()}
    if not by_oracle:
        return None
    accepts = [accept for accept, _ in by_oracle.values() if accept is not None]
    rejects = [reject for _, reject in by_oracle.values() if reject is not None]
    return MeasuredErrors(
        false_accept=sum(accepts, ErrorRate()),
        false_reject=sum(rejects, ErrorRate()),
        oracles=len(by_oracle),
        unmeasured=len(by_oracle) - len(accepts),
    )
