"""Coverage of the intervals, errors of the gate, and power against what it announces, on simulated benchmarks.

    python bench/coverage.py [--benchmarks 2000]

Unless a table says otherwise, each benchmark has 184 instances in 67 repositories with 234 oracles (arXiv 2603.23448,
table 4, spread over repositories as in its public release). A repository's own rate is drawn from a beta distribution
with the mean and the intra-cluster correlation of the row; 5% of all verdicts are unknown. What is announced is what a
gate announces that is given the first run of a benchmark as its baseline, and nothing else.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist, fmean

from pytest_crab.gate.pairing import ASSUMED_FLIPS, design
from pytest_crab.results.summary import summarise
from pytest_crab.statistics.clusters import degrees_of_freedom, difference_estimate, rate_interval
from pytest_crab.statistics.comparison import Comparison, Key, Measured, compare
from pytest_crab.statistics.distributions import t_quantile
from pytest_crab.statistics.paired import holm, swap_chances
from pytest_crab.statistics.power_simulation import PowerSimulation, simulate_power
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import Category, CommentResult, Kind, Provenance, Reason, Trial

#: Pull requests per repository, and oracles per pull request: 67 and 184 numbers.
REPOSITORIES = [15, 15, 11, 9, 7, 6, 5, 5, *[4] * 8, *[3] * 6, *[2] * 16, *[1] * 29]
ORACLES = [*[1] * 154, *[2] * 17, *[3] * 8, *[4] * 3, *[5] * 2]

RATE, UNKNOWN = 0.32, 0.05
#: The share of oracles that is gained by noise, and the share that is lost: together what a gate assumes.
FLIPS = ASSUMED_FLIPS / 2
CORRELATIONS = (0.0, 0.05, 0.1)
DROPS = (0.1, 0.14, 0.18)
UNKNOWNS = (0.0, 0.05)
MARGINS = (0.05, 0.1, 0.15)
#: Pull requests of the simulated sets, the share of verdicts that differ between two runs of one reviewer, the share of
#: what is caught that is lost, and where it is lost.
PULLS, NOISES, LOSSES = (17, 50, 100, 200), (0.05, 0.2), (0.25, 0.5, 1.0)
PLACES = ("everywhere", "a tenth of the pull requests", "one repository of four")
#: The rate of the reviewer in these, and the margin that it is judged by.
CAUGHT, MARGIN = 0.4, 0.1
#: How many baselines the announced power is averaged over, and how often each comparison is drawn for that. A gate
#: draws more: what it announces of one baseline is less noisy, and the same on average.
BASELINES, DRAWS = 1000, 40


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


def baseline(seed: int, truth: Truth, unknown: float) -> tuple[random.Random, dict[Key, tuple[str, bool]]]:
    """The first run of one benchmark, and the source that what follows is drawn from."""
    source = random.Random(f"{seed} {truth} {unknown}")
    return source, verdicts(source, truth)


def compared(seed: int, truth: Truth, drop: float, unknown: float = UNKNOWN) -> Comparison:
    """One benchmark run twice."""
    source, first = baseline(seed, truth, unknown)
    before = measured(source, first, unknown)
    source.seed(f"{source.random()} {drop}")
    return compare(before, measured(source, again(source, first, drop), unknown))


@functools.cache
def simulations(
    correlation: float, unknown: float = UNKNOWN, baselines: int = BASELINES
) -> tuple[PowerSimulation, ...]:
    """What a gate foresees that is given the first runs of some benchmarks as its baselines."""
    found = []
    for seed in range(baselines):
        source, first = baseline(seed, Truth(RATE, correlation), unknown)
        (reviewer,) = summarise(_trials(measured(source, first, unknown))).reviewers
        ahead = design(reviewer)
        assert ahead is not None
        found.append(simulate_power(ahead, draws=DRAWS, seed=seed))
    return tuple(found)


def announced(drop: float, correlation: float, unknown: float = UNKNOWN, baselines: int = BASELINES) -> float:
    """The power that a gate announces, on average."""
    return sum(ahead.power(drop) for ahead in simulations(correlation, unknown, baselines)) / baselines


def let_pass(margin: float, correlation: float, unknown: float = UNKNOWN, baselines: int = BASELINES) -> float:
    """How often a gate announces that an unchanged reviewer passes, on average."""
    return sum(ahead.chance_unchanged(margin) for ahead in simulations(correlation, unknown, baselines)) / baselines


def _trials(run: dict[Key, Measured]) -> Iterator[Trial]:
    results: dict[str, list[CommentResult]] = {}
    repos = {}
    for (instance, comment), one in run.items():
        reason = Reason.AGENT_ERROR if one.unknown else Reason.GREEN if one.caught else Reason.FAILED
        repos[instance] = one.repo
        results.setdefault(instance, []).append(
            comment_result(
                comment,
                category=Category.DESIGN,
                kind=Kind.BEHAVIORAL,
                reason=reason,
            )
        )
    for instance, own in results.items():
        yield trial_of(
            instance=instance,
            repo=repos[instance],
            provenance=Provenance.GITHUB,
            reviewer="mine",
            agent="agent",
            runtime="docker",
            results=tuple(own),
        )


def _rate_of(source: random.Random, truth: Truth) -> float:
    if not truth.correlation:
        return truth.rate
    size = (1 - truth.correlation) / truth.correlation
    return source.betavariate(truth.rate * size, (1 - truth.rate) * size)


def _failed(run: Comparison) -> bool:
    return run.high is not None and run.high < 0


def coverage_rows(count: int) -> Iterator[str]:
    """Whether intervals hold the truth, and how often a gate fails where nothing changed."""
    heads = ("correlation", "micro covers", "macro covers", "plain Wilson covers", "difference covers")
    yield f"| {' | '.join((*heads, 'false alarms', 'all known'))} |"
    yield "|---|---|---|---|---|---|---|"
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
            sums["alarms"] += _failed(same)
            sums["known"] += _failed(compared(seed, truth, 0.0, unknown=0.0))
        yield f"| {correlation:g} | " + " | ".join(f"{100 * value / count:.1f}" for value in sums.values()) + " |"


def power_rows(count: int) -> Iterator[str]:
    """How often a gate fails on a drop, beside what it announced."""
    yield "| correlation | unknown | true drop in points | announced | seen |\n|---|---|---|---|---|"
    for correlation in CORRELATIONS:
        for unknown in UNKNOWNS:
            for drop in DROPS:
                runs = (compared(seed, Truth(RATE, correlation), drop, unknown) for seed in range(count))
                seen = sum(map(_failed, runs)) / count
                shares = f"{100 * announced(drop, correlation, unknown):.1f} | {100 * seen:.1f}"
                yield f"| {correlation:g} | {100 * unknown:g}% | {100 * drop:g} | {shares} |"


def unchanged_rows(count: int) -> Iterator[str]:
    """How often a gate lets an unchanged reviewer pass, beside what it announced."""
    yield "| correlation | unknown | margin in points | announced | seen |\n|---|---|---|---|---|"
    for correlation in CORRELATIONS:
        for unknown in UNKNOWNS:
            lows = [compared(seed, Truth(RATE, correlation), 0.0, unknown).low for seed in range(count)]
            for margin in MARGINS:
                said = let_pass(margin, correlation, unknown)
                seen = sum(low is not None and low >= -margin for low in lows) / count
                shares = f"{100 * said:.1f} | {100 * seen:.1f}"
                yield f"| {correlation:g} | {100 * unknown:g}% | {100 * margin:g} | {shares} |"


#: Oracles per repository where all repositories have as many, by the number of repositories; None: c-CRAB's layout.
EVEN = {2: 40, 3: 30, 5: 20, 8: 10, 35: 6, 67: None}
RATES, ALIKE = (0.05, 0.2, 0.5, 0.95), (0.0, 0.2, 0.5)


def sizes_of(source: random.Random, repositories: int) -> list[int]:
    """Return the number of oracles of each repository."""
    even = EVEN[repositories]
    if even is not None:
        return [even] * repositories
    counts: dict[str, int] = {}
    for _, repo in layout(source):
        counts[repo] = counts.get(repo, 0) + 1
    return list(counts.values())


def rate_covered(seed: int, repositories: int, truth: Truth) -> tuple[bool, float]:
    """Return whether the interval of one drawn run holds the true rate, and its width."""
    source = random.Random(f"{seed} {repositories} {truth}")
    values, labels = [], []
    for label, size in enumerate(sizes_of(source, repositories)):
        rate = _rate_of(source, truth)
        values += [float(source.random() < rate) for _ in range(size)]
        labels += [label] * size
    low, high = rate_interval(values, labels)
    return low <= truth.rate <= high, high - low


def rate_grid(cell: Callable[[int, Truth], tuple[float, float]]) -> Iterator[str]:
    """Yield a table by repositories, correlation and rate; ``cell`` returns two shares, the second for brackets."""
    yield f"| repositories | correlation | {' | '.join(f'rate {rate:g}' for rate in RATES)} |"
    yield f"|---|---|{'---|' * len(RATES)}"
    for repositories, correlation in itertools.product(EVEN, ALIKE):
        shares = [cell(repositories, Truth(rate, correlation)) for rate in RATES]
        cells = [f"{100 * one:.1f} ({100 * other:.1f})" for one, other in shares]
        yield f"| {repositories} | {correlation:g} | {' | '.join(cells)} |"


def grid_rows(count: int) -> Iterator[str]:
    """Coverage of 95% intervals of a rate, and in brackets their mean width in points."""

    def covered(repositories: int, truth: Truth) -> tuple[float, float]:
        draws = [rate_covered(seed, repositories, truth) for seed in range(count)]
        share, width = (sum(column) / count for column in zip(*draws, strict=True))
        return share, width

    yield from rate_grid(covered)


@dataclass(frozen=True)
class Rulings:
    """The share of runs that each method calls worse, better and no worse."""

    worse: dict[str, float]
    better: dict[str, float]
    no_worse: dict[str, float]


def shape(pulls: int) -> list[int]:
    """Return the oracles of each pull request: one to four."""
    return [1 + at // 4 % 4 for at in range(pulls)]


def drawn_sums(source: random.Random, sizes: list[int], noise: float, loss: float, place: str) -> list[int]:
    """Return each pull request's sum of differences: as much noise, and of what was caught so much lost in a place."""
    every = {PLACES[0]: 1, PLACES[1]: 10, PLACES[2]: 4}[place]
    lose, gain, sums = noise / 2 / CAUGHT, noise / 2 / (1 - CAUGHT), []
    for at, size in enumerate(sizes):
        gone, total = loss if at % every == 0 else 0.0, 0
        for _ in range(size):
            luck, caught = source.random(), source.random() < CAUGHT
            if caught:
                total -= luck < lose or source.random() < gone
            else:
                total += luck < gain and source.random() >= gone
        sums.append(total)
    return sums


def rule_by_each(sizes: list[int], sums: list[int], t: float) -> dict[str, tuple[bool, bool, bool]]:
    """Return what each method says of one run: worse, better, no worse.

    ``flip`` is the exact sign flip over pull requests, ``CR2`` the plain interval, ``earlier`` what this package had:
    Bonett and Price's with a design effect, widened by prudence.
    """
    count, mean = sum(sizes), sum(sums) / sum(sizes)
    variance = sum((own - size * mean) ** 2 / (1 - size / count) for size, own in zip(sizes, sums, strict=True))
    error = variance**0.5 / count
    differing = any(sums)
    half = t * (error if differing else 2**0.5 / count)
    drop, gain = swap_chances(sums)
    low, high = mean - t * error, mean + t * error
    flip = (drop < 0.025, gain < 0.025)
    return {
        "flip": (*flip, False),
        "CR2": (high < 0, low > 0, low >= -MARGIN),
        "ours": (*flip, mean - half >= -MARGIN),
        "earlier": _earlier(sizes, sums, t, variance / count**2),
    }


def _earlier(sizes: list[int], sums: list[int], t: float, variance: float) -> tuple[bool, bool, bool]:
    count, total = sum(sizes), sum(sums)
    squares = sum(map(abs, sums))  # a pull request mostly moves one way
    alone = (squares - total * total / count) / (count * (count - 1))
    crowd = sum(size * size for size in sizes) / count
    effect = max(0.5, variance / alone) if alone > 1e-12 else 1 + 0.1 * (crowd - 1)
    middle = total / (count + 2)
    half = t * (effect * (squares + 2 - total * middle)) ** 0.5 / (count + 2)
    against, for_drop = (1 + min(0.8, prudence * crowd / count) for prudence in (10, 3))
    low = middle - against * half
    return middle + for_drop * half < 0, low > 0, low >= -MARGIN


def student(sizes: list[int]) -> float:
    """Return how many standard errors an interval of the mean reaches."""
    return t_quantile(0.975, degrees_of_freedom(sizes))


def rulings(count: int, pulls: int, noise: float, loss: float, place: str) -> Rulings:
    """Return how often each method says what; all see the same draws."""
    source, sizes = random.Random(f"{pulls} {noise} {loss} {place}"), shape(pulls)
    t = student(sizes)
    found = [rule_by_each(sizes, drawn_sums(source, sizes, noise, loss, place), t) for _ in range(count)]
    shares = {name: [fmean(one[name][at] for one in found) for at in range(3)] for name in found[0]}
    return Rulings(*({name: own[at] for name, own in shares.items()} for at in range(3)))


def method_rows(count: int) -> Iterator[str]:
    """Tests and intervals side by side, pull requests with one to four oracles each, margin 10, the same draws."""
    heads = ["pull requests", "noise", "lost", "where", "drop", "worse: flip", "CR2", "ours", "earlier"]
    heads += ["better: CR2", "ours", "no worse: CR2", "ours", "earlier"]
    yield f"| {' | '.join(heads)} |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    for pulls, noise in itertools.product(PULLS, NOISES):
        for loss, place in [(0.0, PLACES[0]), *itertools.product(LOSSES, PLACES)]:
            own = rulings(count, pulls, noise, loss, place)
            every = {PLACES[0]: 1, PLACES[1]: 10, PLACES[2]: 4}[place]
            part = sum(shape(pulls)[::every]) / sum(shape(pulls))
            drop = 100 * loss * part * CAUGHT
            cells = [own.worse[name] for name in ("flip", "CR2", "ours", "earlier")]
            cells += [own.better[name] for name in ("CR2", "ours")]
            cells += [own.no_worse[name] for name in ("CR2", "ours", "earlier")]
            shares = " | ".join(f"{100 * cell:.1f}" for cell in cells)
            yield f"| {pulls} | {100 * noise:g}% | {100 * loss:g}% | {place if loss else ''} | {drop:.1f} | {shares} |"


def alarm_rows(count: int) -> Iterator[str]:
    """False alarms where nothing changed: any reviewer fails at any look, all verdicts known, c-CRAB's layout."""
    yield "| reviewers | looks | uncorrected | the gate |\n|---|---|---|---|"
    for reviewers in (1, 2, 5, 10):
        for looks in (1, 2, 5):
            plain, gate = (
                sum(one) for one in zip(*(false_alarm(seed, reviewers, looks) for seed in range(count)), strict=True)
            )
            yield f"| {reviewers} | {looks} | {100 * plain / count:.1f} | {100 * gate / count:.1f} |"


def false_alarm(seed: int, reviewers: int, looks: int) -> tuple[bool, bool]:
    """Return whether any unchanged reviewer fails at any look: at 2.5% each, and as the gate corrects."""
    source = random.Random(f"{seed} {reviewers} {looks}")
    ps = [_p_of_looks(source, looks) for _ in range(reviewers)]
    plain = any(p < 0.025 for own in ps for p in own)
    gate = any(
        min(holm({f"{at}": own[look] for at, own in enumerate(ps)}).values()) < 0.025 / looks for look in range(looks)
    )
    return plain, gate


def _p_of_looks(source: random.Random, looks: int) -> list[float]:
    return [difference_estimate(values, labels).p_drop for values, labels in _looks(source, looks, 0.0)]


def _looks(source: random.Random, looks: int, drop: float) -> Iterator[tuple[list[float], list[int]]]:
    """Yield the mean differences after each of several repeats of the new run against one run of the old.

    An oracle is caught in 95% or in 5% of runs; a drop makes some of the first kind be of the second.
    """
    chances, base, labels = [], [], []
    for label, size in enumerate(sizes_of(source, 67)):
        rate = _rate_of(source, Truth(0.35, 0.1))
        for _ in range(size):
            prone = source.random() < rate
            base.append(float(source.random() < (0.95 if prone else 0.05)))
            lost = prone and source.random() < drop / (0.9 * 0.35)
            chances.append(0.95 if prone and not lost else 0.05)
            labels.append(label)
    caught = [0] * len(base)
    for look in range(1, looks + 1):
        caught = [have + (source.random() < chance) for have, chance in zip(caught, chances, strict=True)]
        yield [have / look - was for have, was in zip(caught, base, strict=True)], labels


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--benchmarks", type=int, default=2000)
    parser.add_argument("--only", choices=TABLES, help="print one table")
    chosen = parser.parse_args()
    print(f"{chosen.benchmarks} benchmarks a row; share in %")
    for name, rows in TABLES.items():
        if chosen.only in (None, name):
            print(f"\n{(rows.__doc__ or '').splitlines()[0]}\n")
            for row in rows(chosen.benchmarks):
                print(row, flush=True)


TABLES = {
    "coverage": coverage_rows,
    "grid": grid_rows,
    "methods": method_rows,
    "alarms": alarm_rows,
    "power": power_rows,
    "unchanged": unchanged_rows,
}


if __name__ == "__main__":
    main()
