"""The looks of a gate that ends its run: after equal parts of the repositories in random order, until it is decided."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pytest_crab.formats import format_count, format_whole_percent
from pytest_crab.gate.results import GateResult
from pytest_crab.results.gate_record import GateLook
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.statistics.sequential import parts_in_random_order, share_spent


@dataclass(slots=True, kw_only=True)
class GateLooks:
    """The state of such a run.

    ``parts`` has each repository's part, from 1 on, in an order that ``seed`` fixes. ``look`` is the one that is due at
    the end of the part under way. ``decided`` is the ruling that ended the run; None: it goes on.
    """

    looks: int
    seed: str
    parts: Mapping[str, int] = field(default_factory=dict)
    look: int = 1
    decided: GateResult | None = None

    def divide(self, oracles: Mapping[str, int]) -> None:
        """Put these repositories, with so many oracles each, into parts."""
        self.parts = parts_in_random_order(oracles, self.looks, self.seed)
        self.look = min(self.parts.values(), default=1)

    def is_due(self, repo: str) -> bool:
        """Return True if this repository belongs to what the look under way rests on."""
        return self.parts[repo] <= self.look

    def end(self) -> None:
        """Note that the run has finished: the last look is due, unless an earlier one decided."""
        if self.decided is None:
            self.look = self.looks

    @property
    def needless(self) -> str | None:
        """The sentence of the trials that are not run; None: all are."""
        if self.decided is None:
            return None
        return f"not needed: the gate {self.decided} at look {self.look} of {self.looks}"

    @property
    def record(self) -> GateLook:
        """The look for summary.json."""
        return GateLook(
            look=self.look,
            looks=self.looks,
            seed=self.seed,
            repositories=sum(part <= self.look for part in self.parts.values()),
            left_out=sum(part > self.look for part in self.parts.values()),
            spent=share_spent(self.look, self.looks),
        )

    @property
    def account(self) -> str:
        """The sentence on the look that the ruling rests on."""
        own = self.record
        return (
            f"Look {own.look} of {own.looks}, after {own.repositories} of "
            f"{format_count(own.repositories + own.left_out, 'repository')} in random order (seed {own.seed}); "
            f"{format_whole_percent(own.spent)} of the chance of an error is spent."
        )


def seed_of(baselines: Iterable[ReviewerSummary]) -> str:
    """Return a seed that is the same as long as the baseline is, so that no run can be tried again in another order."""
    verdicts = [(own.reviewer, [(*one.key, one.verdicts) for one in own.oracles]) for own in baselines]
    return hashlib.sha256(repr(verdicts).encode()).hexdigest()[:8]
