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
    """The terms of a gate against a baseline."""

    #: The margin in points.
    margin: float = MARGIN
    #: Margins in points by label, or by dimension:label.
    margins: Mapping[str, float] = field(default_factory=dict)
    #: The one condition that may differ.
    allowed: str | None = None
    #: The most times that the gate is asked before its answer is taken: an error's chance is divided among them.
    looks: int = 1
    #: The kind of clusters.
    unit: str = PULL_REQUEST
    #: False: the comparison is only shown.
    gated: bool = True
    #: The number that the gate decides on.
    on: str = RATE

    @property
    def level(self) -> float:
        """The level of the intervals of one look."""
        return 1 - (1 - LEVEL) / self.looks

    @property
    def account(self) -> str:
        """The gate's sentence on itself; empty where it decides on the rate."""
        return "" if self.on == RATE else ACCOUNT
