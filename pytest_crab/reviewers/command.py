"""Any executable as a reviewer: the pull request as JSON in, findings as JSON out (docs/reference/command.md)."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import ClassVar

from pytest_crab.commands import CommandSettings, request
from pytest_crab.diffs import touched_paths
from pytest_crab.errors import AgentError, ReviewerError
from pytest_crab.parsing.report_formats import ReportFormat
from pytest_crab.parsing.review_output import read_review
from pytest_crab.protocols import Checkout
from pytest_crab.types import PullRequest, Review


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReviewer(CommandSettings):
    """Runs an executable on a throw-away clone, which prints findings in ``format``; no findings is a review."""

    noun: ClassVar[str] = "reviewer"
    failure: ClassVar[type[ReviewerError | AgentError]] = ReviewerError

    kind: ReportFormat = field(default=ReportFormat.CRAB, metadata={"key": "format"})

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """Return the findings that the executable prints. Raises ReviewerError, Cancelled, EngineError."""
        fingerprint = self.fingerprint()
        with self.ran(request(pull_request), checkout) as ran:
            problems: list[str] = []
            root, files = ran.workspace.root, self.files_of(pull_request)
            review = read_review(self.report(ran.stdout), problems, kind=self.kind, root=root, files=files)
            if review is not None and ran.exit_code and not review.findings:
                problems.append(
                    f"it ended with exit code {ran.exit_code} and has no finding, as a linter that fails does"
                )
                review = None
            if review is None:
                raise self.bad_output(problems, ran.stdout)
        return review if review.version is not None else dataclasses.replace(review, version=fingerprint)

    def report(self, stdout: str) -> str:
        """Return what the executable printed, in its format. Raises ReviewerError."""
        return stdout

    def files_of(self, pull_request: PullRequest) -> Collection[str]:
        """Return the files that a path may stand for, which is none of the tree as it stands."""
        return touched_paths(pull_request.diff)
