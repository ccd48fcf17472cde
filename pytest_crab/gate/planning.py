"""Plans of a gate by pull requests and repeats: what each choice would show, and what it would cost."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_crab.gate.pairing import ASSUMED_FLIPS, flips, load
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.statistics.clusters import correlation_of
from pytest_crab.statistics.comparison import PULL_REQUEST
from pytest_crab.statistics.power import Design
from pytest_crab.statistics.power_simulation import simulate_power
from pytest_crab.types import Instance

#: The rate that is taken for a reviewer that was not measured.
ASSUMED_RATE = 0.3

#: Comparisons that are drawn for each choice: a chance is then right to about three points.
_DRAWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The grounds of a plan."""

    #: The number of oracles of each pull request.
    sizes: Sequence[int]
    rate: float = ASSUMED_RATE
    #: The share of verdicts that change.
    noise: float = ASSUMED_FLIPS
    #: The correlation within pull requests.
    correlation: float = 0.0
    #: The price of one trial; None: not known.
    usd: float | None = None
    #: In whose repeats the noise was measured; empty: it is only assumed.
    grounds: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One choice of pull requests and repeats, in the baseline and in the run."""

    pull_requests: int
    repeats: int
    #: How often an unchanged reviewer is shown to be no worse, by margin in points.
    passes: dict[float, float]
    #: The margin that it meets in four of five runs; None: none.
    margin: float | None
    #: The drop that is shown so often; None: none.
    drop: float | None
    #: The price of one run.
    usd: float | None


def sizes_of(instances: Iterable[Instance]) -> tuple[int, ...]:
    """Return the number of oracles of each instance that has any."""
    return tuple(len(one.with_oracles) for one in instances if one.with_oracles)


def measure_of(own: ReviewerSummary, repeated: tuple[ReviewerSummary, str] | None = None) -> Measure | None:
    """Return what a stored run tells of its set and its reviewer; None: it has no verdict.

    ``repeated`` is the run whose repeats show the noise, with words for them; None: there is none.
    """
    values = {oracle.key: float(value) for oracle in own.oracles if (value := oracle.value()) is not None}
    if not values:
        return None
    noisy, grounds = repeated or (own, "")
    return Measure(
        sizes=tuple(Counter(oracle.instance for oracle in own.oracles).values()),
        rate=sum(values.values()) / len(values),
        noise=flips(noisy),
        correlation=correlation_of(list(values.values()), [instance for instance, _ in values]),
        usd=load(own).cost_usd,
        grounds=grounds,
    )


def choices(
    measure: Measure, margins: Sequence[float], pull_requests: Iterable[int], repeats: Iterable[int]
) -> Iterator[Choice]:
    """Yield what each number of pull requests like these with each number of repeats would show."""
    for count, often in itertools.product(pull_requests, repeats):
        sizes = list(itertools.islice(itertools.cycle(measure.sizes), count))
        ahead = simulate_power(_design(measure, sizes, often), draws=_DRAWS)
        yield Choice(
            pull_requests=count,
            repeats=often,
            passes={margin: ahead.chance_unchanged(margin / 100) for margin in margins},
            margin=in_halves(ahead.decided_margin()),
            drop=ahead.smallest_drop(),
            usd=None if measure.usd is None else measure.usd * count * often,
        )


def decided_margin(measure: Measure) -> float | None:
    """Return the margin in points that an unchanged reviewer meets in four of five runs of this set; None: none."""
    return in_halves(simulate_power(_design(measure, measure.sizes, 1), draws=_DRAWS).decided_margin())


def in_halves(share: float | None) -> float | None:
    """Return a share in points, rounded up to halves; None where it is none, or more than can be lost."""
    return None if share is None or share >= 1 else math.ceil(200 * share - 1e-6) / 2


def _design(measure: Measure, sizes: Sequence[int], repeats: int) -> Design:
    return Design(
        sizes=sizes,
        noise=measure.noise / repeats,
        rate=measure.rate,
        correlation=measure.correlation,
        by=PULL_REQUEST,
    )
