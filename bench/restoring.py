"""Measure what further files of a repository cost the runs of one sandbox: 16 oracle runs with 20,000 and with none.

    python bench/restoring.py [--runs 3] [--files 20000]

Processor seconds of the harness and its runs, on a file system in memory as sandboxes have it; needs bubblewrap.
Alternated; medians and all values are printed.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from figures import middle, tell

from pytest_crab import harness
from pytest_crab.protocols import FileChange, Image
from pytest_crab.types import Environment, Oracle

#: How many times the processor time without further files the runs may take.
BUDGET = 1.5
#: It computes for as long as the oracles of quickstart do.
ORACLE = """
import time
import ledger
def test_sum():
    while time.process_time() < 0.2:
        pass
    assert ledger.add(1, 2) == 3
"""
FIX = FileChange(path="ledger.py", mode="100644", content=b"def add(a, b):\n    return a + b\n")


def make(folder: Path, files: int) -> None:
    """Make a tree of one module and further files, forty in a folder."""
    for name in ("tree", "work", "scratch"):
        (folder / name).mkdir(parents=True)
    (folder / "tree" / "ledger.py").write_text("def add(a, b):\n    return a - b\n")
    for number in range(files):
        place = folder / "tree" / f"part{number // 400}" / f"{number // 40 % 10}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"module{number}.py").write_text(f"VALUE = {number}\n" * 40)


def processor_seconds(folder: Path, runs: int) -> float:
    """Run the oracle at head and with the fix, in turn, in one job; the processor seconds that it took."""
    oracle = Oracle(file="oracles/test_c0.py")
    job = harness.Job(
        image=Image(
            key="key", reference="bench", tree=str(folder / "tree"), workdir=str(folder / "work"),
            interpreter=sys.executable, site=(sysconfig.get_path("purelib"),), scratch=str(folder / "scratch"),
            contained=False, facts={"counters": {}},
        ),
        environment=Environment(dockerfile="python", paths=(".",)),
        states={"head": (), "fixed": (FIX,)},
        runs=[
            harness.OracleRun(
                id=f"r{n}", state=("head", "fixed")[n % 2], seconds=60.0, oracle=oracle, source=ORACLE
            )
            for n in range(runs)
        ],
    )  # fmt: skip
    command = harness.commands(job)[0]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    around = ("bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--tmpfs", str(folder / "work"))
    done = subprocess.run([*around, *command.argv], input=command.stdin, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def main() -> int:
    """Print the medians; 1 where the budget is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="how often each is measured")
    parser.add_argument("--oracles", type=int, default=16, help="oracle runs in the sandbox")
    parser.add_argument("--files", type=int, default=20_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        few, many = Path(place, "few"), Path(place, "many")
        make(few, 0)
        make(many, asked.files)
        taken: dict[Path, list[float]] = {few: [], many: []}
        for _ in range(asked.runs):
            for folder, values in taken.items():
                values.append(processor_seconds(folder, asked.oracles))
    for folder, values in taken.items():
        each = ", ".join(f"{value:.2f}" for value in values)
        print(f"{asked.oracles} runs, {folder.name} files: {statistics.median(values):.2f} s of the processor ({each})")
    ratios = [much / little for much, little in zip(taken[many], taken[few], strict=True)]
    met = statistics.median(ratios) <= BUDGET
    print(f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), budget {BUDGET}: {met}")
    tell("restoring.few", middle(taken[few], 2))
    tell("restoring.many", middle(taken[many], 2))
    tell("restoring.ratio", middle(ratios, 2), good=met)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
