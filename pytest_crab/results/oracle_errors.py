"""The measured error rates of the oracles that a run's verdicts are from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_crab.results.trial_rows import ORACLES, TrialRow
from pytest_crab.types import ErrorRate, OracleError


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredErrors:
    """The error rates over the oracles of a run, each counted once."""

    false_accept: ErrorRate
    false_reject: ErrorRate
    false_reject_in_company: ErrorRate
    oracles: int
    #: Oracles whose rate of false accepts was not measured.
    unmeasured: int

    def words(self) -> str:
        """Return the rates in words, each with what it was measured on, and how many oracles have none."""
        refused = (self.false_reject, self.false_reject_in_company)
        if self.unmeasured == self.oracles and not any(rate.total for rate in refused):
            return "error rates not measured on changes by authors who have not seen them"
        rest = f"; {self.unmeasured} of {self.oracles} oracles not measured" if self.unmeasured else ""
        alone, together = refused
        return (
            f"wrong fixes accepted {self.false_accept}, right ones refused alone {alone}, in company {together}{rest}"
        )


def measured_errors(rows: Iterable[TrialRow]) -> MeasuredErrors | None:
    """Return the error rates of the oracles in these rows; None if there is no oracle.

    What a record calls a rate and was measured by no author is none: older versions recorded rates after repair.
    """
    by_oracle = {
        oracle.key: row.error_rates.get(oracle.comment, {})
        for row in rows
        if row.decided_by == ORACLES
        for oracle in row.oracles
    }
    if not by_oracle:
        return None
    found = {
        error: [rate for rates in by_oracle.values() if (rate := rates.get(error)) is not None and rate.authors]
        for error in OracleError
    }
    accepts = found[OracleError.FALSE_ACCEPT]
    return MeasuredErrors(
        **{error.name.lower(): sum(rates, ErrorRate()) for error, rates in found.items()},
        oracles=len(by_oracle),
        unmeasured=len(by_oracle) - len(accepts),
    )
