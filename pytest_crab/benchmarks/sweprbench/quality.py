"""SWE-PRBench's score of a repository, RQS (arXiv 2603.26130, table 2), of a clone with its pull requests.

The points and the threshold are the paper's. It does not say how a component is normalised; each constant that does so
is our choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from pathlib import Path, PurePosixPath

import click

from pytest_crab.cli.shared_options import json_option
from pytest_crab.curation.discussion import read_discussions
from pytest_crab.ecosystems.files_of_tests import is_test
from pytest_crab.formats import format_count, format_decimal, format_table
from pytest_crab.parsing.review_comments import is_substantive
from pytest_crab.results.recorded_results import Told
from pytest_crab.sources.pull_refs import PullRefs
from pytest_crab.types import CandidateComment

#: The components with their most points.
POINTS = {"review culture": 30, "recency": 25, "test quality": 20, "volume": 15, "contamination": 10}

#: A repository with fewer points is left out.
LEAST_RQS = 60

#: Review culture is that of so many pull requests, the latest that were merged in so many days; volume is a mean over
#: six months.
_LATEST, _RECENT, _HALF_YEAR = 30, timedelta(days=90), timedelta(days=183)

#: Ours: so many merged pull requests in 90 days, and in a month, get all points; and so many stars get half of them.
FULL_RECENCY, FULL_VOLUME, HALF_STARS = 30, 30, 10_000

#: Ours: files that set up continuous integration, and those that set up coverage or may name it.
_CI = re.compile(
    r"\.github/workflows/[^/]+\.ya?ml|\.circleci/config\.yml|\.buildkite/.+|\.woodpecker.*\.ya?ml"
    r"|\.(?:gitlab-ci|travis|cirrus|appveyor|drone)\.yml|(?:appveyor|azure-pipelines|bitbucket-pipelines)\.yml|Jenkinsfile"
)
_COVERAGE = re.compile(r"\.coveragerc|\.?codecov\.ya?ml|\.coveralls\.yml|\.nycrc(?:\.\w+)?")
_MAY_NAME_COVERAGE = ("pyproject.toml", "setup.cfg", "tox.ini", "noxfile.py", "package.json", "pom.xml", "build.gradle")
_COVERAGE_WORD = re.compile(rb"coverage|pytest-cov|codecov|jacoco|\bnyc\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedRepository:
    """The counts of a repository that its quality rests on."""

    #: Those of its 30 latest merged pull requests.
    comments: int
    substantive_comments: int
    merged_in_90_days: int
    merged_per_month: float
    has_tests: bool
    has_ci: bool
    has_coverage: bool
    stars: int


@click.command()
@click.argument("repository", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--comments", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Its review comments: JSON lines with the fields of GitHub's API.",
)  # fmt: skip
@click.option(
    "--stars", required=True, type=click.IntRange(min=0), help="How many stars it has, which git does not say."
)
@click.option("--at", type=click.DateTime(["%Y-%m-%d"]), metavar="DAY", help="The last day that counts; else today.")
@json_option
def quality(repository: Path, *, comments: Path, stars: int, at: datetime | None) -> Told:
    """Print the quality score (RQS) of REPOSITORY, a clone with refs/pull, by its components."""
    day = (at or datetime.now(timezone.utc)).date()
    counted = count_repository(PullRefs(repository), read_discussions(comments), stars, day)
    points = repository_quality(counted)
    total = sum(points.values())
    merged = format_count(counted.merged_in_90_days, "pull request")
    said = format_count(counted.comments, "comment")
    rows = [(name, format_decimal(points[name], 1), str(most)) for name, most in POINTS.items()]
    lines = [
        f"{repository} on {day}: {merged} merged in 90 days",
        f"{said} on the latest {_LATEST} of them, {counted.substantive_comments} substantive",
        *format_table([("component", "points", "of"), *rows, ("RQS", format_decimal(total, 1), "100")]),
    ]
    if total < LEAST_RQS:
        lines.append(f"the benchmark leaves repositories below {LEAST_RQS} out")
    return {"day": day.isoformat(), "counts": counted, "points": points, "rqs": total}, lines


def count_repository(
    refs: PullRefs, discussions: Mapping[int, Sequence[CandidateComment]], stars: int, day: date
) -> ReviewedRepository:
    """Count what a repository's main line and its reviews show up to a day. Raises SourceError."""
    merged = {number: time.date() for number, time in refs.merge_times().items() if time.date() <= day}
    recent = [number for number, then in merged.items() if day - then < _RECENT]
    latest = sorted(recent, key=lambda number: (merged[number], number))[-_LATEST:]
    said = [one for number in latest for one in discussions.get(number, ())]
    paths = refs.paths()
    return ReviewedRepository(
        comments=len(said),
        substantive_comments=sum(is_substantive(one.author, one.comment.body) for one in said),
        merged_in_90_days=len(recent),
        merged_per_month=sum(day - then < _HALF_YEAR for then in merged.values()) / 6,
        has_tests=any(map(is_test, paths)),
        has_ci=any(map(_CI.fullmatch, paths)),
        has_coverage=_has_coverage(refs, paths),
        stars=stars,
    )


def _has_coverage(refs: PullRefs, paths: Iterable[str]) -> bool:
    if any(_COVERAGE.fullmatch(PurePosixPath(path).name) for path in paths):
        return True
    return any(_COVERAGE_WORD.search(refs.read("HEAD", name) or b"") for name in _MAY_NAME_COVERAGE)


def repository_quality(repository: ReviewedRepository) -> dict[str, float]:
    """Return the points of each component of RQS; a repository without any comment has no review culture."""
    shares = {
        "review culture": repository.substantive_comments / (repository.comments or 1),
        "recency": min(1.0, repository.merged_in_90_days / FULL_RECENCY),
        "test quality": (repository.has_tests + repository.has_ci + repository.has_coverage) / 3,
        "volume": min(1.0, repository.merged_per_month / FULL_VOLUME),
        "contamination": HALF_STARS / (HALF_STARS + repository.stars),
    }
    return {name: most * shares[name] for name, most in POINTS.items()}
