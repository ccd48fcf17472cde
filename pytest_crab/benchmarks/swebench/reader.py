"""SWE-bench's rows (arXiv 2310.06770): an issue, and the patch that resolved it, as candidates of a curation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.curation.introducing import FixedBugs
from pytest_crab.instances.native import read_lines
from pytest_crab.types import FIX, PullCandidate, PullRequestFacts

#: The origin of the candidates.
KIND = "swe-bench"

#: The tag of a candidate with the commit that its patch is made for.
BASE = "fix_base"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueRow:
    """One row; Lite, Verified and Multilingual have these fields and more."""

    instance_id: str
    repo: str
    base_commit: str
    patch: str
    problem_statement: str


def has_issue_rows(file: Path) -> bool:
    """Return whether a file begins like SWE-bench's rows."""
    with file.open("rb") as opened:
        start = opened.read(1 << 20)
    return all(f'"{name}"'.encode() in start for name in ("problem_statement", "base_commit", "patch"))


def issue_candidates(file: Path) -> Iterator[PullCandidate]:
    """Yield a candidate for each row: its pull request is the one that brought the bug, which is not known yet.

    The issue is the candidate's text, the patch its file. After the last, raises BadInput for rows that are none.
    """
    for row in read_lines(file, IssueRow, "instance_id"):
        yield PullCandidate(
            id=row.instance_id,
            origin=KIND,
            repo=row.repo,
            pull_request=PullRequestFacts(
                number=1, title=row.problem_statement.strip().partition("\n")[0], body=row.problem_statement
            ),
            files={FIX: row.patch},
            tags={BASE: row.base_commit},
        )


def candidates(file: Path, only: frozenset[str] | None) -> FixedBugs | None:
    """Return the bugs that the rows of a file fix, of these repositories; None for another file. Raises BadInput."""
    if not has_issue_rows(file):
        return None
    return FixedBugs(rows=tuple(issue_candidates(file)), fixed_on=BASE, only=only, kind=KIND)
