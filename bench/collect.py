"""What collecting 10,000 instances costs, against plain pytest's 10,000 trivial items.

    python bench/collect.py

Both are collected with --collect-only, alternated, each in a new process that has imported pytest and the plugin before
the clock starts. Once there is no store and so no index of unchanged files (cold), once there is one. Plain items are
those of one parametrised test, the cheapest that pytest has, with no plugin but pytest's own; the budgets are held
against these. Beside them, what it is against as many plain functions.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from figures import middle, tell

COLD, INDEXED = 8.0, 4.0
#: Megabytes at the peak of a collection.
MEMORY = 150.0
COUNT = 10_000
#: What collects instances, with its name among the figures.
OURS = {"instances, cold": "cold", "instances, with the index": "indexed"}

#: Imports are start-up, so both ways have them before the clock starts.
CODE = """\
import resource, sys, time
import pytest
import pytest_crab.plugin.registration
start = time.perf_counter(), time.process_time()
status = pytest.main(sys.argv[1:])
print("seconds", int(status), time.perf_counter() - start[0], time.process_time() - start[1],
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""

#: A shipped set, whose instances are copied in turn: each names some 28 files, of which copies are links.
MODELS = Path(__file__).resolve().parent.parent / "instances" / "pypi"


def write_instances(folder: Path, count: int) -> None:
    """Write a set of so many instances."""
    models = sorted(path.parent for path in MODELS.glob("*/instance.yaml"))
    files = {model: [path for path in model.rglob("*") if path.is_file()] for model in models}
    here = {
        path: copied(path, folder.parent / "models" / path.relative_to(MODELS))
        for own in files.values()
        for path in own
    }
    for number in range(count):
        model = models[number % len(models)]
        place = folder / f"{model.name}-{number}"
        for path in files[model]:
            target = place / path.relative_to(model)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.name == "instance.yaml":
                target.write_text(path.read_text().replace(f"id: {model.name}\n", f"id: {place.name}\n", 1))
            else:
                os.link(here[path], target)


def copied(path: Path, target: Path) -> Path:
    """Copy a file to where it can be linked from."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(path.read_bytes())
    return target


def write_tests(folder: Path, count: int) -> None:
    """Write two files of trivial items: of one parametrised test, and of as many functions."""
    text = f"import pytest\n\n\n@pytest.mark.parametrize('number', range({count}))\ndef test_one(number):\n    pass\n"
    (folder / "test_plain.py").write_text(text)
    functions = "\n\n".join(f"def test_{number}():\n    pass\n" for number in range(count))
    (folder / "test_functions.py").write_text(functions)


class Took(NamedTuple):
    """Seconds of one collection, and the megabytes of its process at their peak."""

    wall: float
    processor: float
    memory: float


def collected(folder: Path, arguments: Sequence[str]) -> Took:
    """Collect once, in a new process. Raises RuntimeError if it went wrong."""
    argv = [sys.executable, "-c", CODE, "--collect-only", "-qq", "-p", "no:cacheprovider", *arguments]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    last = (done.stdout.strip().splitlines() or [""])[-1].split()
    if last[:1] != ["seconds"] or last[1] != "0":
        raise RuntimeError(f"a collection went wrong: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return Took(*map(float, last[2:]))


def main() -> int:
    """Measure and print; 1 if a budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="measure so many alternated runs (default: 10)")
    parser.add_argument("--instances", type=int, default=COUNT, help=f"collect so many (default: {COUNT})")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pytest-crab-collect-") as name:
        folder = Path(name)
        (folder / "pytest.ini").write_text("[pytest]\n")
        write_instances(folder / "set", options.instances)
        write_tests(folder, options.instances)
        (folder / "indexed").mkdir()  # a store that is there; collecting makes none, and so keeps no index
        ours = ("set", "-p", "pytest_crab.plugin", "--reviewer=none", "--crab-store")
        ways = {
            "plain items": ("test_plain.py",),
            "plain functions": ("test_functions.py",),
            "instances, cold": (*ours, "none"),
            "instances, with the index": (*ours, "indexed"),
        }
        for arguments in ways.values():
            collected(folder, arguments)  # files are in memory, the index is made
        took: dict[str, list[Took]] = {way: [] for way in ways}
        for number in range(options.runs):
            for way in sorted(ways, reverse=bool(number % 2)):
                took[way].append(collected(folder, ways[way]))
    print(f"{options.instances} of each, {options.runs} alternated runs, {conditions()}")
    good = [said(took, clock, options.instances) for clock in ("wall", "processor")]
    for way, runs in took.items():
        peak = statistics.median(each.memory for each in runs)
        good.append(peak <= MEMORY)
        if way in OURS:
            tell(f"collect.{OURS[way]}.memory", f"{peak:.0f}", good=good[-1])
        print(f"{way}: {peak:.0f} MB at the peak; budget {MEMORY:g}: {'met' if good[-1] else 'EXCEEDED'}")
    return 0 if all(good) else 1


def said(took: dict[str, list[Took]], clock: str, count: int) -> bool:
    """Print what one clock says; whether the budgets hold by it."""
    good = True
    print(f"by the {clock}'s clock:" if clock == "wall" else "by the processor's time, which other work adds less to:")
    plain, functions = ([getattr(each, clock) for each in took[way]] for way in ("plain items", "plain functions"))
    print(f"  plain items: {spread(plain)} s; plain functions: {spread(functions)} s")
    if clock == "processor":
        tell("collect.plain", middle(plain, 2))
    for way, budget in (("instances, cold", COLD), ("instances, with the index", INDEXED)):
        own = [getattr(each, clock) for each in took[way]]
        ratios = [one / other for one, other in zip(own, plain, strict=True)]
        fine = statistics.median(ratios) <= budget
        good = good and fine
        if clock == "processor":
            tell(f"collect.{OURS[way]}", middle(own))
            tell(f"collect.{OURS[way]}.ratio", middle(ratios), good=fine)
        verdict = "met" if fine else "EXCEEDED"
        each = 1e6 * statistics.median(own) / count
        print(f"  {way}: {spread(own)} s, {each:.0f} us each")
        print(f"    {spread(ratios)} x plain items; budget {budget:g} x: {verdict}")
        print(f"    {spread([one / other for one, other in zip(own, functions, strict=True)])} x plain functions")
    return good


def spread(numbers: Sequence[float]) -> str:
    """Median and quartiles in words."""
    low, middle, high = statistics.quantiles(numbers, n=4)
    return f"{middle:.2f} (quartiles {low:.2f} to {high:.2f})"


def conditions() -> str:
    """The machine, in words."""
    load = " ".join(f"{number:.1f}" for number in os.getloadavg())
    return f"{os.cpu_count()} cores, load {load}, {time.strftime('%Y-%m-%d %H:%M')}"


if __name__ == "__main__":
    sys.exit(main())
