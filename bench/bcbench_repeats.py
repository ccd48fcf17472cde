"""Noise floor, intervals and gate on recorded repeats: BC-Bench's 60 runs of a code review benchmark.

    python bench/bcbench_repeats.py ../shared/data/bcbench

The release has 12 configurations with five repeats each (microsoft/BC-Bench, code-review-results.json) and for every
case the F1 score of its review. A case counts as caught here if the score is above 0: some expected comment was found.
Cases are of one repository, so pull requests are the clusters and numbers speak for this repository only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from pytest_crab.statistics.comparison import Comparison, Key, Measured, compare
from pytest_crab.statistics.repeats import flips

FILE = "code-review-results.json"
REPOSITORY = "microsoft/BCApps"
MARGINS = (0.05, 0.1, 0.2)

#: One run: whether each case was caught.
Run = dict[str, bool]


@dataclass(frozen=True)
class Configuration:
    """One reviewer with its repeats over the same cases."""

    name: str
    cases: frozenset[str]
    runs: tuple[Run, ...]

    @property
    def rate(self) -> float:
        """The mean over cases and repeats."""
        return fmean(_rate(run) for run in self.runs)

    @property
    def noise_floor(self) -> float:
        """The share of cases that two runs of the unchanged reviewer differ on."""
        shares = (flips(sum(run[case] for run in self.runs), len(self.runs)) for case in self.cases)
        return fmean(share or 0.0 for share in shares)


def read(folder: Path) -> list[Configuration]:
    """Return the configurations of the release, in its order."""
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in json.loads((folder / FILE).read_text())["runs"]:
        parts = (run["agent_name"], run["model"], "custom" if run["experiment"] else "", run["benchmark_version"])
        own = {case: score > 0 for case, score in run["instance_results"].items()}
        groups.setdefault(parts, []).append(own)
    return [
        Configuration(" ".join(filter(None, parts)), frozenset(runs[0]), tuple(runs)) for parts, runs in groups.items()
    ]


def compared(before: Run, after: Run) -> Comparison:
    """Return what the package says of two runs."""
    return compare(_measured(before), _measured(after))


def noise_rows(found: list[Configuration]) -> Iterator[str]:
    """How far repeats of one reviewer lie apart, in points, and what the noise floor says of it."""
    yield "| configuration | cases | rate | noise floor | two runs differ by | the noise floor says |"
    yield "|---|---|---|---|---|---|"
    for own in found:
        seen = math.sqrt(fmean((_rate(a) - _rate(b)) ** 2 for a, b in itertools.combinations(own.runs, 2)))
        said = math.sqrt(own.noise_floor / len(own.cases))
        shares = " | ".join(f"{100 * share:.1f}" for share in (own.rate, own.noise_floor, seen, said))
        yield f"| {own.name} | {len(own.cases)} | {shares} |"


def unchanged_rows(found: list[Configuration]) -> Iterator[str]:
    """Two runs of the same reviewer, each pair in both orders: what interval and gate say."""
    yield f"| pairs | interval holds 0 | fails | {' | '.join(f'passes at {100 * m:g}' for m in MARGINS)} |"
    yield f"|---|---|---|{'---|' * len(MARGINS)}"
    several = [compared(a, b) for own in found for a, b in itertools.permutations(own.runs, 2)]
    holds = fmean(one.interval is not None and one.interval.low <= 0 <= one.interval.high for one in several)
    passes = (fmean((one.low or -1.0) >= -margin for one in several) for margin in MARGINS)
    cells = (f"{100 * share:.1f}%" for share in (holds, fmean(one.p_drop < 0.025 for one in several), *passes))
    yield f"| {len(several)} | {' | '.join(cells)} |"


def changed_rows(found: list[Configuration]) -> Iterator[str]:
    """Single runs of two reviewers over the same cases, by how much the mean of all repeats fell."""
    yield f"| true fall in points | pairs | fails | {' | '.join(f'passes at {100 * m:g}' for m in MARGINS)} |"
    yield f"|---|---|---|{'---|' * len(MARGINS)}"
    groups: dict[str, list[Comparison]] = {}
    for one, other in itertools.permutations(found, 2):
        fall = one.rate - other.rate
        if one.cases == other.cases and fall > 0:
            name = next(name for limit, name in _FALLS if fall < limit)
            groups.setdefault(name, []).extend(compared(a, b) for a in one.runs for b in other.runs)
    for _, name in _FALLS:
        several = groups.get(name, [])
        if several:
            fails = fmean(one.p_drop < 0.025 for one in several)
            passes = (fmean((one.low or -1.0) >= -margin for one in several) for margin in MARGINS)
            cells = " | ".join(f"{100 * share:.1f}%" for share in (fails, *passes))
            yield f"| {name} | {len(several)} | {cells} |"


_FALLS = ((0.05, "below 5"), (0.1, "5 to 10"), (0.2, "10 to 20"), (0.3, "20 to 30"), (math.inf, "30 and more"))


def _measured(run: Run) -> dict[Key, Measured]:
    return {
        (case, "any"): Measured(repo=REPOSITORY, caught=int(caught), missed=int(not caught))
        for case, caught in run.items()
    }


def _rate(run: Run) -> float:
    return fmean(run.values())


TABLES = (noise_rows, unchanged_rows, changed_rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    found = read(parser.parse_args().folder)
    for rows in TABLES:
        print(f"{(rows.__doc__ or '').splitlines()[0]}\n")
        print("\n".join(rows(found)), end="\n\n")


if __name__ == "__main__":
    main()
