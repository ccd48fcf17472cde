"""The terms of a gate against a baseline, as options name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_crab.gate.resolved import ACCOUNT, RATE
from pytest_crab.statistics.clusters import LEVEL
from pytest_crab.statistics.comparison import PULL_REQUEST

#: How many points a rate may fall, unless another number is named.
MARGIN = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GateTerms:
    """The terms of a gate against a baseline.

    ``margin`` and ``margins`` (by label, or by dimension:label) are in points. ``looks`` is how often the gate is asked
    at most before its answer is taken; the chance of an error is divided among them (Bonferroni). ``unit`` is what
    clusters are. ``allowed`` is the one condition that may differ. ``on`` is what the gate
    decides on.
    """

    margin: float = MARGIN
    margins: Mapping[str, float] = field(default_factory=dict)
    allowed: str | None = None
    looks: int = 1
    unit: str = PULL_REQUEST
    gated: bool = True
    on: str = RATE

    @property
    def level(self) -> float:
        """The level of the intervals of one look."""
        return 1 - (1 - LEVEL) / self.looks

    @property
    def account(self) -> str:
        """The gate's sentence on itself; empty where it decides on the rate."""
        return "" if self.on == RATE else ACCOUNT
