"""AACR-Bench (arXiv 2601.19494): its annotations as pull requests with comments, to be reviewed and not run.

A file is one JSON list of pull requests, or has one in each line. In ``positive_samples.json`` are comments that
experts confirmed, in ``negative_samples.json`` those that they rejected. Comments have no id there: they are numbered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.cli.importing import import_command
from pytest_crab.curation.known_set import KnownSet
from pytest_crab.errors import BadInput
from pytest_crab.instances.archives import to_record
from pytest_crab.instances.native import LICENSE, MISSING, Import, import_rows, language_name
from pytest_crab.sources.merge_base import known_base
from pytest_crab.statistics.pull_classes import size_class
from pytest_crab.text import split_lines
from pytest_crab.types import Comment, GitSource, Instance, Provenance, PullRequestFacts, Side, Source

MOST_BYTES = 64 << 20

#: So many bytes show whether a file is one of the release.
_LOOKED_AT = 1 << 20

_PULL_REQUEST = re.compile(r"https://github\.com/([\w.-]+)/([\w.-]+)/pull/([0-9]+)/?")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedComment:
    """One annotated comment."""

    note: str
    path: str
    side: Side = Side.RIGHT
    from_line: int | None = None
    to_line: int | None = None
    is_ai_comment: bool
    #: Empty where a human wrote it.
    source_model: str = ""
    category: str = ""
    context: str = ""

    @property
    def lines(self) -> tuple[int, int] | None:
        """First and last line."""
        return in_order(self.from_line, self.to_line)

    @property
    def origin(self) -> str:
        """The author: ``human``, or the model's name."""
        return self.source_model or "model" if self.is_ai_comment else "human"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedPull:
    """One pull request with its annotated comments."""

    githubPrUrl: str  # noqa: N815 - the release's own key
    #: A commit on the branch that the pull request is merged into.
    source_commit: str
    target_commit: str
    project_main_language: str
    category: str = ""
    change_line_count: int | None = None
    comments: tuple[AnnotatedComment, ...]

    @property
    def place(self) -> tuple[str, str, int]:
        """The owner, the name and the pull request's number. Raises ValueError for another kind of address."""
        found = _PULL_REQUEST.fullmatch(self.githubPrUrl)
        if found is None:
            raise ValueError(f"githubPrUrl is {self.githubPrUrl[:80]!r}; it should be a pull request's address")
        return found[1], found[2], int(found[3])

    @property
    def instance_id(self) -> str:
        """The id that the benchmark's leaderboard has for it."""
        owner, name, _ = self.place
        return f"{owner}__{name}@{self.target_commit[:7]}"

    @property
    def size(self) -> str:
        """The size by changed lines (table 6 of the paper); empty where they are not stated."""
        if self.change_line_count is None:
            return ""
        return size_class(self.change_line_count)

    def labels(self, comment: AnnotatedComment) -> dict[str, str]:
        """The labels of a comment by dimension: its own, and those of its pull request."""
        labels = {
            "category": comment.category,
            "context": comment.context,
            "origin": comment.origin,
            "side": comment.side.value,
            "language": self.project_main_language,
            "pull-request-category": self.category,
            "size": self.size,
        }
        return {dimension: label for dimension, label in labels.items() if label}


def in_order(*stated: int | None) -> tuple[int, int] | None:
    """Return first and last line of a comment; one of the release has them the other way round, and 0 is none."""
    lines = [line for line in stated if line]
    return (min(lines), max(lines)) if lines else None


def import_aacr(file: Path, out: Path, *, only: re.Pattern[str] | None = None) -> Import:
    """Import a file of the release into ``out``, which must be new or empty, as instances without environment.

    Raises BadInput with every row that is none; then nothing is written.
    """
    return import_rows(file, out, ((row.instance_id, row) for row in read_rows(file)), to_instance, only=only)


def read_rows(file: Path) -> Iterator[AnnotatedPull]:
    """Yield the rows of a file. After the last, raises BadInput with a sentence for each that is none."""
    problems: list[str] = []
    try:
        if file.stat().st_size > MOST_BYTES:
            raise BadInput(str(file), [f"it is larger than {MOST_BYTES >> 20} MiB"])
        text = file.read_text("utf-8")
        in_lines = text.startswith("{") and "githubPrUrl" in text
        rows = [json.loads(line) for line in split_lines(text) if line] if in_lines else json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(str(file), [f"it cannot be read as JSON ({error})"]) from None
    if not isinstance(rows, list):
        raise BadInput(str(file), ["it should be a list of pull requests, as positive_samples.json is"])
    seen: set[str] = set()
    for number, value in enumerate(rows):
        row = to_record(value, AnnotatedPull, problems, f"row {number}")
        try:
            if row is not None and row.instance_id in seen:
                problems.append(f"row {number}: {row.githubPrUrl} is there twice; one should go")
            elif row is not None:
                seen.add(row.instance_id)
                yield row
        except ValueError as error:
            problems.append(f"row {number}: {error}")
    if problems:
        raise BadInput(str(file), problems)


def to_instance(row: AnnotatedPull, folder: Path) -> Instance:
    """Return the instance of a row; what the row does not state is marked by tags, never made up. Raises ValueError."""
    owner, name, number = row.place
    url = f"https://github.com/{owner}/{name}"
    base, how = known_base(url, row.source_commit, row.target_commit)
    own = {"base": how, "title": "missing", "changed_lines": row.change_line_count}
    return Instance(
        id=row.instance_id,
        folder=str(folder),
        provenance=Provenance.GITHUB,
        repo=f"{owner}/{name}",
        language=language_name(row.project_main_language),
        license=LICENSE,
        pull_request=PullRequestFacts(number=number, title=MISSING, url=row.githubPrUrl),
        source=Source(git=GitSource(url=url, base=base, head=row.target_commit)),
        comments=tuple(_comment(row, at, comment) for at, comment in enumerate(row.comments)),
        tags={key: str(value) for key, value in own.items() if value is not None},
    )


def _comment(row: AnnotatedPull, at: int, comment: AnnotatedComment) -> Comment:
    return Comment(
        id=f"c{at}",
        path=comment.path,
        lines=comment.lines,
        side=comment.side,
        body=comment.note,
        labels=row.labels(comment),
    )


def candidates(file: Path, only: frozenset[str] | None) -> KnownSet | None:
    """Return the pull requests of a file of the release, of these repositories; None for another file."""
    with file.open("rb") as opened:
        if b'"githubPrUrl"' not in opened.read(_LOOKED_AT):
            return None

    def read() -> Iterator[Instance]:
        made = (to_instance(row, file.parent / row.instance_id) for row in read_rows(file))
        yield from (one for one in made if only is None or one.repo in only)

    return KnownSet(read=read, kind="aacr")


aacr = import_command(
    import_aacr,
    "Import AACR-Bench's FILE, positive_samples.json, as instances without environment and oracles.",
)
