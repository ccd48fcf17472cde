"""SWE-PRBench (arXiv 2603.26130): its data set, as it lies on the hub, as pull requests with comments.

``prs.jsonl`` has a row for each pull request, ``annotations/<task id>_human.json`` its comments with what makes them
known issues, and ``evals/*.json`` the samples that were published about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from pytest_crab.cli.importing import import_command
from pytest_crab.errors import BadInput
from pytest_crab.instances.archives import read_file
from pytest_crab.instances.native import LICENSE, Import, import_rows, language_name, read_lines
from pytest_crab.parsing.review_comments import is_bot
from pytest_crab.sources.merge_base import known_base
from pytest_crab.statistics.pull_classes import DIFFICULTIES
from pytest_crab.statistics.review_value import ReviewValue
from pytest_crab.types import Comment, GitSource, Instance, Provenance, PullRequestFacts, Source

#: The revision of the data set whose layout this reads.
REVISION = "b87f5797aef3ed2c3153bb1304ea4d801d36ba6e"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPull:
    """A row of prs.jsonl: one pull request."""

    task_id: str
    repo: str
    pr_number: int
    pr_url: str
    title: str
    description: str = ""
    language: str
    pr_type: str
    difficulty: str
    rvs_score: float
    rvs_breakdown: ReviewValue
    merged_at: str
    base_commit: str
    head_commit: str

    @property
    def url(self) -> str:
        """The address of the repository."""
        return f"https://github.com/{self.repo}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchComment:
    """One comment of an annotation."""

    comment_id: str
    body: str
    file: str = ""
    #: Of the new version, where it is stated.
    line: int | None = None
    is_blocking: bool = False
    reviewer: str = ""
    is_initiating_comment: bool = False
    is_in_diff: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchAnnotation:
    """The comments of one pull request, and the ids of those that are substantive."""

    task_id: str
    substantive_comment_ids: tuple[str, ...] = ()
    comments: tuple[BenchComment, ...]

    @property
    def known_issues(self) -> tuple[BenchComment, ...]:
        """The comments that reviews are compared with: the substantive ones, else those that open a thread."""
        wanted = set(self.substantive_comment_ids)
        if not wanted:
            return tuple(comment for comment in self.comments if comment.is_initiating_comment)
        return tuple(comment for comment in self.comments if comment.comment_id in wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSample:
    """A named sample of tasks."""

    task_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedTask:
    """A pull request with its annotation."""

    pull: BenchPull
    annotation: BenchAnnotation
    #: The names of the samples that it is in.
    samples: tuple[str, ...] = field(default=())


def import_sweprbench(
    folder: Path, out: Path, *, only: re.Pattern[str] | None = None, sample: str | None = None
) -> Import:
    """Import the data set in ``folder`` into ``out``, which must be new or empty, as instances without environment.

    ``sample`` is the name of one of its samples, of which alone the tasks are taken. Raises BadInput with every file
    that is missing and every row that is none; then nothing is written.
    """
    if sample is not None and not (folder / "evals" / f"{sample}.json").is_file():
        known = ", ".join(path.stem for path in sorted((folder / "evals").glob("*.json"))) or "none"
        raise BadInput(str(folder), [f"it has no sample {sample!r}; its samples are {known}"])
    notes: list[str] = []

    def rows() -> Iterator[tuple[str, AnnotatedTask]]:
        for task in read_tasks(folder, only):
            if sample is None or sample in task.samples:
                name = task.pull.task_id
                notes.extend(
                    f"{name}: {comment.comment_id} is left out: it names no file"
                    for comment in task.annotation.known_issues
                    if not comment.file
                )
                yield name, task

    done = import_rows(folder, out, rows(), to_instance)
    done.notes += notes
    return done


def read_tasks(folder: Path, only: re.Pattern[str] | None = None) -> Iterator[AnnotatedTask]:
    """Yield the tasks of the data set whose id has a match.

    After the last, raises BadInput with a sentence for each row, annotation or sample that is none.
    """
    problems: list[str] = []
    samples = dict(_read_samples(folder, problems))
    try:
        for pull in read_lines(folder / "prs.jsonl", BenchPull, "task_id"):
            if only is not None and not only.search(pull.task_id):
                continue
            annotation = _read_annotation(folder, pull, problems)
            if annotation is not None:
                inside = tuple(name for name, ids in samples.items() if pull.task_id in ids)
                yield AnnotatedTask(pull=pull, annotation=annotation, samples=inside)
    except BadInput as error:
        problems += [f"prs.jsonl: {problem}" for problem in error.problems]
    if problems:
        raise BadInput(str(folder), [*problems, f"the layout that is read is that of revision {REVISION[:12]}"])


def _read_samples(folder: Path, problems: list[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for path in sorted((folder / "evals").glob("*.json")):
        sample = read_file(path, BenchSample, problems, str(path.relative_to(folder)))
        if sample is not None:
            yield path.stem, frozenset(sample.task_ids)


def _read_annotation(folder: Path, pull: BenchPull, problems: list[str]) -> BenchAnnotation | None:
    path = folder / "annotations" / f"{pull.task_id}_human.json"
    where = str(path.relative_to(folder))
    found = read_file(path, BenchAnnotation, problems, where)
    if found is None:
        return None
    missing = set(found.substantive_comment_ids) - {comment.comment_id for comment in found.comments}
    if found.task_id != pull.task_id:
        problems.append(f"{where}: task_id is {found.task_id[:60]!r}; it should be that of the file's name")
    elif missing:
        problems.append(f"{where}: substantive_comment_ids has {min(missing)[:60]!r}, which no comment has")
    elif pull.difficulty not in DIFFICULTIES:
        problems.append(
            f"{pull.task_id}: difficulty is {pull.difficulty[:60]!r}; it should be one of {', '.join(DIFFICULTIES)}"
        )
    else:
        return found
    return None


def to_instance(task: AnnotatedTask, folder: Path) -> Instance:
    """Return the instance of a task; a merge base that no mirror knows is tagged as unchecked. Raises ValueError."""
    pull = task.pull
    base, how = known_base(pull.url, pull.base_commit, pull.head_commit)
    tags = {
        "base": how,
        "rvs": f"{pull.rvs_score:g}",
        "rvs_of_components": f"{pull.rvs_breakdown.score:.3f}",
        "difficulty": pull.difficulty,
        "pr_type": pull.pr_type,
        "samples": " ".join(task.samples),
    }
    return Instance(
        id=pull.task_id,
        folder=str(folder),
        provenance=Provenance.GITHUB,
        repo=pull.repo,
        language=language_name(pull.language),
        license=LICENSE,
        pull_request=PullRequestFacts(
            number=pull.pr_number, title=pull.title, body=pull.description, url=pull.pr_url, merged_at=pull.merged_at
        ),
        source=Source(git=GitSource(url=pull.url, base=base, head=pull.head_commit)),
        comments=tuple(_comment(pull, comment) for comment in task.annotation.known_issues if comment.file),
        tags={key: value for key, value in tags.items() if value},
    )


def _comment(pull: BenchPull, comment: BenchComment) -> Comment:
    labels = {
        "difficulty": pull.difficulty,
        "language": pull.language,
        "pr-type": pull.pr_type,
        "blocking": "yes" if comment.is_blocking else "no",
        "in-diff": "" if comment.is_in_diff is None else "yes" if comment.is_in_diff else "no",
        "origin": "bot" if is_bot(comment.reviewer) else "human",
    }
    return Comment(
        id=comment.comment_id,
        path=comment.file,
        lines=None if comment.line is None else (comment.line, comment.line),
        body=comment.body,
        labels={dimension: label for dimension, label in labels.items() if label},
    )


sweprbench = import_command(
    import_sweprbench,
    "Import SWE-PRBench's data set, a FOLDER with prs.jsonl and annotations/, as instances without environment.",
    folder=True,
    options=[
        click.Option(["--sample"], metavar="NAME", help="Only the tasks of this sample, such as eval_100."),
    ],
)
