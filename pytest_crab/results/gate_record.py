"""The record of a gate's decision in a summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_crab.statistics.comparison import Comparison
from pytest_crab.statistics.labels import LabelComparison


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRuling:
    """A gate's ruling on one reviewer, or on the run (``reviewer`` None).

    ``word`` is what the comparison with the baseline shows: worse, better, no worse, cannot tell; empty without one.
    ``lines`` say why, the verdict first, and ``details`` what else is known.
    """

    reviewer: str | None = None
    ruling: str
    word: str = ""
    lines: tuple[str, ...]
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A gate's decision: ``comparisons`` and ``labels`` are by reviewer, shares; ``margin`` is in points.

    Those with the anchor are by the reviewer and the anchor's name. ``sentence`` says the ruling and the exit status;
    it is empty where there was no gate. ``warnings`` say what differs from the baseline and may: clients' versions, or
    what was allowed to. ``account`` says in words what the ruling rests on, where that is not the rate.
    """

    exit_code: int
    ruling: str
    sentence: str
    fail_under: float | None = None
    baseline: str | None = None
    anchor: str | None = None
    margin: float | None = None
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    labels: Mapping[str, tuple[LabelComparison, ...]] = field(default_factory=dict)
    rulings: tuple[GateRuling, ...] = ()
    warnings: tuple[str, ...] = ()
    account: str = ""

    @property
    def paragraph(self) -> str:
        """The whole in words: every ruling with its reasons, and the exit status."""
        said = (line for ruling in self.rulings for line in ruling.lines)
        return "\n".join(filter(None, [*said, self.account, self.sentence]))
