"""The calibration of a judge: how far it agrees with labels by people, kept in the store under the judge's identity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_crab import serialization
from pytest_crab.formats import format_count, format_decimal
from pytest_crab.protocols import Store

#: The name in the store.
CALIBRATION = "calibration"

#: The name, among the versions of a trial's record, of the calibration of each of its judges; None: it has none.
CALIBRATIONS = "calibrations"

#: What is said of a judge that has none.
UNCALIBRATED = "not compared with labels by people: how far these numbers can be trusted is not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A judge against labels by people."""

    #: Findings with a label of both.
    compared: int
    #: Those of them that both label alike.
    agreed: int
    #: Labelled findings that the judge has no label of.
    unknown: int
    #: Cohen's, over ``compared``.
    kappa: float | None = None


def keep_calibration(store: Store, identity: Mapping[str, Any], found: Calibration) -> None:
    """Keep the newest calibration of the judge with this identity. Raises StoreError."""
    store.put(CALIBRATION, serialization.digest(identity), serialization.dump(found))


def find_calibration(store: Store, identity: Mapping[str, Any]) -> Calibration | None:
    """Return the calibration of the judge with this identity; None if there is none. Raises StoreError."""
    value = store.get(CALIBRATION, serialization.digest(identity))
    return None if value is None else serialization.read(Calibration, value, [])


def calibration_line(found: Calibration | None) -> str:
    """Return how far a judge agrees with people, or the warning that nothing is known of it."""
    if found is None:
        return UNCALIBRATED
    agree = "" if found.kappa is None else f", kappa {format_decimal(found.kappa)}"
    unknown = f", {found.unknown} more unknown" if found.unknown else ""
    return f"agrees with people on {found.agreed} of {format_count(found.compared, 'finding')}{agree}{unknown}"
