"""The record of a gate's decision in a summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_crab.statistics.comparison import Comparison
from pytest_crab.statistics.labels import LabelComparison


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRuling:
    """A gate's ruling on one reviewer, or on the run (``reviewer`` None), with the reasons."""

    reviewer: str | None = None
    ruling: str
    paragraph: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateLook:
    """The look that a gate was decided at, of a run that looks after each of ``looks`` parts of its repositories.

    The order of repositories is drawn from ``seed``. ``repositories`` were measured by then, and ``left_out`` were not.
    ``spent`` is the share of the chance of an error that looks up to this one have.
    """

    look: int
    looks: int
    seed: str
    repositories: int
    left_out: int
    spent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GateScreen:
    """A screen: ``kept`` of the instances that were stable in the baseline were drawn and run, and ``left_out`` not.

    Each was drawn with the chance ``share``, by ``seed``.
    """

    share: float
    seed: str
    kept: int
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A gate's decision: ``comparisons`` and ``labels`` are by reviewer, shares; ``margin`` is in points.

    Those with the anchor are by the reviewer and the anchor's name.

    ``warnings`` say what differs from the baseline and may: clients' versions, or what was allowed to. ``account``
    says in words what the ruling rests on, where that is not all of the run's instances. ``look`` is
    there if the run looks at its gate and ends once it is decided, ``screen`` if stable instances were drawn from.
    """

    exit_code: int
    ruling: str
    paragraph: str
    fail_under: float | None = None
    baseline: str | None = None
    anchor: str | None = None
    margin: float | None = None
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    labels: Mapping[str, tuple[LabelComparison, ...]] = field(default_factory=dict)
    rulings: tuple[GateRuling, ...] = ()
    warnings: tuple[str, ...] = ()
    account: str = ""
    look: GateLook | None = None
    screen: GateScreen | None = None
