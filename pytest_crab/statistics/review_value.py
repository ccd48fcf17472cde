"""SWE-PRBench's scores of what is worth curating: RVS of a pull request, RQS of a repository (arXiv 2603.26130).

The weights, the maximum points and the thresholds are the paper's (equation 1, table 2). Where it does not say how a
component is normalised, the constant here is our choice, and each is named below.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: The least RVS of a pull request: table 3 of the paper has 0.35, and section 3.2 has 0.3.
LEAST_RVS, LEAST_RVS_IN_TEXT = 0.35, 0.3

#: The least RQS of a repository.
LEAST_RQS = 60.0

#: The paper's: so many comments, threads and requests for changes are a full depth.
FULL_DEPTH = 20

#: Ours: a full complexity has so many files, changed lines and directories; a full discussion threads and reviewers.
FULL_FILES, FULL_LINES, FULL_DIRECTORIES, FULL_THREADS, FULL_REVIEWERS = 20, 800, 5, 10, 5

#: Ours: so many merged pull requests in 90 days, and in a month, get all points; and so many stars get half of them.
FULL_RECENCY, FULL_VOLUME, HALF_STARS = 30, 30, 10_000

_FIX = re.compile(r"\b(?:fix(?:es|ed)?|bug(?:fix)?|hotfix|regression|crash(?:es)?|patch)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedPull:
    """The counts of a merged pull request that its review value rests on.

    ``threads`` are threads of comments, ``reply_threads`` those with a reply.
    """

    substantive_comments: int
    threads: int
    change_requests: int
    reply_threads: int
    reviewers: int
    files: int
    lines: int
    directories: int
    tests_modified: bool = False
    tests_added: bool = False
    title: str = ""
    labels: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewValue:
    """The components of RVS, each from 0 to 1, under the data set's names."""

    review_depth: float
    code_complexity: float
    discussion_signal: float
    test_change_signal: float
    bug_fix_signal: float

    @property
    def score(self) -> float:
        """RVS, equation 1."""
        return (
            0.25 * self.review_depth
            + 0.20 * self.code_complexity
            + 0.20 * self.discussion_signal
            + 0.15 * self.test_change_signal
            + 0.20 * self.bug_fix_signal
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedRepository:
    """The counts of a repository that its quality rests on; ``comments`` are those of its 30 latest merged ones."""

    comments: int
    substantive_comments: int
    merged_in_90_days: int
    merged_per_month: float
    has_tests: bool
    has_ci: bool
    has_coverage: bool
    stars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryQuality:
    """The components of RQS in points."""

    review_culture: float
    recency: float
    test_quality: float
    volume: float
    contamination: float

    @property
    def score(self) -> float:
        """RQS, from 0 to 100."""
        return self.review_culture + self.recency + self.test_quality + self.volume + self.contamination


def review_value(pull: ReviewedPull) -> ReviewValue:
    """Return the components of a pull request's RVS."""
    told = pull.substantive_comments + pull.threads + pull.change_requests
    size = (
        _share(pull.files, FULL_FILES),
        _share(pull.lines, FULL_LINES),
        _share(max(0, pull.directories - 1), FULL_DIRECTORIES - 1),
    )
    fix = any(_FIX.search(text) for text in (pull.title, *pull.labels))
    return ReviewValue(
        review_depth=_share(told, FULL_DEPTH),
        code_complexity=sum(size) / len(size),
        discussion_signal=(_share(pull.reply_threads, FULL_THREADS) + _share(pull.reviewers, FULL_REVIEWERS)) / 2,
        test_change_signal=1.0 if pull.tests_modified else 0.5 if pull.tests_added else 0.0,
        bug_fix_signal=float(fix),
    )


def repository_quality(repository: ReviewedRepository) -> RepositoryQuality:
    """Return the components of a repository's RQS; one without any comment has no review culture."""
    substantive = repository.substantive_comments / repository.comments if repository.comments else 0.0
    signs = repository.has_tests + repository.has_ci + repository.has_coverage
    return RepositoryQuality(
        review_culture=30 * min(1.0, substantive),
        recency=25 * _share(repository.merged_in_90_days, FULL_RECENCY),
        test_quality=20 * signs / 3,
        volume=15 * _share(repository.merged_per_month, FULL_VOLUME),
        contamination=10 * HALF_STARS / (HALF_STARS + repository.stars),
    )


def _share(count: float, full: float) -> float:
    return min(1.0, count / full)
