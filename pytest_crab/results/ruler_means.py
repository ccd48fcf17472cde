"""The means of a reviewer's comments by each ruler, and which rulers its rates are by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_crab.registry import default_scorers
from pytest_crab.results.trial_rows import TrialRow
from pytest_crab.statistics.comparison import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class RulerMean:
    """The mean value of a reviewer's comments by one ruler. Repeats are averaged for each comment first."""

    #: Comments that have a value.
    comments: int
    #: From 0 to 1; None where no comment has a value.
    mean: float | None = None


def measured_by(rows: Sequence[TrialRow]) -> dict[str, Any]:
    """Return the fields of a ReviewerSummary that are about rulers."""
    counted = "oracle" if {row.decided_by for row in rows} <= {None, "oracles"} else "comment"
    return {"decided_by": _decided_by(rows), "by_ruler": _by_ruler(rows), "counted": counted}


def _decided_by(rows: Iterable[TrialRow]) -> dict[str, int]:
    """Return how many verdicts each scorer gave that decided an outcome; none where all are usual ones."""
    counts: dict[str, int] = {}
    for row in rows:
        if row.decided_by is not None:
            counts[row.decided_by] = counts.get(row.decided_by, 0) + len(row.oracles)
    return counts if counts.keys() - _usual() else {}


def _by_ruler(rows: Iterable[TrialRow]) -> dict[str, RulerMean]:
    """Return the means by ruler; none where oracles are the only one, whose rates are the summary's own."""
    if {ruler for row in rows for ruler, _, _ in row.ruler_values} <= _usual():
        return {}
    found: dict[str, dict[Key, list[float]]] = {}
    for row in rows:
        for ruler, comment, value in row.ruler_values:
            own = found.setdefault(ruler, {})
            if value is not None:
                own.setdefault((row.instance, comment), []).append(value)
    means = {ruler: [math.fsum(values) / len(values) for values in own.values()] for ruler, own in found.items()}
    return {
        ruler: RulerMean(comments=len(own), mean=math.fsum(own) / len(own) if own else None)
        for ruler, own in means.items()
    }


def _usual() -> frozenset[str]:
    """Return the scorers of a run that names none, whose verdicts are its rates."""
    return frozenset({"oracles", *default_scorers()})
