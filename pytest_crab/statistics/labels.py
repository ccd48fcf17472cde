"""Two measurements of the same oracles, label by label."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from pytest_crab.statistics.clusters import LEVEL
from pytest_crab.statistics.comparison import PULL_REQUEST, Comparison, Key, Measured, compare
from pytest_crab.statistics.paired import holm


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelComparison:
    """The oracles with one label in both runs."""

    #: That of the label, such as ``category`` for security.
    dimension: str
    label: str
    comparison: Comparison
    #: The comparison's ``p_clusters``, adjusted for the labels of its dimension.
    p_holm: float
    #: The gate's for this label, in points; None: none was named.
    margin: float | None = None

    def stands_out(self, margin: float) -> bool:
        """Return whether these oracles, taken alone, fell by more than ``margin`` points, and not by chance.

        Chance is excluded by the exact test of lost against gained oracles.
        """
        own = self.comparison
        fell = own.difference is not None and 100 * own.difference < -margin
        return fell and len(own.lost) > len(own.gained) and own.p <= 1 - own.level


def compare_labels(
    before: Mapping[Key, Measured],
    after: Mapping[Key, Measured],
    labels: Mapping[Key, Mapping[str, str]],
    margins: Mapping[str, float],
    *,
    level: float = LEVEL,
    unit: str = PULL_REQUEST,
) -> tuple[LabelComparison, ...]:
    """Compare the oracles of each label; ``margins`` are by label, or by dimension:label."""
    groups: dict[tuple[str, str], set[Key]] = {}
    for key, own in labels.items():
        for dimension, label in own.items():
            groups.setdefault((dimension, label), set()).add(key)
    found = {
        name: compare(_only(before, keys), _only(after, keys), level=level, unit=unit) for name, keys in groups.items()
    }
    adjusted: dict[tuple[str, str], float] = {}
    for family in {dimension for dimension, _ in groups}:
        chances = {label: found[family, label].p_clusters for dimension, label in groups if dimension == family}
        adjusted |= {(family, label): p for label, p in holm(chances).items()}
    return tuple(
        LabelComparison(
            dimension=dimension,
            label=label,
            comparison=found[dimension, label],
            p_holm=adjusted[dimension, label],
            margin=margins.get(f"{dimension}:{label}", margins.get(label)),
        )
        for dimension, label in sorted(groups)
    )


def absent_labels(labels: Mapping[Key, Mapping[str, str]], margins: Iterable[str]) -> tuple[str, ...]:
    """Return the names of margins, each a label or dimension:label, that no oracle has."""
    names = {name for own in labels.values() for pair in own.items() for name in (pair[1], ":".join(pair))}
    return tuple(name for name in margins if name not in names)


def _only(measured: Mapping[Key, Measured], keys: Collection[Key]) -> dict[Key, Measured]:
    return {key: own for key, own in measured.items() if key in keys}
