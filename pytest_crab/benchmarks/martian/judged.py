"""Martian's recorded judgements: in counts of comments, or as reviews."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_crab.benchmarks.martian.reader import (
    MartianRelease,
    MartianResult,
    has_martian,
    martian_reviews,
    read_martian,
)
from pytest_crab.instances.archives import reading
from pytest_crab.results.judged_runs import JudgedRelease, JudgedRun, summarise_judged
from pytest_crab.results.recorded_results import RecordedResults, Told
from pytest_crab.scoring.stored_reviews import StoredReview
from pytest_crab.show.judged_text import judged_lines


def judged_release(release: MartianRelease) -> JudgedRelease:
    """Return every known issue against every candidate comment of every tool, by each judge."""
    return JudgedRelease(
        benchmark="Martian",
        golden=release.golden,
        runs=tuple(
            _martian_run(tool, judge, release, results)
            for judge, by_tool in release.judged.items()
            for tool, results in by_tool.items()
        ),
    )


def _martian_run(tool: str, judge: str, release: MartianRelease, results: Mapping[str, MartianResult]) -> JudgedRun:
    found = {
        (url, number): hit is not None
        for url, pull in release.pulls.items()
        for number, hit in enumerate(results[url].matched if url in results else [None] * len(pull.issues))
    }
    return JudgedRun(
        reviewer=tool,
        judge=judge,
        golden=release.golden,
        pull_requests=len(results),
        expected=len(found),
        matched=sum(found.values()),
        incorrect=sum(result.incorrect for result in results.values()),
        found=found,
    )


def recorded(folder: Path) -> RecordedResults | None:
    """Return what a release records, as rates by judge or as a report; None where the folder is none."""
    if not has_martian(folder):
        return None

    def report() -> Told:
        summary = summarise_judged(judged_release(read_martian(folder)))
        return summary, judged_lines(summary)

    def reviews() -> tuple[Iterable[StoredReview], str]:
        release = read_martian(folder)
        with reading(folder):
            return list(martian_reviews(release)), f"Martian, {release.golden}"

    return RecordedResults(report=report, reviews=reviews)
