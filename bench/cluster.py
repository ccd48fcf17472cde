"""What a trial costs on a cluster, against threads of one process: a scheduler and a worker of two lanes, all here.

    python bench/cluster.py

The trials are of quickstart instances, with the recorded reviewer and agent and the local runtime. ``stored``: every
step is in the store where pytest runs, and the worker has an empty one. ``fresh``: review and revision are made again,
as by a reviewer that answers at once. ``threads`` and ``fresh-threads`` are the same without a cluster. Each way is
measured with few repeats and with many, and a trial costs the difference, so that start, collection and proofs count in
neither. Processor time counts apart for pytest, the scheduler and the worker. Needs bubblewrap and the extra
``cluster``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from figures import middle, tell

QUICKSTART = Path(__file__).resolve().parent.parent / "instances" / "quickstart"
#: Those whose oracles take least.
INSTANCES = ("logparse-31-json-lines", "logparse-37-summary", "logparse-42-time-window", "logparse-45-levels")
MADE_AGAIN = ("review", "revision")
FEW = 5
#: Ticks of a process's clock in a second.
TICKS = os.sysconf("SC_CLK_TCK")
#: What a stored trial may take of wall, by what it takes with threads.
STORED = 1.7
PARTS = ("wall", "pytest", "scheduler", "worker")


class Cost(NamedTuple):
    """Seconds: of wall, and of processor time of each process."""

    wall: float
    pytest: float
    scheduler: float = 0.0
    worker: float = 0.0


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """Yield the address of a scheduler, and the process of it and of its one worker, which takes two trials."""
    file = folder / "scheduler.json"
    shared = ["--no-dashboard", "--dashboard-address", "127.0.0.1:0", "--host", "127.0.0.1"]
    shared += ["--scheduler-file", str(file)]
    worker = ["--no-nanny", "--nthreads", "2", "--resources", "crab=2", "--local-directory", str(folder / "scratch")]
    environment = {**os.environ, "CRAB_STORE": str(folder / "worker")}
    started: list[subprocess.Popen[bytes]] = []
    try:
        for name, arguments in (("scheduler", ["--port", "0"]), ("worker", worker)):
            with (folder / f"{name}.log").open("wb") as log:
                argv = [sys.executable, "-m", "dask", name, *shared, *arguments]
                started.append(subprocess.Popen(argv, cwd=folder, env=environment, stdout=log, stderr=log))
            while not file.exists():
                time.sleep(0.1)
        yield json.loads(file.read_text())["address"], [each.pid for each in started]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def processor(pid: int) -> float:
    """The processor time of a process in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def run(folder: Path, repeats: int, *more: str, others: Sequence[int] = ()) -> Cost:
    """Run pytest once. Raises SystemExit if a trial was not measured."""
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--reviewer=human", "--agent=simulated"]
    argv += ["--crab-runtime=local", f"--crab-store={folder / 'store'}", f"--crab-report={folder / 'report'}"]
    argv += [f"--crab-repeat={repeats}", *more, *(f"quickstart/{name}" for name in INSTANCES)]
    before = [processor(pid) for pid in others]
    start = time.perf_counter()
    with (folder / "out.txt").open("wb") as out:
        process = subprocess.Popen(argv, cwd=folder, stdout=out, stderr=out)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if process.returncode != 0:
        sys.exit(f"pytest ended with {process.returncode}:\n{(folder / 'out.txt').read_text()[-2000:]}")
    spent = (processor(pid) - there for pid, there in zip(others, before, strict=True))
    return Cost(wall, used.ru_utime + used.ru_stime, *spent)


def a_trial(folder: Path, many: int, *more: str, others: Sequence[int] = ()) -> Cost:
    """What one more trial costs, in milliseconds."""
    few, all_of_them = (run(folder, repeats, *more, others=others) for repeats in (FEW, many))
    trials = (many - FEW) * len(INSTANCES)
    return Cost(*(1000 * (after - before) / trials for before, after in zip(few, all_of_them, strict=True)))


def main() -> int:
    """Measure, and return 1 if a stored trial takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=45, help=f"of each instance, more than {FEW}")
    parser.add_argument("--runs", type=int, default=3, help="of each way")
    options = parser.parse_args()
    again = [f"--crab-rerun={step}" for step in MADE_AGAIN]
    found: dict[str, list[Cost]] = {"threads": [], "stored": [], "fresh-threads": [], "fresh": []}
    with tempfile.TemporaryDirectory(prefix="crab-") as name:
        folder = Path(name)
        shutil.copytree(QUICKSTART, folder / "quickstart")
        run(folder, options.repeats)
        with cluster(folder) as (address, processes):
            on_cluster = f"--crab-cluster={address}"
            for _ in range(options.runs):
                found["threads"].append(a_trial(folder, options.repeats))
                found["stored"].append(a_trial(folder, options.repeats, on_cluster, others=processes))
                found["fresh-threads"].append(a_trial(folder, options.repeats, *again))
                found["fresh"].append(a_trial(folder, options.repeats, on_cluster, *again, others=processes))
    for way, costs in found.items():
        for part, values in zip(PARTS, zip(*costs, strict=True), strict=True):
            if "threads" not in way or part in ("wall", "pytest"):
                tell(f"cluster.{way}-{part}", f"{middle(values)} ms")
    for way, own in (("fresh", "fresh-threads"), ("stored", "threads")):
        ratios = [there.wall / here.wall for there, here in zip(found[way], found[own], strict=True)]
        good = way == "fresh" or statistics.median(ratios) <= STORED
        tell(f"cluster.{way}", f"{middle(ratios)} of what it takes with threads", good=good)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
