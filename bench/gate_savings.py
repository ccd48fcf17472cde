"""What looking early saves: the gate on recorded verdicts, decided as soon as one of its looks decides.

    python bench/gate_savings.py ../shared/data/ccrab [--orders 200]

The tools on record, and the human comments as an upper bound, are set against each other. Repositories come in random
order, as --crab-gate-stop has them; after each of N equal parts of them the gate is asked, and the run ends once it has
passed or failed. The share of oracles that were run by then is what it took.
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean

from pytest_crab.benchmarks.ccrab.reader import recording_at
from pytest_crab.benchmarks.ccrab.recorded import HUMAN
from pytest_crab.benchmarks.ccrab.recorded_results import measured_of
from pytest_crab.gate.baseline import BaselineComparison, rule_on_baselines
from pytest_crab.gate.results import GateResult
from pytest_crab.gate.terms import GateTerms
from pytest_crab.statistics.comparison import Key, Measured, compare
from pytest_crab.statistics.sequential import parts_in_random_order

LOOKS, MARGINS = (1, 2, 5), (5.0, 10.0)

#: One reviewer's oracles.
Verdicts = Mapping[Key, Measured]


def rule(before: Verdicts, after: Verdicts, margin: float, terms: GateTerms) -> GateResult:
    """Return what the gate says of these oracles, at one of its looks."""
    found = compare(before, after, level=terms.level)
    (ruling,) = rule_on_baselines([BaselineComparison(reviewer="x", baseline="y", margin=margin, comparison=found)])
    return ruling.result


def run_in_looks(
    before: Verdicts, after: Verdicts, margin: float, looks: int, source: random.Random
) -> tuple[GateResult, float]:
    """Return the gate's ruling and the share of oracles that it took, repositories in random order."""
    parts = parts_in_random_order(Counter(own.repo for own in before.values()), looks, f"{source.random()}")
    for look in range(1, looks + 1):
        first, second = ({key: own for key, own in run.items() if parts[own.repo] <= look} for run in (before, after))
        result = rule(first, second, margin, GateTerms(looks=looks, look=look))
        if result is not GateResult.INCONCLUSIVE or look == looks:
            return result, len(first) / len(before)
    raise AssertionError("the last look returns")


def rows(tools: Mapping[str, Verdicts], orders: int) -> Iterator[str]:
    """Yield the table: for each pair, margin and number of looks how it ended and what it took."""
    yield "| before | after | margin | looks | passed | failed | inconclusive | oracles run |"
    yield "|---|---|---|---|---|---|---|---|"
    for before, after in itertools.permutations(tools, 2):
        for margin, looks in itertools.product(MARGINS, LOOKS):
            source = random.Random(f"{before} {after} {margin} {looks}")
            ends = [
                run_in_looks(tools[before], tools[after], margin, looks, source)
                for _ in range(orders if looks > 1 else 1)
            ]
            results = (GateResult.PASSED, GateResult.FAILED, GateResult.INCONCLUSIVE)
            shares = (fmean(result is one for result, _ in ends) for one in results)
            cells = " | ".join(f"{100 * share:.0f}%" for share in (*shares, fmean(share for _, share in ends)))
            yield f"| {before} | {after} | {margin:g} | {looks} | {cells} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("release", type=Path)
    parser.add_argument("--orders", type=int, default=200)
    chosen = parser.parse_args()
    recording = recording_at(chosen.release)
    tools = {tool: measured_of(recording, tool) for tool in (*recording.tools, HUMAN)}
    for row in rows(tools, chosen.orders):
        print(row, flush=True)


if __name__ == "__main__":
    main()
