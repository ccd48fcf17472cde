"""Screening: of the instances that were stable in all past runs a drawn share is run, and stands for the rest."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from pytest_crab.formats import format_count
from pytest_crab.results.gate_record import GateScreen
from pytest_crab.statistics.comparison import Key, Measured

#: An instance is stable if all its oracles had the same known verdict in at least so many runs.
LEAST_RUNS = 3


@dataclass(slots=True, kw_only=True)
class Screen:
    """The draw among ``stable`` instances: ``share`` of them is run, each with this chance and apart from the others.

    What is drawn depends on ``seed`` and the instance alone. ``kept`` and ``left_out`` are those of a run's instances.
    """

    share: float
    seed: str
    stable: Collection[str]
    kept: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)

    def draw(self, instances: Iterable[str]) -> None:
        """Draw among these instances of a run."""
        for instance in instances:
            if instance in self.stable:
                drawn = random.Random(f"{self.seed} {instance}").random() < self.share  # noqa: S311 - no secret
                (self.kept if drawn else self.left_out).add(instance)

    def weigh(self, before: Mapping[Key, Measured], after: Mapping[Key, Measured]) -> dict[Key, Measured]:
        """Return ``after`` so that its mean difference from ``before`` is that of the full set, on average.

        A difference in a kept instance counts 1 / share times, and one in an instance that was left out not at all
        (Horvitz and Thompson 1952).
        """
        weighed = {
            key: dataclasses.replace(own, weight=1 / self.share) if key[0] in self.kept else own
            for key, own in after.items()
        }
        for key, own in before.items():
            if key[0] in self.left_out:
                weighed[key] = dataclasses.replace(own, weight=0.0)
        return weighed

    @property
    def record(self) -> GateScreen:
        """The screen for summary.json."""
        return GateScreen(share=self.share, seed=self.seed, kept=len(self.kept), left_out=len(self.left_out))

    @property
    def account(self) -> str:
        """The sentence on what was left out."""
        return (
            f"Of {format_count(len(self.kept) + len(self.left_out), 'instance')} that were stable in the baseline, "
            f"{len(self.kept)} were drawn (share {self.share:g}, seed {self.seed}), and each difference in them counts "
            f"{1 / self.share:.4g} times; the rates in the tables are of what was run."
        )


def stable_instances(runs: Iterable[Mapping[Key, Measured]]) -> set[str]:
    """Return the instances whose oracles had one known verdict in all of LEAST_RUNS runs or more, of each reviewer."""
    found: set[str] = set()
    moved: set[str] = set()
    for run in runs:
        for (instance, _), own in run.items():
            same = not own.unknown and 0 in (own.caught, own.missed) and own.caught + own.missed >= LEAST_RUNS
            (found if same else moved).add(instance)
    return found - moved
