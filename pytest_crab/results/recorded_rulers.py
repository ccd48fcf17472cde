"""The rulers that scored a run's trials: the version of each, and for judges their cost and how far they are known."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_crab import serialization
from pytest_crab.formats import format_count, format_dollars
from pytest_crab.results.model_usage import whole_sum
from pytest_crab.scoring.judges.calibration import CALIBRATIONS, Calibration, calibration_line
from pytest_crab.text import one_line
from pytest_crab.types import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRuler:
    """A ruler on record."""

    name: str
    #: Those of its trials, more than one where they differ.
    versions: tuple[str, ...] = ()
    #: True of a model.
    judge: bool = False
    #: The number of times that it was asked, in all trials.
    votes: int = 0
    #: The cost of these; None: not known.
    cost_usd: float | None = None
    calibration: Calibration | None = None

    @property
    def caution(self) -> str:
        """The sentence beside a judge's numbers on how far to trust them; empty for another ruler."""
        return calibration_line(self.calibration) if self.judge else ""


def recorded_rulers(trials: Iterable[Trial]) -> dict[str, RecordedRuler]:
    """Return the rulers that the records of trials name, in their order."""
    return merge_rulers(map(rulers_of, trials))


def rulers_of(trial: Trial) -> dict[str, RecordedRuler]:
    """Return what one trial's record says of its rulers."""
    named = _mapping(trial.versions.get("rulers"))
    found = {name: RecordedRuler(name=name, versions=(f"{version}",)) for name, version in named.items()}
    for name, value in _mapping(trial.versions.get(CALIBRATIONS)).items():
        calibration = serialization.read(Calibration, value, [])
        found[name] = dataclasses.replace(
            found.get(name, RecordedRuler(name=name)), judge=True, calibration=calibration
        )
    for name, used in trial.scoring.items():
        if used.judge:
            cost = None if used.usage is None else used.usage.cost_usd
            own = found.get(name, RecordedRuler(name=name))
            found[name] = dataclasses.replace(own, judge=True, votes=used.answers, cost_usd=cost)
    return found


def _mapping(value: Any) -> Mapping[str, Any]:
    """Return a value of JSON if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def merge_rulers(several: Iterable[Mapping[str, RecordedRuler]]) -> dict[str, RecordedRuler]:
    """Return the rulers of several trials as one record each."""
    found: dict[str, RecordedRuler] = {}
    for name, one in ((name, one) for rulers in several for name, one in rulers.items()):
        own = found.get(name)
        found[name] = one if own is None else _merge(own, one)
    return found


def _merge(one: RecordedRuler, other: RecordedRuler) -> RecordedRuler:
    return dataclasses.replace(
        other,
        versions=tuple(dict.fromkeys((*one.versions, *other.versions))),
        judge=one.judge or other.judge,
        votes=one.votes + other.votes,
        cost_usd=whole_sum([own.cost_usd for own in (one, other) if own.votes]),
        calibration=other.calibration or one.calibration,
    )


def ruler_lines(rulers: Iterable[RecordedRuler]) -> Iterator[str]:
    """Yield a line for each ruler with its version, and of judges with votes, cost and how far they can be trusted."""
    for ruler in rulers:
        parts = [one_line(" and ".join(ruler.versions), 200)]
        if ruler.judge:
            cost = "cost not known" if ruler.cost_usd is None else f"{format_dollars(ruler.cost_usd)} USD"
            parts += [f"{format_count(ruler.votes, 'vote')}, {cost}" if ruler.votes else "", ruler.caution]
        yield f"{one_line(ruler.name, 60)}: {'; '.join(filter(None, parts))}"
