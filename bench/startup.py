"""What pytest-crab adds to a pytest run that names no reviewer: run with the Python that has it installed.

Runs one trivial test with and without the plugin, alternated, and prints the differences of the pairs in
milliseconds, by the clock on the wall and of the processor's time, which says more on a machine that has other work.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from figures import middle as spread, tell

BUDGET = 15.0

WITH: tuple[str, ...] = ()
WITHOUT = ("-p", "no:pytest_crab.plugin")


class Took(NamedTuple):
    """Milliseconds of one run."""

    wall: float
    processor: float


def run(folder: Path, options: tuple[str, ...]) -> Took:
    """Run pytest from its start to its end. Raises subprocess.CalledProcessError."""
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(argv, cwd=folder, env=kept, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, argv)
    return Took(1000 * wall, 1000 * (usage.ru_utime + usage.ru_stime))


def main() -> int:
    """Measure and print; 1 if the median of the processor's time is above the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30, help="run so many pairs (default: 30)")
    pairs = parser.parse_args().pairs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_one.py").write_text("def test_one():\n    pass\n")
        (folder / "pytest.ini").write_text("[pytest]\n")
        for options in (WITH, WITHOUT):
            run(folder, options)  # bytecode is written, files are in memory
        took: dict[tuple[str, ...], list[Took]] = {WITH: [], WITHOUT: []}
        for number in range(pairs):
            for options in (WITH, WITHOUT) if number % 2 else (WITHOUT, WITH):
                took[options].append(run(folder, options))
    print(f"{pairs} pairs; budget {BUDGET:.0f} ms")
    for clock in Took._fields:
        alone = [getattr(each, clock) for each in took[WITHOUT]]
        more = [getattr(each, clock) - base for each, base in zip(took[WITH], alone, strict=True)]
        low, middle, high = statistics.quantiles(more, n=4)
        print(
            f"{clock}: {middle:.1f} ms added (quartiles {low:.1f} to {high:.1f}) to {statistics.median(alone):.0f} ms"
        )
    tell("startup.processor", spread(more), good=middle <= BUDGET)  # the last clock is the processor's
    return 1 if middle > BUDGET else 0


if __name__ == "__main__":
    sys.exit(main())
