"""Time and memory of importing c-CRAB's release, as it is and padded to the whole benchmark's 184 instances.

    python bench/ccrab_import.py ../shared/data/ccrab

The padded copy has the release's own archives and 184 rows: those that are there, repeated under the ids of instances
that have resolved comments, each with the texts of these comments. Every measurement is a process of its own.
"""

from __future__ import annotations

import itertools
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pytest_crab.benchmarks.ccrab import reader as ccrab
from pytest_crab.benchmarks.ccrab.recorded import HUMAN

MOST_SECONDS, MOST_MIB = 10, 300
STAGE = "results_pipeline_funnel/stage4_agent_resolved.jsonl"


def padded(release: Path, folder: Path) -> Path:
    """Write the copy that has a row for every instance with resolved comments."""
    read = ccrab.read(ccrab.find(release))
    shutil.copytree(release, folder)
    file = folder / STAGE
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    names = [name for name in read.outcomes[HUMAN] if read.resolved_texts(name)]
    file.chmod(0o644)
    file.parent.chmod(0o755)
    with file.open("w") as lines:
        for name, row in zip(names, itertools.cycle(rows), strict=False):
            comments = [{"text": text, "path": "a.py"} for text in read.resolved_texts(name)]
            lines.write(json.dumps(row | {"instance_id": name, "reference_review_comments": comments}) + "\n")
    return folder


def measured(release: Path, out: Path) -> tuple[float, float, str]:
    """Import in a process of its own; seconds, MiB at most, and the first line it printed."""
    argv = [sys.executable, __file__, "--once", str(release), str(out)]
    start = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    seconds = time.monotonic() - start
    first, *_, peak = done.stdout.splitlines()
    return seconds, float(peak), first


def once(release: str, out: str) -> None:
    """Import, and print the most memory that it took."""
    from pytest_crab.cli import main

    main(["benchmark", "ccrab", "import", release, "--out", out], standalone_mode=False)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def run(release: Path) -> int:
    """Measure both; 1 if either is over the budget."""
    over = False
    with tempfile.TemporaryDirectory() as scratch:
        whole = padded(release, Path(scratch, "padded"))
        for name, folder in (("as it is", release), ("padded", whole)):
            seconds, peak, said = measured(folder, Path(scratch, f"set {name}"))
            print(f"{name}: {seconds:.2f} s, {peak:.0f} MiB ({said.split(': ', 1)[1]})")
            over |= seconds > MOST_SECONDS or peak > MOST_MIB
        for path in (whole, *whole.rglob("*")):
            path.chmod(0o755)
    return int(over)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--once"]:
        once(*sys.argv[2:])
    else:
        sys.exit(run(Path(sys.argv[1])))
