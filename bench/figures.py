"""Measure again what docs/explanation/speed.md says of speed and memory, and write it there.

    python bench/figures.py                    # all: an hour where the machine has other work
    python bench/figures.py report collect     # only the figures of these scripts
    python bench/figures.py --list             # the scripts, with the options that they are run with

A figure stands in the page between ``<!--= NAME -->`` and ``<!--.-->``. A script says it with ``tell``; the part of the
name before the first dot is the script's. ``SCRIPT.when`` is the machine, its load and the day. A script that fails
leaves its figures as they were. It needs what its scripts need: a Docker engine, a package index and Chromium.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "speed.md"

#: Each script with its options.
SCRIPTS: Mapping[str, Sequence[str]] = {
    "startup": ("--pairs", "30"),
    "collect": ("--runs", "12"),
    "report": ("--runs", "3"),
    "restoring": ("--runs", "4"),
    "incremental": ("--runs", "4"),
    "rejudge": ("--runs", "3"),
    "gateway": (),
    "overhead": ("--runs", "8"),
}

MARK = re.compile(r"(<!--= (?P<name>\w+(?:\.[\w-]+)+) -->)(?P<text>.*?)(<!--\.-->)")
_LINE = re.compile(r"^figure (?P<name>\w+(?:\.[\w-]+)+): (?P<text>.+)$", re.MULTILINE)


def tell(name: str, text: str, *, good: bool = True) -> None:
    """Print a figure as this command reads it; one over its budget says so in the page."""
    print(f"figure {name}: {text if good else f'**{text}, over its budget**'}", flush=True)


def told(output: str) -> dict[str, str]:
    """Return the figures in what a script printed."""
    return {found["name"]: found["text"] for found in _LINE.finditer(output)}


def middle(numbers: Sequence[float], digits: int = 1) -> str:
    """Return the median, and the quartiles where there are several numbers."""
    if len(numbers) == 1:
        return f"{numbers[0]:.{digits}f}"
    low, half, high = statistics.quantiles(numbers, n=4, method="inclusive")
    return f"{half:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def rewritten(page: str, figures: Mapping[str, str]) -> str:
    """Return the page with these figures; others stay. Raises ValueError if a script says one that no place is for."""
    places = {found["name"] for found in MARK.finditer(page)}
    if lost := sorted(set(figures) - places):
        raise ValueError(
            f"{PAGE} has no place for {', '.join(lost)}: write <!--= {lost[0]} --><!--.--> where it belongs"
        )
    return MARK.sub(lambda found: f"{found[1]}{figures.get(found['name'], found['text'])}{found[4]}", page)


def conditions() -> str:
    """Return the machine, what else it did, and the day."""
    day = time.strftime("%d %B %Y").lstrip("0")
    return f"{os.cpu_count()} cores with a load of {os.getloadavg()[1]:.1f} before, {day}"


def measured(script: str) -> dict[str, str] | None:
    """Run a script and return its figures; None if it failed, or told not all that the page has of it."""
    when = conditions()
    argv = [sys.executable, str(ROOT / "bench" / f"{script}.py"), *SCRIPTS[script]]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    figures = told("".join(lines))
    places = {found["name"] for found in MARK.finditer(PAGE.read_text("utf-8"))}
    wanted = {name for name in places if name.startswith(f"{script}.")} - {f"{script}.when"}
    whole = wanted <= set(figures) and process.returncode in (0, 1)  # 1: a budget is exceeded
    return {**figures, f"{script}.when": when} if whole else None


def main() -> int:
    """Measure and write; 1 if a script failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="*", metavar="script", help="only these (default: all)")
    parser.add_argument("--list", action="store_true", help="print the scripts and their options")
    options = parser.parse_args()
    if unknown := sorted(set(options.scripts) - set(SCRIPTS)):
        parser.error(f"there is no script {unknown[0]!r}; they are {', '.join(SCRIPTS)}")
    if options.list:
        print("\n".join(" ".join([script, *SCRIPTS[script]]) for script in SCRIPTS))
        return 0
    failed = []
    for script in options.scripts or SCRIPTS:
        figures = measured(script)
        if figures is None:
            failed.append(script)
        else:
            PAGE.write_text(rewritten(PAGE.read_text("utf-8"), figures), "utf-8")
    if failed:
        print(f"these failed, and their figures are as they were: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
