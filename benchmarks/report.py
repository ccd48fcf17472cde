"""How long a report takes to make and to open, and what it needs: made-up trials, printed as a table.

    python benchmarks/report.py

Budgets: 10,000 trials in 10 s with memory flat in the size of their texts; a page of 2,000 trials open in 2 s, a
filter's keystroke painted in 100 ms. The browser part needs Chromium and pytest-crab[browser].
"""

from __future__ import annotations

import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pytest_crab.report.files import read_trials
from pytest_crab.report.files import write_summary
from pytest_crab.report.files import write_trials
from pytest_crab.report.rendering import render
from pytest_crab.report.summary import summarise
from pytest_crab.types import Category
from pytest_crab.types import Finding
from pytest_crab.types import Kind
from pytest_crab.types import OracleResult
from pytest_crab.types import Provenance
from pytest_crab.types import Reason
from pytest_crab.types import Review
from pytest_crab.types import Revision
from pytest_crab.types import Trial
from pytest_crab.types import Usage

REVIEWERS = ("codex", "pr-agent", "claude-code", "human")
KEYS = ("o", "ow", "owner3", "codex")
FILTER = """async (text) => {
  const field = document.getElementById("f-text");
  const start = performance.now();
  field.value = text;
  field.dispatchEvent(new Event("input"));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""


def made_up(count: int, lines: int) -> Iterator[Trial]:
    """Trials of four reviewers, each revision with so many changed lines."""
    chance = random.Random(1)
    words = list(Category)
    body = "".join(f" line {at}\n+added_{at} = compute(value, {at})\n" for at in range(lines // 2))
    head = f"@@ -1,{lines // 2} +1,{lines} @@ def run():\n"
    diff = f"diff --git a/src/m.py b/src/m.py\n--- a/src/m.py\n+++ b/src/m.py\n{head}{body}"
    for at in range(count):
        instance, reviewer = divmod(at, len(REVIEWERS))
        results = tuple(
            OracleResult(
                comment=f"c{number}",
                path="src/m.py",
                lines=(4 + 10 * number, 6 + 10 * number),
                category=words[(instance + number) % len(words)],
                kind=Kind.BEHAVIORAL if number else Kind.STRUCTURAL,
                verdict=reason.verdict,
                reason=reason,
            )
            for number in range(2)
            for reason in [Reason.GREEN if chance.random() < 0.4 else Reason.FAILED]
        )
        findings = tuple(Finding(path="src/m.py", start=3 + 7 * one, body="This may be wrong.") for one in range(4))
        yield Trial(
            instance=f"owner{instance % 67}__name-{instance}@abc",
            repo=f"owner{instance % 67}/name",
            provenance=Provenance.GITHUB,
            reviewer=REVIEWERS[reviewer],
            agent="claude-code",
            runtime="docker",
            review=Review(findings=findings, usage=Usage(cost_usd=0.01)),
            revision=Revision(diff=diff, usage=Usage(cost_usd=0.02)),
            results=results,
            seconds=12.5,
        )


def rendered(folder: Path) -> tuple[float, float]:
    """Seconds and peak MiB of making all of a report's files again, in a process of its own."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import report; report.again({str(folder)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    seconds, peak = done.stdout.split()
    return float(seconds), float(peak)


def again(folder: str) -> None:
    """Make the files, and print seconds and peak MiB."""
    start = time.perf_counter()
    summary = summarise(read_trials(Path(folder, "trials.jsonl")))
    write_summary(Path(folder, "summary.json"), summary)
    render(Path(folder), summary)
    print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


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


def main() -> None:
    """Print the table."""
    print(f"{'trials':>8} {'lines':>6} {'records MiB':>12} {'seconds':>8} {'peak MiB':>9} {'page MiB':>9}")
    with tempfile.TemporaryDirectory() as scratch:
        for count, lines in ((10_000, 20), (10_000, 400), (2_000, 80)):
            folder = Path(scratch, f"{count}-{lines}")
            write_trials(folder / "trials.jsonl", made_up(count, lines))
            seconds, peak = rendered(folder)
            sizes = [(folder / name).stat().st_size / 2**20 for name in ("trials.jsonl", "index.html")]
            print(f"{count:>8} {lines:>6} {sizes[0]:>12.1f} {seconds:>8.2f} {peak:>9.0f} {sizes[1]:>9.1f}")
        if shutil.which("chromium"):
            seconds, strokes = opened(folder / "index.html")
            print(f"open, median of 5: {seconds:.2f} s; keystroke to paint, worst: {max(strokes):.0f} ms")


if __name__ == "__main__":
    main()
