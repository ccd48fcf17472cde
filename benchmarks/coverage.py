"""Whether the intervals cover and the gate does what it announces, on simulated benchmarks of c-CRAB's shape.

    python benchmarks/coverage.py [--benchmarks 2000]

Each benchmark has 184 instances in 67 repositories with 234 oracles (arXiv 2603.23448, table 4, spread over
repositories as in its public release). A repository's own rate is drawn from a beta distribution with the mean and the
intra-cluster correlation of the row; 5% of all verdicts are unknown.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

from pytest_crab.statistics.clusters import rate_interval
from pytest_crab.statistics.comparison import Comparison
from pytest_crab.statistics.comparison import Key
from pytest_crab.statistics.comparison import Measured
from pytest_crab.statistics.comparison import compare
from pytest_crab.statistics.comparison import design_of
from pytest_crab.statistics.power import power

#: Pull requests per repository, and oracles per pull request: 67 and 184 numbers.
REPOSITORIES = [15, 15, 11, 9, 7, 6, 5, 5, *[4] * 8, *[3] * 6, *[2] * 16, *[1] * 29]
ORACLES = [*[1] * 154, *[2] * 17, *[3] * 8, *[4] * 3, *[5] * 2]

RATE, UNKNOWN, FLIPS = 0.32, 0.05, 0.06
CORRELATIONS = (0.0, 0.05, 0.1)
DROPS = (0.1, 0.14, 0.18)


@dataclass(frozen=True)
class Truth:
    """What a reviewer would be measured at without end: its rate, and how alike a repository's oracles are."""

    rate: float
    correlation: float


def layout(source: random.Random) -> Iterator[tuple[Key, str]]:
    """Yield every oracle with its repository; which pull requests have several oracles is drawn."""
    counts = ORACLES[:]
    source.shuffle(counts)
    at = 0
    for repo, pulls in enumerate(REPOSITORIES):
        for _ in range(pulls):
            for comment in range(counts[at]):
                yield (f"i{at}", f"c{comment}"), f"r{repo}"
            at += 1


def verdicts(source: random.Random, truth: Truth) -> dict[Key, tuple[str, bool]]:
    """Every oracle's repository and whether it is caught."""
    rates: dict[str, float] = {}
    found = {}
    for key, repo in layout(source):
        if repo not in rates:
            rates[repo] = _rate_of(source, truth)
        found[key] = (repo, source.random() < rates[repo])
    return found


def again(source: random.Random, first: dict[Key, tuple[str, bool]], drop: float) -> dict[Key, tuple[str, bool]]:
    """A second run in which FLIPS of all oracles are gained, and as many and ``drop`` more are lost."""
    gain, lose = FLIPS / (1 - RATE), (FLIPS + drop) / RATE
    return {
        key: (repo, source.random() >= lose if caught else source.random() < gain)
        for key, (repo, caught) in first.items()
    }


def measured(
    source: random.Random, found: dict[Key, tuple[str, bool]], unknown: float = UNKNOWN
) -> dict[Key, Measured]:
    """The same as a run would report it, with this share unknown."""
    return {
        key: Measured(repo=repo, caught=0, missed=0, unknown=1)
        if source.random() < unknown
        else Measured(repo=repo, caught=int(caught), missed=int(not caught))
        for key, (repo, caught) in found.items()
    }


def covers(run: dict[Key, Measured], rate: float) -> dict[str, bool]:
    """Whether the intervals of the micro and the macro rate hold the truth; naive ones for comparison."""
    known = {key: (one.repo, one.value) for key, one in run.items() if one.value is not None}
    values = [value for _, value in known.values()]
    pulls: dict[str, list[float]] = {}
    repos: dict[str, str] = {}
    for (instance, _), (repo, value) in known.items():
        pulls.setdefault(instance, []).append(value)
        repos[instance] = repo
    means = [sum(own) / len(own) for own in pulls.values()]
    intervals = {
        "micro": rate_interval(values, [repo for repo, _ in known.values()]),
        "macro": rate_interval(means, [repos[name] for name in pulls]),
        "Wilson": wilson(values),
    }
    return {name: low <= rate <= high for name, (low, high) in intervals.items()}


def wilson(values: list[float]) -> tuple[float, float]:
    """The plain interval that takes every oracle as independent."""
    z2, count = NormalDist().inv_cdf(0.975) ** 2, len(values)
    share = sum(values) / count
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = (z2 * (share * (1 - share) / count + z2 / (4 * count**2))) ** 0.5 / (1 + z2 / count)
    return middle - half, middle + half


def compared(seed: int, truth: Truth, drop: float, unknown: float = UNKNOWN) -> Comparison:
    """One benchmark run twice."""
    source = random.Random(f"{seed} {truth} {drop}")
    first = verdicts(source, truth)
    return compare(measured(source, first, unknown), measured(source, again(source, first, drop), unknown))


def announced(drop: float, correlation: float) -> float:
    """The power that a run of this shape announces."""
    oracles = dict(layout(random.Random(0)))
    design = design_of(
        list(oracles),
        oracles,
        rate=RATE,
        discordance=2 * FLIPS + drop,
        unknown=UNKNOWN,
        unknown_before=UNKNOWN,
        correlation=correlation,
    )
    return power(design, drop)


def _rate_of(source: random.Random, truth: Truth) -> float:
    if not truth.correlation:
        return truth.rate
    size = (1 - truth.correlation) / truth.correlation
    return source.betavariate(truth.rate * size, (1 - truth.rate) * size)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--benchmarks", type=int, default=2000)
    count = parser.parse_args().benchmarks
    print(f"{count} benchmarks a row; share in %\n")
    heads = ("correlation", "micro covers", "macro covers", "plain Wilson covers", "difference covers")
    print(f"| {' | '.join((*heads, 'false alarms', 'all known'))} |")
    print("|---|---|---|---|---|---|---|")
    for correlation in CORRELATIONS:
        truth = Truth(RATE, correlation)
        sums = dict.fromkeys(("micro", "macro", "Wilson", "difference", "alarms", "known"), 0)
        for seed in range(count):
            source = random.Random(f"{seed} {correlation}")
            for name, holds in covers(measured(source, verdicts(source, truth)), RATE).items():
                sums[name] += holds
            same = compared(seed, truth, 0.0)
            assert same.interval is not None
            sums["difference"] += same.interval.low <= 0 <= same.interval.high
            sums["alarms"] += same.high is not None and same.high < 0
            known = compared(seed, truth, 0.0, unknown=0.0)
            sums["known"] += known.high is not None and known.high < 0
        print(f"| {correlation:g} | " + " | ".join(f"{100 * value / count:.1f}" for value in sums.values()) + " |")
    print("\n| correlation | true drop in points | announced power | seen |\n|---|---|---|---|")
    for correlation in CORRELATIONS:
        for drop in DROPS:
            runs = (compared(seed, Truth(RATE, correlation), drop) for seed in range(count))
            seen = sum(run.high is not None and run.high < 0 for run in runs)
            shares = f"{100 * announced(drop, correlation):.1f} | {100 * seen / count:.1f}"
            print(f"| {correlation:g} | {100 * drop:g} | {shares} |")


if __name__ == "__main__":
    main()
