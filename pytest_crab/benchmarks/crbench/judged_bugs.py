"""Recorded judgements on CR-Bench: the statistics of its bugs (table 3) and the measures of reviewers (table 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_crab.benchmarks.crbench.reader import JudgedBugs, has_judged_bugs, read_judged_bugs
from pytest_crab.formats import format_count, format_decimal
from pytest_crab.results.recorded_results import RecordedResults, Told
from pytest_crab.scoring.judges.judging import JudgeReport, ReviewerSignal
from pytest_crab.show.judge_text import judge_lines
from pytest_crab.statistics.shares import mean_of
from pytest_crab.statistics.signal import signal
from pytest_crab.text import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class BugStatistics:
    """Means over the bugs, None where one is not on record, and counts."""

    bugs: int
    lines_fixed: float | None
    pr_comments: float | None
    #: A length in characters.
    pr_description: float | None
    #: The number of bugs by dimension and label.
    by_label: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedBugsReport:
    """Tables 3 and 4."""

    statistics: BugStatistics
    judged: JudgeReport


def summarise_judged_bugs(found: JudgedBugs) -> JudgedBugsReport:
    """Return the bugs' statistics and the measures of each reviewer."""
    labels = [bug.labels for bug in found.bugs]
    dimensions = sorted({dimension for own in labels for dimension in own})
    return JudgedBugsReport(
        statistics=BugStatistics(
            bugs=len(found.bugs),
            lines_fixed=mean_of([bug.lines_fixed for bug in found.bugs]),
            pr_comments=mean_of([bug.pr_comments for bug in found.bugs]),
            pr_description=mean_of(
                [None if bug.pr_description is None else len(bug.pr_description) for bug in found.bugs]
            ),
            by_label={
                name: dict(Counter(own[name] for own in labels if name in own).most_common()) for name in dimensions
            },
        ),
        judged=JudgeReport(
            judge="recorded judgements",
            reviewers=tuple(
                ReviewerSignal(reviewer=name, signal=signal(reviews)) for name, reviews in found.reviews.items()
            ),
            findings=(),
            unknown={f"the classification is {word!r}": count for word, count in found.unknown.items()},
        ),
    )


def judged_bugs_lines(report: JudgedBugsReport) -> Iterator[str]:
    """Yield the tables as text, names escaped."""
    known = report.statistics
    means = (
        ("lines fixed", known.lines_fixed),
        ("comments on the pull request", known.pr_comments),
        ("characters of its description", known.pr_description),
    )
    said = ", ".join(f"{name} {format_decimal(value)}" for name, value in means)
    yield f"{format_count(known.bugs, 'bug')}, on average: {said}"
    for dimension, labels in known.by_label.items():
        yield f"  {dimension}: {', '.join(f'{one_line(label, 60)} {count}' for label, count in labels.items())}"
    yield from judge_lines(report.judged, by_label=True)


def recorded(folder: Path) -> RecordedResults | None:
    """Return the numbers of recorded judgements; None where the folder holds none."""
    if not has_judged_bugs(folder):
        return None

    def report() -> Told:
        bugs = summarise_judged_bugs(read_judged_bugs(folder))
        return bugs, judged_bugs_lines(bugs)

    return RecordedResults(report=report)
