"""Submissions to AACR-Bench's leaderboard: one JSON file for each pull request, in a folder for each reviewer.

They are read beside the leaderboard's own comments (``aacr_bench.jsonl``) or in an imported set, below ``recorded/``,
and written from the reviews of a run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.benchmarks.aacr.reader import in_order
from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instances
from pytest_crab.instances.archives import read_record, to_record
from pytest_crab.instances.native import new_set
from pytest_crab.instances.recorded import FOLDER as RECORDED
from pytest_crab.scoring.stored_reviews import KnownComment, StoredReview
from pytest_crab.text import split_lines
from pytest_crab.types import Finding, GitSource, Instance, Review, Side, Trial, Usage

#: The leaderboard's comments.
GOLD = "aacr_bench.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceComment:
    """One of the leaderboard's comments."""

    path: str
    text: str
    start_line: int | None = None
    end_line: int | None = None
    side: Side = Side.RIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencePull:
    """One of the leaderboard's pull requests."""

    instance_id: str
    repo: str
    base_commit: str
    head_commit: str
    reference_comments: tuple[ReferenceComment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedComment:
    """One finding of a submission."""

    path: str
    content: str
    #: Null in the submission where it is not stated.
    start_line: int | None = None
    #: The same.
    end_line: int | None = None
    side: Side

    @property
    def finding(self) -> Finding:
        """The finding. Raises ValueError for lines that are none."""
        start, end = self.start_line, self.end_line
        return Finding(body=self.content, path=self.path or None, start=start, end=end, side=self.side)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedReview:
    """The review of a submission."""

    comments: tuple[SubmittedComment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One file of a submission, without its review."""

    instance_id: str
    repo: str
    base_commit: str
    head_commit: str
    started_at: str
    duration_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownPull:
    """The pull request that submissions are compared with."""

    repo: str
    head: str | None
    comments: tuple[KnownComment, ...]


def has_submissions(folder: Path) -> bool:
    """Return True if ``read_submissions`` reads the folder."""
    return (folder / GOLD).is_file() or next(_in_set(folder), None) is not None


def read_submissions(folder: Path) -> list[StoredReview]:
    """Return every submission in a checkout of the leaderboard or in a set; a pull request without one is a miss.

    Raises BadInput with every fault, also for submissions on another version of the data.
    """
    problems: list[str] = []
    if (folder / GOLD).is_file():
        known = _read_gold(folder / GOLD, problems)
        paths = [path for path in sorted(folder.glob("*/*.json")) if "@" in path.stem]
    else:
        known = {one.id: _from_instance(one) for one in load_instances(folder)}
        paths = list(_in_set(folder))
    found: dict[str, dict[str, tuple[Finding, ...]]] = {}
    for path in paths:
        where = path.relative_to(folder).as_posix()
        submission = _read_submission(path, known, problems, where)
        if submission is not None:
            found.setdefault(path.parent.name, {})[submission[0]] = submission[1]
    if problems:
        raise BadInput(str(folder), problems)
    if not found:
        raise BadInput(str(folder), ["it has no submission: a folder with a file <instance id>.json for each review"])
    return [
        _review(reviewer, name, pull, own.get(name)) for reviewer, own in found.items() for name, pull in known.items()
    ]


@dataclass(slots=True)
class SubmissionExport:
    """The report of an export."""

    #: The number of files that were written.
    files: int = 0
    #: Pull requests without a review.
    missing: list[str] = field(default_factory=list)
    #: Reviews whose tokens were not measured: the format has no word for that, and 0 is written.
    without_usage: int = 0


def export_submissions(trials: Iterable[Trial], instances: Sequence[Instance], out: Path) -> SubmissionExport:
    """Write the reviews of these instances into the new folder ``out``, in the leaderboard's format.

    Raises BadInput where there is none, for findings that are not on record, and for an instance without commits.
    """
    done = SubmissionExport()
    reviews = {trial.instance: trial for trial in trials}
    with new_set(out) as aside:
        for instance in instances:
            if instance.source.git is None:
                raise BadInput(instance.id, ["it is no pull request of a repository, so it has no commits to name"])
            trial = reviews.get(instance.id)
            if trial is None or trial.review is None:
                done.missing.append(instance.id)
                continue
            if trial.review.count:
                raise BadInput(str(trial.id), ["the texts of its findings are not on record"])
            content = _submission(instance, instance.source.git, trial, trial.review)
            text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
            (aside / f"{instance.id}.json").write_text(text + "\n", "utf-8")
            usage = trial.review.usage
            done.files += 1
            done.without_usage += usage is None or None in (usage.input_tokens, usage.output_tokens)
        if not done.files:
            raise BadInput(str(out), ["no pull request of the set has a review by this reviewer"])
    return done


def _submission(instance: Instance, source: GitSource, trial: Trial, review: Review) -> dict[str, Any]:
    usage = review.usage or Usage()
    read, written = usage.input_tokens or 0, usage.output_tokens or 0
    return {
        "instance_id": instance.id,
        "repo": instance.repo,
        "base_commit": source.base,
        "head_commit": source.head,
        "started_at": trial.started or "not on record",
        "duration_seconds": round(sum(step.seconds for step in trial.steps if step.step == "review"), 3),
        "review": {
            "summary": {"total_tokens": read + written, "input_tokens": read, "output_tokens": written},
            "comments": [_comment(finding) for finding in review.findings],
            "stderr": "",
        },
    }


def _comment(finding: Finding) -> dict[str, Any]:
    return {
        "path": finding.path or "",
        "content": "\n\n".join(text for text in (finding.title, finding.body) if text),
        "start_line": finding.start,
        "end_line": finding.start if finding.end is None else finding.end,
        "side": str(finding.side),
    }


def _in_set(folder: Path) -> Iterator[Path]:
    """Yield the recorded results in a set that are submissions."""
    for path in sorted((folder / RECORDED).glob("*/*.json")):
        try:
            data = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(data, dict) and "instance_id" in data:
            yield path


def _read_gold(path: Path, problems: list[str]) -> dict[str, _KnownPull]:
    found: dict[str, _KnownPull] = {}
    for number, line in enumerate(split_lines(path.read_bytes()), 1):
        where = f"{path.name}, line {number}"
        row = read_record(line, ReferencePull, problems, where)
        if row is None:
            continue
        if row.instance_id in found:
            problems.append(f"{where}: {row.instance_id} is there twice; one should go")
        comments = tuple(_known_comment(one, row.repo) for one in row.reference_comments)
        found[row.instance_id] = _KnownPull(repo=row.repo, head=row.head_commit, comments=comments)
    return found


def _known_comment(one: ReferenceComment, repo: str) -> KnownComment:
    lines = in_order(one.start_line, one.end_line)
    return KnownComment(body=one.text, path=one.path, lines=lines, side=one.side, labels={"repo": repo})


def _from_instance(instance: Instance) -> _KnownPull:
    comments = tuple(
        KnownComment(body=one.body, path=one.path, lines=one.lines, side=one.side, labels=one.dimensions)
        for one in instance.comments
    )
    head = None if instance.source.git is None else instance.source.git.head
    return _KnownPull(repo=instance.repo, head=head, comments=comments)


def _read_submission(
    path: Path, known: Mapping[str, _KnownPull], problems: list[str], where: str
) -> tuple[str, tuple[Finding, ...]] | None:
    """Return the instance and the findings of a file; None with a sentence where it is no submission on these."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        problems.append(f"{where}: it cannot be read as JSON ({error})")
        return None
    found = to_record(data, Submission, problems, where)
    if found is None:
        return None
    review = to_record(data.get("review", {}), SubmittedReview, problems, f"{where}: review")
    pull = known.get(found.instance_id)
    fault = None
    if found.instance_id != path.stem:
        fault = "instance_id should be the name of the file"
    elif pull is None:
        fault = f"{found.instance_id} is no pull request of this version of the data"
    elif pull.head is not None and pull.head != found.head_commit:
        fault = f"head_commit is {found.head_commit[:12]}, and {pull.head[:12]} here: another version of the data"
    findings: list[Finding] = []
    for number, one in enumerate(() if review is None else review.comments):
        try:
            findings.append(one.finding)
        except ValueError as error:
            fault = fault or f"comment {number}: {error}"
    if fault is not None:
        problems.append(f"{where}: {fault}")
    return None if review is None or fault is not None else (found.instance_id, tuple(findings))


def _review(reviewer: str, name: str, pull: _KnownPull, findings: tuple[Finding, ...] | None) -> StoredReview:
    return StoredReview(
        reviewer=reviewer,
        instance=name,
        repo=pull.repo,
        pull_request=serialization.digest([name, pull.head]),
        comments=pull.comments,
        findings=findings,
    )
