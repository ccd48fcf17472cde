"""The terms of a gate, as options name them: the one record that every gate decides by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_crab.gate.resolved import ACCOUNT, RATE
from pytest_crab.statistics.clusters import LEVEL
from pytest_crab.statistics.comparison import PULL_REQUEST

#: The value of --crab-fail-on under which only a shown drop fails.
WORSE = "worse"

#: How many points a rate may fall, unless another number is named.
MARGIN = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GateTerms:
    """The terms of a gate; a field that an option names alike is that option's value.

    Rates and shares lie between 0 and 1.
    """

    #: The floor; None: there is none.
    fail_under: float | None = None
    #: The share of a reviewer's oracles that may be broken before its numbers stand for nothing.
    max_broken: float = 0.05
    #: The share of a reviewer's oracles that may be unknown for another reason before no gate passes.
    max_unknown: float = 0.05
    errors_as_misses: bool = False
    #: WORSE: a gate that measured enough and is inconclusive ends with 0.
    fail_on: str = "cannot-tell"
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
