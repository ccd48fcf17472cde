"""The record of a gate's decision in a summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_crab.statistics.comparison import Comparison
from pytest_crab.statistics.labels import LabelComparison


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRuling:
    """A gate's ruling on one reviewer, or on the run."""

    #: The reviewer; None: the run.
    reviewer: str | None = None
    ruling: str
    #: The word for the comparison with the baseline: worse, better, no worse, cannot tell; empty without one.
    word: str = ""
    #: The reasons, the verdict first.
    lines: tuple[str, ...]
    #: The rest that is known.
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A gate's decision. Comparisons with the anchor are by the reviewer and the anchor's name."""

    exit_code: int
    ruling: str
    #: The ruling and the exit status; empty where there was no gate.
    sentence: str
    fail_under: float | None = None
    baseline: str | None = None
    anchor: str | None = None
    #: The margin in points.
    margin: float | None = None
    #: The changes by reviewer, in shares.
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    #: The same by label.
    labels: Mapping[str, tuple[LabelComparison, ...]] = field(default_factory=dict)
    rulings: tuple[GateRuling, ...] = ()
    #: The differences from the baseline that may be: clients' versions, or what was allowed to.
    warnings: tuple[str, ...] = ()
    #: The grounds of the ruling in words, where these are not the rate.
    account: str = ""

    @property
    def paragraph(self) -> str:
        """The whole in words: every ruling with its reasons, and the exit status."""
        said = (line for ruling in self.rulings for line in ruling.lines)
        return "\n".join(filter(None, [*said, self.account, self.sentence]))
