"""SWE-CARE's rows, which c-CRAB's are too: what is read of them, and one instance record from one row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_crab import ecosystems
from pytest_crab.instances.native import LICENSE, MISSING, language_name, read_lines
from pytest_crab.text import split_lines
from pytest_crab.types import (
    Comment,
    Environment,
    GitSource,
    Instance,
    Provenance,
    PullRequestFacts,
    Source,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewComment:
    """A comment of a row."""

    text: str
    path: str
    #: Counted in a later commit than the one that was reviewed.
    line: int | None = None
    start_line: int | None = None
    #: Counted in the commit that was reviewed.
    original_line: int | None = None
    original_start_line: int | None = None

    @property
    def lines(self) -> tuple[int, int] | None:
        """First and last line in the reviewed commit; None if the row does not tell."""
        last = self.original_line if self.original_line is not None else self.line
        start = self.original_start_line if self.original_line is not None else self.start_line
        first = last if start is None else start
        return (first, last) if first is not None and last is not None and 1 <= first <= last else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """The commit that was reviewed."""

    head_commit: str
    head_commit_message: str | None = None
    #: The pull request up to this commit.
    patch_to_review: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The release's own labels of a pull request."""

    problem_domain: str | None = None
    difficulty: str | None = None
    estimated_review_effort: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestRow:
    """One pull request with its review comments."""

    instance_id: str
    repo: str
    language: str = ecosystems.DEFAULT.name
    pull_number: int
    title: str | None = None
    body: str | None = None
    base_commit: str
    commit_to_review: Reviewed
    reference_review_comments: tuple[ReviewComment, ...]
    merged_commit: str
    metadata: Metadata = field(default_factory=Metadata)

    @property
    def url(self) -> str:
        """The repository."""
        return f"https://github.com/{self.repo}"


def read_rows(path: Path) -> Iterator[PullRequestRow]:
    """Yield the rows of a JSON lines file, as ``read_lines`` does."""
    return read_lines(path, PullRequestRow, "instance_id")


def to_instance(
    row: PullRequestRow, folder: Path, comments: tuple[Comment, ...], base: str, tags: Mapping[str, str]
) -> Instance:
    """The instance of a row; what the row does not say is said by tags, never made up. Raises ValueError."""
    title, title_tag = _title(row)
    own = {
        "title": title_tag,
        "body": None if row.body is not None else "missing",
        "problem_domain": row.metadata.problem_domain,
        "difficulty": row.metadata.difficulty,
        "review_effort": row.metadata.estimated_review_effort,
    }
    return Instance(
        id=row.instance_id,
        folder=str(folder),
        provenance=Provenance.GITHUB,
        repo=row.repo,
        language=language_name(row.language) or ecosystems.DEFAULT.name,
        license=LICENSE,
        pull_request=PullRequestFacts(
            number=row.pull_number, title=title, body=row.body or "", url=f"{row.url}/pull/{row.pull_number}"
        ),
        source=Source(
            git=GitSource(url=row.url, base=base, head=row.commit_to_review.head_commit, merged=row.merged_commit)
        ),
        environment=_environment(comments),
        comments=comments,
        tags={**tags, **{key: str(value) for key, value in own.items() if value is not None}},
    )


def _environment(comments: tuple[Comment, ...]) -> Environment:
    """The environment of the one runner of all oracles, else the usual one; what more is needed is for certify."""
    runners = {comment.oracle.runner for comment in comments if comment.oracle is not None}
    return ecosystems.start(runners.pop() if len(runners) == 1 else None)


def _title(row: PullRequestRow) -> tuple[str, str | None]:
    """The title, and where it comes from if not from the row."""
    if row.title and row.title.strip():
        return row.title, None
    message = (row.commit_to_review.head_commit_message or "").strip()
    return (split_lines(message)[0].strip(), "head commit") if message else (MISSING, "missing")
