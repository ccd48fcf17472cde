"""The pull requests in a report's folder, with their comments: one JSON file per instance."""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_crab import serialization
from pytest_crab.atomic import SHARED, write_atomically
from pytest_crab.types import SCHEMA, Instance, Side

#: Where these files lie in a report's folder.
FOLDER = "instances"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectComment:
    """A human comment; never its oracle."""

    id: str
    path: str | None = None
    lines: tuple[int, int] | None = None
    side: Side = Side.RIGHT
    body: str
    #: The labels by dimension.
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One instance as readers of a report see it."""

    schema: int = SCHEMA
    instance: str
    repo: str
    language: str
    title: str
    body: str = ""
    url: str | None = None
    merged_at: str | None = None
    #: The pull request as contestants saw it.
    diff: str
    comments: tuple[SubjectComment, ...] = ()

    @property
    def digest(self) -> str:
        """The digest that names the pull request in a judge's questions."""
        return pull_request_digest(self.repo, self.title, self.body, self.diff)


def pull_request_digest(repo: str, title: str, body: str, diff: str) -> str:
    """Return the digest that names a pull request in questions."""
    return serialization.digest([repo, title, body, diff])


def subject_of(instance: Instance, diff: str) -> Subject:
    """The subject of an instance, whose pull request has this diff."""
    facts = instance.pull_request
    return Subject(
        instance=instance.id,
        repo=instance.repo,
        language=instance.language,
        title=facts.title,
        body=facts.body,
        url=facts.url,
        merged_at=None if facts.merged_at is None else str(facts.merged_at),
        diff=diff,
        comments=tuple(
            SubjectComment(
                id=comment.id,
                path=comment.path,
                lines=comment.lines,
                side=comment.side,
                body=comment.body,
                labels=comment.dimensions,
            )
            for comment in instance.comments
        ),
    )


def write_subject(report: Path, subject: Subject) -> None:
    """Put a subject into a report's folder; an older one of the same instance is replaced. Raises OSError."""
    text = json.dumps(serialization.dump(subject), indent=1, allow_nan=False)
    path = report / FOLDER / f"{subject.instance}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode() + b"\n", SHARED)


def copy_subjects(report: Path, into: Path) -> None:
    """Put the subjects of one report into another's folder; what lies behind a link is none. Raises OSError."""
    for path in files_of(report / FOLDER):
        (into / FOLDER).mkdir(exist_ok=True)
        shutil.copyfile(path, into / FOLDER / path.name)


def files_of(folder: Path) -> list[Path]:
    """Return the files with JSON of a folder of a report; what lies behind a link is none."""
    found = [] if folder.is_symlink() or not folder.is_dir() else sorted(folder.glob("*.json"))
    return [path for path in found if path.is_file() and not path.is_symlink()]


def subject_reader(report: Path) -> Callable[[str], Subject | None]:
    """Return ``read_subject`` of one report, which reads the subject of each instance once and holds it."""
    return functools.cache(functools.partial(read_subject, report))


def read_subject(report: Path, instance: str) -> Subject | None:
    """The subject of an instance in a report's folder; None if there is none. Raises BadInput."""
    path = f"{report}/{FOLDER}/{instance}.json"
    if "/" in instance or not os.path.isfile(path):  # noqa: PTH113 - a Path takes longer, and may raise
        return None
    return serialization.read_file(Subject, Path(path))
