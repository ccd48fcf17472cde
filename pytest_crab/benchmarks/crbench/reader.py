"""CR-Bench (arXiv 2603.11078): recorded judgements of reviews against known bugs, one in each pull request.

Neither its data nor its code are public, so the files are ours, with the paper's fields: ``bugs.jsonl``, and a file of
judged comments for each reviewer in ``judgements/``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pytest_crab.errors import BadInput
from pytest_crab.instances.archives import read_record
from pytest_crab.statistics.signal import BUG_HIT, LABELS, JudgedReview
from pytest_crab.text import split_lines

T = TypeVar("T")

BUGS, JUDGEMENTS = "bugs.jsonl", "judgements"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBug:
    """A bug and its pull request."""

    instance_id: str
    #: Its label in this dimension of the paper; empty: it has none.
    category: str = ""
    #: The same.
    impact: str = ""
    #: The same.
    severity: str = ""
    #: The lines that its fix changes; None: not on record.
    lines_fixed: int | None = None
    #: The comments of the pull request; None: not on record.
    pr_comments: int | None = None
    #: The description of the pull request; None: not on record.
    pr_description: str | None = None

    @property
    def labels(self) -> dict[str, str]:
        """The labels by dimension."""
        labels = {"category": self.category, "impact": self.impact, "severity": self.severity}
        return {dimension: label for dimension, label in labels.items() if label}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledComment:
    """One comment of a review as CR-Evaluator labelled it."""

    instance_id: str
    #: It may be none of the labels.
    classification: str
    reason: str = ""
    file: str = ""
    line: int | None = None
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedBugs:
    """The bugs and their reviews."""

    bugs: tuple[KnownBug, ...]
    #: The reviews of each reviewer, one for each bug.
    reviews: Mapping[str, tuple[JudgedReview, ...]]
    #: Counts of classifications that are no label.
    unknown: Mapping[str, int] = field(default_factory=dict)


def has_judged_bugs(folder: Path) -> bool:
    """Return True if ``read_judged_bugs`` reads the folder."""
    return (folder / BUGS).is_file() and (folder / JUDGEMENTS).is_dir()


def read_judged_bugs(folder: Path) -> JudgedBugs:
    """Read bugs and judgements; a pull request without a comment in a reviewer's file has an empty review.

    A comment whose classification is none of the labels is unknown, and so is then a bug that nothing else hits. Raises
    BadInput with every fault.
    """
    problems: list[str] = []
    bugs = _read_lines(folder / BUGS, KnownBug, problems)
    ids = [bug.instance_id for bug in bugs]
    problems += [f"{BUGS}: {name} is there {count} times" for name, count in Counter(ids).items() if count > 1]
    reviews, unknown = {}, Counter[str]()
    for path in sorted((folder / JUDGEMENTS).glob("*.jsonl")):
        comments = _read_lines(path, LabelledComment, problems)
        for strange in sorted({one.instance_id for one in comments} - set(ids)):
            problems.append(f"{JUDGEMENTS}/{path.name}: {strange} is not in {BUGS}")
        unknown.update(one.classification for one in comments if one.classification not in LABELS)
        own: dict[str, list[str | None]] = {name: [] for name in ids}
        for one in comments:
            own.setdefault(one.instance_id, []).append(one.classification if one.classification in LABELS else None)
        reviews[path.stem] = tuple(_review(bug, own[bug.instance_id]) for bug in bugs)
    if not problems and not (bugs and reviews):
        problems.append(f"it should hold bugs in {BUGS} and a reviewer's comments in {JUDGEMENTS}/<reviewer>.jsonl")
    if problems:
        raise BadInput(str(folder), problems)
    return JudgedBugs(bugs=tuple(bugs), reviews=reviews, unknown=dict(unknown))


def _review(bug: KnownBug, labels: list[str | None]) -> JudgedReview:
    hit = True if BUG_HIT in labels else None if None in labels else False
    return JudgedReview(findings=labels, bugs=[hit], bug_labels=[bug.labels])


def _read_lines(path: Path, cls: type[T], problems: list[str]) -> list[T]:
    try:
        lines = split_lines(path.read_bytes())
    except OSError as error:
        problems.append(f"{path.name}: it cannot be read ({error.strerror})")
        return []
    rows = [
        read_record(line, cls, problems, f"{path.name}, line {number}")
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    return [row for row in rows if row is not None]
