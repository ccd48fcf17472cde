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
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

from pytest_crab.gate.pairing import ASSUMED_FLIPS, design
from pytest_crab.gate.screening import Screen, stable_instances
from pytest_crab.gate.terms import GateTerms
from pytest_crab.results.summary import summarise
from pytest_crab.statistics.clusters import difference_estimate, rate_interval
from pytest_crab.statistics.comparison import Comparison, Key, Measured, compare
from pytest_crab.statistics.paired import holm
from pytest_crab.statistics.power import Design
from pytest_crab.statistics.power_simulation import PowerSimulation, simulate_power
from pytest_crab.statistics.sequential import parts_in_random_order
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
#: Draws of one comparison where there is only one.
SURE = 4000
#: Sizes of runs of independent oracles, and their noise.
SIZES, NOISES = (20, 60, 120, 234, 500), (0.1, 0.15)
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


def independent(seed: int, size: int, noise: float, drop: float, rate: float = 0.5) -> Comparison:
    """Two runs of oracles each of its own repository, with nothing unknown."""
    source = random.Random(f"{seed} {size} {noise} {drop}")
    lose, gain = (noise / 2 + drop) / rate, noise / 2 / (1 - rate)
    before, after = {}, {}
    for at in range(size):
        was = source.random() < rate
        now = source.random() >= lose if was else source.random() < gain
        for run, caught in ((before, was), (after, now)):
            run[f"i{at}", "c0"] = Measured(repo=f"r{at}", caught=int(caught), missed=int(not caught))
    return compare(before, after)


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


def size_rows(count: int) -> Iterator[str]:
    """The smallest drop that is announced to be shown in four of five runs, and how often it is."""
    yield "| oracles | noise | smallest drop in points | seen in |\n|---|---|---|---|"
    for size in SIZES:
        for noise in NOISES:
            drop = simulate_power(Design(sizes=[1] * size, noise=noise, rate=0.5), draws=SURE).smallest_drop()
            fall = 0.5 - noise / 2 if drop is None else drop
            seen = sum(_failed(independent(seed, size, noise, fall)) for seed in range(count)) / count
            said = "none, a fall to nothing is" if drop is None else f"{100 * drop:.1f}"
            yield f"| {size} | {100 * noise:g}% | {said} | {100 * seen:.1f}% |"


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


def differences(
    source: random.Random, repositories: int, truth: Truth, drop: float, share: float = 1.0, noise: float = 0.1
) -> tuple[list[float], list[int]]:
    """Return the paired differences of two runs: so large a drop, in this share of the repositories."""
    values, labels = [], []
    gain = noise / 2 / (1 - truth.rate)
    for label, size in enumerate(sizes_of(source, repositories)):
        rate = _rate_of(source, truth)
        own = drop / share if source.random() < share else 0.0
        lose = (noise / 2 + own) / truth.rate
        for _ in range(size):
            caught, luck = source.random() < rate, source.random()
            values.append(-float(luck < lose) if caught else float(luck < gain))
            labels.append(label)
    return values, labels


def margin_rows(count: int) -> Iterator[str]:
    """How often a gate passes where the drop is the margin: in all repositories, and in 30% of them."""
    yield "| repositories | correlation | margin | rate | drop in all | drop in 30% |\n|---|---|---|---|---|---|"
    for repositories in (3, 5, 8, 35, 67):
        for correlation in ALIKE:
            for margin, rate in ((0.05, RATE), (0.1, 0.5)):
                cells = []
                for share in (1.0, 0.3):
                    source = random.Random(f"{repositories} {correlation} {margin} {share}")
                    passed = 0
                    for _ in range(count):
                        values, labels = differences(source, repositories, Truth(rate, correlation), margin, share)
                        passed += difference_estimate(values, labels).interval()[0] >= -margin
                    cells.append(f"{100 * passed / count:.1f}")
                yield f"| {repositories} | {correlation:g} | {100 * margin:g} | {rate:g} | {' | '.join(cells)} |"


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


def null_rows(count: int) -> Iterator[str]:
    """How often an unchanged reviewer fails, and in brackets one of the same rate that misses elsewhere."""

    def alarms(repositories: int, truth: Truth) -> tuple[float, float]:
        source = random.Random(f"{repositories} {truth.correlation} {truth.rate}")
        same, moved = (
            sum(_shows_drop(*draw(source, repositories, truth)) for _ in range(count)) / count
            for draw in (unchanged, lambda *own: differences(*own, drop=0.0))
        )
        return same, moved

    yield from rate_grid(alarms)


def unchanged(source: random.Random, repositories: int, truth: Truth) -> tuple[list[float], list[int]]:
    """Return the paired differences of two runs of one reviewer: an oracle has the same chance in both.

    The chances are so far from 0 and 1 that a tenth of verdicts differ, or as many as the rate and correlation allow.
    """
    most = 2 * truth.rate * (1 - truth.rate) * (1 - truth.correlation)
    steady = min(0.999, max(0.0, 1 - ASSUMED_FLIPS / most))
    values, labels = [], []
    for label, size in enumerate(sizes_of(source, repositories)):
        rate = min(1 - 1e-6, max(1e-6, _rate_of(source, truth)))
        for _ in range(size):
            chance = _rate_of(source, Truth(rate, steady))
            values.append(float(source.random() < chance) - float(source.random() < chance))
            labels.append(label)
    return values, labels


def _shows_drop(values: list[float], labels: list[int]) -> bool:
    return difference_estimate(values, labels).p_below(0.0) < 0.025


def looks_rows(count: int) -> Iterator[str]:
    """How often a reviewer at the margin passes at any look, after 1 to N repeats, c-CRAB's layout."""
    yield "| looks | margin | every look at 95% | --crab-gate-looks |\n|---|---|---|---|"
    for looks in (1, 2, 5):
        for margin in (0.05, 0.1):
            plain, gate = 0, 0
            for seed in range(count):
                source = random.Random(f"{seed} {looks} {margin}")
                runs = list(_looks(source, looks, margin))
                plain += any(difference_estimate(values, labels).interval()[0] >= -margin for values, labels in runs)
                level = 1 - 0.05 / looks
                gate += any(
                    difference_estimate(values, labels).interval(level)[0] >= -margin for values, labels in runs
                )
            yield f"| {looks} | {100 * margin:g} | {100 * plain / count:.1f} | {100 * gate / count:.1f} |"


def stop_rows(count: int) -> Iterator[str]:
    """A run that ends once its gate is decided (--crab-gate-stop), c-CRAB's layout; in brackets the oracles run."""
    yield "| looks | margin | drop of the margin: passes | unchanged: fails | unchanged: ends | drop of 20: ends |"
    yield "|---|---|---|---|---|---|"
    for looks in (1, 2, 5):
        for margin in (0.05, 0.1):
            cells = []
            for drop, wanted in ((margin, "passed"), (0.0, "failed"), (0.0, ""), (0.2, "")):
                ends = [stopped(seed, looks, margin, drop) for seed in range(count)]
                share = sum(ruling == wanted if wanted else bool(ruling) for ruling, _ in ends) / count
                ran = sum(own for _, own in ends) / count
                cells.append(f"{100 * share:.1f} ({100 * ran:.0f})")
            yield f"| {looks} | {100 * margin:g} | {' | '.join(cells)} |"


@functools.cache
def stopped(seed: int, looks: int, margin: float, drop: float) -> tuple[str, float]:
    """Return how one run ends that looks after each part of its repositories, and the share of oracles that it took."""
    source = random.Random(f"{seed} {looks} {margin} {drop}")
    values, labels = differences(source, 67, Truth(0.35, 0.1), drop)
    parts = parts_in_random_order(Counter(map(str, labels)), looks, f"{seed}")
    for look in range(1, looks + 1):
        own = [(value, label) for value, label in zip(values, labels, strict=True) if parts[f"{label}"] <= look]
        if not own:
            continue
        chosen, clusters = zip(*own, strict=True)
        low, high = difference_estimate(chosen, clusters).interval(GateTerms(looks=looks, look=look).level)
        if low >= -margin or high < 0:
            return "passed" if low >= -margin else "failed", len(own) / len(values)
    return "", 1.0


def screen_rows(count: int) -> Iterator[str]:
    """A run of a drawn share of the instances that were stable in three runs, against the full set, c-CRAB's layout."""
    yield "| share | true drop | mean error, full | mean error, drawn | its own error | covers, drawn | oracles run |"
    yield "|---|---|---|---|---|---|---|"
    for share in (0.1, 0.2, 0.5):
        for drop in (0.0, 0.05, 0.1):
            draws = [screened(seed, share, drop) for seed in range(count)]
            full, drawn, holds, ran = (list(column) for column in zip(*draws, strict=True))
            cells = [
                f"{100 * fmean(full):+.2f}",
                f"{100 * fmean(drawn):+.2f}",
                f"{100 * stdev(drawn) / count**0.5:.2f}",
            ]
            cells += [f"{100 * fmean(holds):.1f}%", f"{100 * fmean(ran):.0f}%"]
            yield f"| {share:g} | {100 * drop:g} | {' | '.join(cells)} |"


def screened(seed: int, share: float, drop: float) -> tuple[float, float, bool, float]:
    """Return one run's errors of the difference, full and drawn, whether the drawn interval holds it, and its size.

    An oracle is caught in 95% or in 5% of runs; a drop makes some of the first kind be of the second.
    """
    source = random.Random(f"{seed} {share} {drop}")
    before, after, true = {}, {}, []
    rates: dict[str, float] = {}
    for key, repo in layout(source):
        rate = rates.setdefault(repo, _rate_of(source, Truth(0.35, 0.1)))
        prone = source.random() < rate
        lost = prone and source.random() < drop / (0.9 * 0.35)
        was, now = 0.95 if prone else 0.05, 0.95 if prone and not lost else 0.05
        caught = sum(source.random() < was for _ in range(3))
        before[key] = Measured(repo=repo, caught=caught, missed=3 - caught)
        again = int(source.random() < now)
        after[key] = Measured(repo=repo, caught=again, missed=1 - again)
        true.append(now - was)
    screen = Screen(share=share, seed=f"{seed}", stable=stable_instances([before]))
    screen.draw({instance for instance, _ in before})
    run = {key: own for key, own in after.items() if key[0] not in screen.left_out}
    full, drawn = compare(before, after), compare(before, screen.weigh(before, run))
    assert full.difference is not None
    assert drawn.difference is not None
    assert drawn.interval is not None
    holds = drawn.interval.low <= -drop <= drawn.interval.high
    return full.difference - fmean(true), drawn.difference - fmean(true), holds, len(run) / len(after)


def _p_of_looks(source: random.Random, looks: int) -> list[float]:
    return [difference_estimate(values, labels).p_below(0.0) for values, labels in _looks(source, looks, 0.0)]


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
    "margin": margin_rows,
    "null": null_rows,
    "alarms": alarm_rows,
    "looks": looks_rows,
    "stop": stop_rows,
    "screen": screen_rows,
    "power": power_rows,
    "unchanged": unchanged_rows,
    "sizes": size_rows,
}


if __name__ == "__main__":
    main()
