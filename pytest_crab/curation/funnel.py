"""The funnel of curation: at each stage, the candidates that came in, and the end of each.

Every candidate that comes to a stage has exactly one fate there, and every number is a count of fates, so the numbers
of a stage add up by construction: in = kept + rejected + failed + waiting. The same holds for its comments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crab.curation.pipeline import Fate, Passage
from pytest_crab.formats import format_count, format_percent, format_table
from pytest_crab.types import PullCandidate

#: The reason of comments that went with their pull request.
WITH_PULL = "its pull request was rejected"


@dataclass(slots=True, kw_only=True)
class FateCounts:
    """Counts of fates, of candidates or of comments."""

    kept: int = 0
    failed: int = 0
    waiting: int = 0
    #: Counts the reasons of those that were rejected.
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def rejected(self) -> int:
        """The number of those that were rejected."""
        return sum(self.reasons.values())

    @property
    def entered(self) -> int:
        """The number of those that came in: each has one fate."""
        return self.kept + self.rejected + self.failed + self.waiting

    def count(self, fate: Fate, number: int, reason: str = "") -> None:
        """Add some with this fate."""
        if fate is Fate.REJECTED and number:
            self.reasons[reason] += number
        elif fate is Fate.KEPT:
            self.kept += number
        elif fate is Fate.FAILED:
            self.failed += number
        elif fate is Fate.WAITING:
            self.waiting += number


@dataclass(slots=True, kw_only=True)
class FunnelStage:
    """One stage of a funnel."""

    name: str
    pulls: FateCounts = field(default_factory=FateCounts)
    #: Before ``collect`` nothing is known of comments: those that come in there are those that it found.
    comments: FateCounts = field(default_factory=FateCounts)
    #: Sentences by candidate.
    failures: dict[str, str] = field(default_factory=dict)
    #: A reason and its detail, by candidate.
    rejections: dict[str, tuple[str, str]] = field(default_factory=dict)
    #: The whole reasons of comments that were taken out, by candidate and comment.
    dropped: dict[str, str] = field(default_factory=dict)


def count_funnel(stages: Sequence[str], walks: Iterable[Iterable[Passage]]) -> list[FunnelStage]:
    """Return the funnel of these stages from the passages of each candidate, one iterable for each."""
    rows = {name: FunnelStage(name=name) for name in stages}
    for passages in walks:
        for passage in passages:
            _count(rows[passage.stage], passage)
    return list(rows.values())


def _count(row: FunnelStage, passage: Passage) -> None:
    decision, before = passage.decision, passage.candidate
    fate = Fate.WAITING if decision is None else decision.fate
    row.pulls.count(fate, 1, "" if decision is None else decision.reason)
    if decision is None or decision.fate is Fate.FAILED:
        row.comments.count(fate, len(before.comments))
        if decision is not None:
            row.failures[before.id] = decision.detail
        return
    if decision.fate is Fate.REJECTED:
        row.rejections[before.id] = (decision.reason, decision.detail)
    for comment, reason in decision.dropped.items():
        row.comments.count(Fate.REJECTED, 1, reason.partition(": ")[0])
        row.dropped[f"{before.id} {comment}"] = reason
    if decision.candidate is not None:
        row.comments.count(Fate.KEPT, len(decision.candidate.comments))
    else:
        row.comments.count(Fate.REJECTED, _count_remaining(before, decision.dropped), WITH_PULL)


def _count_remaining(before: PullCandidate, dropped: Mapping[str, str]) -> int:
    return sum(one.comment.id not in dropped for one in before.comments)


def funnel_data(rows: Sequence[FunnelStage]) -> list[dict[str, object]]:
    """Return a funnel as plain data, the numbers that follow from others included."""
    return [
        {
            "stage": row.name,
            "pull_requests": _plain(row.pulls),
            "comments": _plain(row.comments),
            "failures": dict(sorted(row.failures.items())),
            "comment_rejections": dict(sorted(row.dropped.items())),
            "rejections": {name: ": ".join(filter(None, why)) for name, why in sorted(row.rejections.items())},
        }
        for row in rows
    ]


def _plain(counts: FateCounts) -> dict[str, object]:
    return {
        "in": counts.entered,
        "kept": counts.kept,
        "rejected": counts.rejected,
        "failed": counts.failed,
        "waiting": counts.waiting,
        "reasons": dict(counts.reasons.most_common()),
    }


def funnel_lines(rows: Sequence[FunnelStage], *, most: int = 5) -> Iterator[str]:
    """Yield a funnel as lines: a table, the reasons of each stage with an example each, and ``most`` failures."""
    head = ("stage", "in", "kept", "rejected", "failed", "waiting", "% kept", "comments in", "kept")
    table: list[tuple[str, ...]] = [head]
    for row in rows:
        pulls, comments = row.pulls, row.comments
        share = pulls.kept / pulls.entered if pulls.entered else None
        numbers = (pulls.entered, pulls.kept, pulls.rejected, pulls.failed, pulls.waiting)
        table.append((row.name, *map(str, numbers), format_percent(share), str(comments.entered), str(comments.kept)))
    yield from format_table(table)
    for row in rows:
        for reason, number in _most_common(row.pulls):
            example = _example(row, reason) if number == 1 else f"such as {_example(row, reason)}"
            yield f"{row.name}: {format_count(number, 'pull request')} rejected: {reason}; {example}"
        for reason, number in _most_common(row.comments):
            yield f"{row.name}: {format_count(number, 'comment')} rejected: {reason}"
        for name, sentence in sorted(row.failures.items())[:most]:
            yield f"{row.name}: {name} failed: {sentence}"
        if len(row.failures) > most:
            yield f"{row.name}: {len(row.failures) - most} more failed; --json has them all"


def _most_common(counts: FateCounts) -> list[tuple[str, int]]:
    return sorted(counts.reasons.items(), key=lambda pair: (-pair[1], pair[0]))


def _example(row: FunnelStage, reason: str) -> str:
    """Return the first candidate that was rejected for this reason, with what is special about it."""
    name, detail = min((name, detail) for name, (known, detail) in row.rejections.items() if known == reason)
    return f"{name} ({detail})" if detail else name
