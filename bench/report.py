"""How long a report takes to make and to open, and what it needs: made-up trials, each result printed once it is known.

    python bench/report.py          # everything: about a minute and a half of one idle core
    python bench/report.py page     # only how fast the page opens and is filtered: about 15 seconds
    python bench/report.py making   # only how long reports take to make, and their memory
    python bench/report.py many     # only how a report grows with its reviewers: about 20 seconds

Each report is made in a process of its own, whose start and imports are not measured; lines are those of a revision.
The browser's part needs Chromium and pytest-crab[browser], and is left out, with a sentence, where these are missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

from figures import middle, tell

from pytest_crab.results.files import write_trials
from pytest_crab.show.write_report import remake
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import Category, Finding, Kind, Provenance, Reason, Review, Revision, Trial, Usage

#: A report of so many trials, and how often the memory of one with short texts one with long ones takes.
COUNT, FLAT = 10_000, 1.1

#: What can be measured by itself.
PARTS = ("page", "making", "many")

#: So many reviewers of so many instances, and seconds of the processor until their report is made.
REVIEWERS_MANY, INSTANCES_MANY, MAKING_MANY = 500, 17, 10.0

#: Lines of a revision: short, long.
SHORT, LONG = 20, 400

#: Seconds of the processor that a report may take by the lines of its revisions, and MiB with short ones.
MAKING, MEMORY = {SHORT: 4.0, LONG: 10.0}, 70.0

#: Seconds until a page of so many trials is open, and milliseconds from a filter's keystroke to paint.
OPENING, PAINTING, OPENED = 2.0, 100.0, 2_000

#: When the first trial starts; the others follow at steps of three seconds.
START = datetime(2026, 1, 2, tzinfo=timezone.utc)

REVIEWERS = ("codex", "pr-agent", "claude-code", "human")
KEYS = ("o", "ow", "owner3", "codex")

#: Type into the filter, which lies in view as for a reader, and wait for the paint.
FILTER = """async (text) => {
  const field = document.getElementById("f-text");
  field.focus();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const start = performance.now();
  field.value = text;
  field.dispatchEvent(new Event("input"));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""


def made_up(count: int, lines: int, reviewers: Sequence[str] = REVIEWERS) -> Iterator[Trial]:
    """Trials of these reviewers, each revision with so many changed lines."""
    chance = random.Random(1)
    words = list(Category)
    body = "".join(f" line {at}\n+added_{at} = compute(value, {at})\n" for at in range(lines // 2))
    head = f"@@ -1,{lines // 2} +1,{lines} @@ def run():\n"
    diff = f"diff --git a/src/m.py b/src/m.py\n--- a/src/m.py\n+++ b/src/m.py\n{head}{body}"
    for at in range(count):
        instance, reviewer = divmod(at, len(reviewers))
        results = tuple(
            comment_result(
                f"c{number}",
                path="src/m.py",
                lines=(4 + 10 * number, 6 + 10 * number),
                category=words[(instance + number) % len(words)],
                kind=Kind.BEHAVIORAL if number else Kind.STRUCTURAL,
                reason=reason,
            )
            for number in range(2)
            for reason in [Reason.GREEN if chance.random() < 0.4 else Reason.FAILED]
        )
        findings = tuple(Finding(path="src/m.py", start=3 + 7 * one, body="This may be wrong.") for one in range(4))
        yield trial_of(
            instance=f"owner{instance % 67}__name-{instance}@abc",
            repo=f"owner{instance % 67}/name",
            provenance=Provenance.GITHUB,
            reviewer=reviewers[reviewer],
            agent="claude-code",
            runtime="docker",
            review=Review(findings=findings, usage=Usage(cost_usd=0.01)),
            revision=Revision(diff=diff, usage=Usage(cost_usd=0.02)),
            results=results,
            seconds=12.5,
            started=(START + timedelta(seconds=3 * at)).isoformat(),
        )


class Took(NamedTuple):
    """Making a report once: seconds, seconds of the processor, peak MiB."""

    wall: float
    processor: float
    peak: float


def made(folder: Path) -> Took:
    """Make all of a report's files again, in a process of its own. Raises subprocess.CalledProcessError."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import report; report.again({str(folder)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
    return Took(*map(float, done.stdout.split()))


def again(folder: str) -> None:
    """Make the files, and print what it took."""
    start = time.perf_counter(), time.process_time()
    remake(Path(folder), errors_as_misses=False)
    took = time.perf_counter() - start[0], time.process_time() - start[1]
    print(*took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def opened(page: Path) -> tuple[float, list[float]]:
    """Median seconds until the list of trials is there, and milliseconds from keystroke to paint."""
    from playwright.sync_api import sync_playwright

    times, strokes = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for _ in range(5):
            tab = browser.new_page()
            start = time.perf_counter()
            tab.goto(page.as_uri())
            tab.wait_for_selector("#list tr")
            times.append(time.perf_counter() - start)
            strokes += [tab.evaluate(FILTER, text) for text in KEYS]
            tab.close()
        browser.close()
    return statistics.median(times), strokes


def no_browser() -> str | None:
    """Why no page can be opened here; None: one can."""
    if shutil.which("chromium") is None:
        return "chromium is not on PATH"
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed: install pytest-crab with its extra [browser]"
    return None


def main() -> int:
    """Measure and print; 1 if a budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help="page, making, many (default: all)")
    parser.add_argument("--runs", type=int, default=1, help="make each report so many times (default: 1)")
    parser.add_argument("--trials", type=int, default=COUNT, help=f"of so many trials (default: {COUNT})")
    options = parser.parse_args()
    if min(options.runs, options.trials) < 1:
        parser.error("--runs and --trials should be 1 or more")
    parts = options.parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"there is no part {min(unknown)!r}; the parts are {', '.join(PARTS)}")
    print(f"{os.cpu_count()} cores, load {' '.join(f'{number:.1f}' for number in os.getloadavg())}")
    good = []
    with tempfile.TemporaryDirectory(prefix="pytest-crab-report-") as scratch:
        if "page" in parts:
            good += browsing(Path(scratch, "page"))
        if "making" in parts:
            good += remaking(Path(scratch), options.trials, options.runs)
        if "many" in parts:
            good += growing(Path(scratch))
    return 0 if all(good) else 1


def remaking(scratch: Path, trials: int, runs: int) -> list[bool]:
    """Make reports of short and of long revisions in turn, print what they take, and tell which budgets hold."""
    folders = {lines: scratch / f"{lines}" for lines in (SHORT, LONG)}
    took: dict[int, list[Took]] = {lines: [] for lines in folders}
    print(f"{trials} trials, median of {runs} alternated runs", flush=True)
    for lines, folder in folders.items():
        write_trials(folder / "trials.jsonl", made_up(trials, lines))
    for _ in range(runs):
        for lines, folder in folders.items():
            took[lines].append(made(folder))
    return [*(making(lines, took[lines], folder) for lines, folder in folders.items()), memory(took)]


def growing(scratch: Path) -> list[bool]:
    """Print what a report takes by its number of reviewers, and tell whether that of the most is within the budget."""
    for count in (REVIEWERS_MANY // 4, REVIEWERS_MANY // 2, REVIEWERS_MANY):
        folder = scratch / f"many-{count}"
        write_trials(
            folder / "trials.jsonl", made_up(count * INSTANCES_MANY, 0, [f"reviewer-{at}" for at in range(count)])
        )
        took = made(folder)
        size = (folder / "summary.json").stat().st_size / 2**20
        print(f"{count} reviewers: {took.processor:.1f} s of the processor, a summary.json of {size:.1f} MiB")
    tell("report.many", f"{took.processor:.1f}", good=took.processor <= MAKING_MANY)
    tell("report.many.size", f"{size:.1f}")
    return [held(f"made in {took.processor:.1f} s of the processor", took.processor, MAKING_MANY, "s")]


def making(lines: int, took: Sequence[Took], folder: Path) -> bool:
    """Print how long reports of so many lines took, and whether that is within the budget."""
    wall, processor = (statistics.median(getattr(one, clock) for one in took) for clock in ("wall", "processor"))
    records, page = ((folder / name).stat().st_size / 2**20 for name in ("trials.jsonl", "index.html"))
    print(f"{lines} lines each: {records:.0f} MiB of records, a page of {page:.0f} MiB")
    seconds = middle([one.processor for one in took])
    tell(f"report.{lines}", seconds, good=processor <= MAKING[lines])
    return held(f"made in {processor:.1f} s of the processor ({wall:.1f} s)", processor, MAKING[lines], "s")


def memory(took: Mapping[int, Sequence[Took]]) -> bool:
    """Print what long texts add to the memory, and whether that is within the budget."""
    short, long = (max(one.peak for one in took[lines]) for lines in (SHORT, LONG))
    print(f"memory at its peak: {short:.0f} MiB with {SHORT} lines each, {long:.0f} with {LONG}")
    tell("report.memory", f"{short:.0f}", good=short <= MEMORY)
    tell("report.memory.ratio", f"{long / short:.2f}", good=long / short <= FLAT)
    good = [held(f"{short:.0f} MiB", short, MEMORY, "MiB"), held(f"{long / short:.2f} x", long / short, FLAT, "x")]
    return all(good)


def browsing(folder: Path) -> list[bool]:
    """Open a page and filter it, print how long that takes, and tell which budgets hold."""
    problem = no_browser()
    if problem is not None:
        print(f"the page was not opened: {problem}")
        return []
    write_trials(folder / "trials.jsonl", made_up(OPENED, 80))
    made(folder)
    seconds, strokes = opened(folder / "index.html")
    print(f"a page of {OPENED} trials, {(folder / 'index.html').stat().st_size / 2**20:.1f} MiB")
    tell("report.open", f"{seconds:.2f}", good=seconds <= OPENING)
    tell("report.keystroke", f"{max(strokes) / 1000:.2f}", good=max(strokes) <= PAINTING)
    return [
        held(f"open after {seconds:.2f} s, median of 5", seconds, OPENING, "s"),
        held(f"keystroke to paint {max(strokes):.0f} ms at worst", max(strokes), PAINTING, "ms"),
    ]


def held(words: str, value: float, budget: float, unit: str) -> bool:
    """Print a row with its verdict."""
    fine = value <= budget
    print(f"  {words}; budget {budget:g} {unit}: {'met' if fine else 'EXCEEDED'}", flush=True)
    return fine


if __name__ == "__main__":
    sys.exit(main())
