"""SWE-PRBench's score of a pull request that is worth curating, RVS (arXiv 2603.26130, equation 1).

The weights and the thresholds are the paper's. Where it does not say how a
component is normalised, the constant here is our choice, and each is named below.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: The paper's: so many comments, threads and requests for changes are a full depth.
FULL_DEPTH = 20

#: Ours: a full complexity has so many files, changed lines and directories; a full discussion threads and reviewers.
FULL_FILES, FULL_LINES, FULL_DIRECTORIES, FULL_THREADS, FULL_REVIEWERS = 20, 800, 5, 10, 5

_FIX = re.compile(r"\b(?:fix(?:es|ed)?|bug(?:fix)?|hotfix|regression|crash(?:es)?|patch)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedPull:
    """The counts of a merged pull request that its review value rests on."""

    substantive_comments: int
    #: Threads of comments.
    threads: int
    change_requests: int
    #: Threads with a reply.
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


def _share(count: float, full: float) -> float:
    return min(1.0, count / full)
