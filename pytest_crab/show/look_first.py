"""The comments that are worth reading first, each with the trial to open and the reason."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_crab.formats import format_count, format_names
from pytest_crab.results.comparisons import MAJORITY
from pytest_crab.results.outcomes import OracleRecord
from pytest_crab.results.summary import Summary
from pytest_crab.statistics.comparison import Key
from pytest_crab.text import label_words
from pytest_crab.types import Kind, TrialId

#: The most comments of one kind, of these the first that come before all others, and the most reviewers that are named.
MOST, FOREMOST, NAMED = 15, 1, 3

#: The usual words for how much a comment matters, those that matter most first.
_SEVERITIES = ("critical", "blocker", "high", "major", "medium", "minor", "low")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A comment to look at: the name of its trial, its kind in a word or two with the colour's, and the reason."""

    trial: str
    instance: str
    comment: str
    kind: str
    outcome: str
    why: str
    labels: str = ""
    text: str = ""


def find_looks(summary: Summary, text: Callable[[Key], str]) -> list[Look]:
    """Return what to read first: findings that led to nothing, comments that all missed, and where reviewers disagree.

    The first of each kind come before the others. ``text`` returns the beginning of a comment.
    """
    told = list(_told(summary, text))
    known = {(one.instance, one.comment) for one in told}
    rows = {key: own for key, own in _contested(summary).items() if key not in known}
    missed = [key for key, own in rows.items() if not any(value for _, value in own.values())]
    apart = [key for key, own in rows.items() if len({value >= MAJORITY for _, value in own.values()}) > 1]
    kinds = [
        told,
        [_missed(rows[key], text(key)) for key in sorted(missed, key=lambda key: _weight(rows[key]))[:MOST]],
        [_apart(rows[key], text(key)) for key in sorted(apart, key=lambda key: _evenness(rows[key]))[:MOST]],
    ]
    return [
        *itertools.chain(*(kind[:FOREMOST] for kind in kinds)),
        *itertools.chain(*(kind[FOREMOST:] for kind in kinds)),
    ]


#: The oracle and value of one comment by reviewer.
_Row = dict[str, tuple[OracleRecord, float]]


def _contested(summary: Summary) -> dict[Key, _Row]:
    """Return what each reviewer that is compared with others made of each comment, where that is known."""
    found: dict[Key, _Row] = {}
    for name in summary.together.reviewers:
        for oracle in summary.contestants[name].oracles:
            value = oracle.value(strict=summary.errors_as_misses)
            if value is not None:
                found.setdefault(oracle.key, {})[name] = oracle, float(value)
    return found


def _told(summary: Summary, text: Callable[[Key], str]) -> Iterator[Look]:
    for one in summary.look_first[:MOST]:
        trial = TrialId.parse(one.trial)
        yield Look(
            trial=one.trial,
            instance=trial.instance,
            comment=one.comment,
            kind=one.outcome or "not resolved",
            outcome="missed",
            why=f"a finding of {trial.reviewer} lies near it: {one.why}",
            text=text((trial.instance, one.comment)),
        )


def _missed(row: _Row, text: str) -> Look:
    who = f"missed by all {format_count(len(row), 'reviewer')}" if len(row) > NAMED else f"missed by {_names([*row])}"
    return _look(row, next(iter(row)), "missed by all" if len(row) > 1 else "missed", "missed", who, text)


def _apart(row: _Row, text: str) -> Look:
    caught = [name for name, (_, value) in row.items() if value >= MAJORITY]
    missed = [name for name in row if name not in caught]
    why = f"caught by {_names(caught)}, missed by {_names(missed)}"
    return _look(row, missed[0], "reviewers disagree", "some", why, text)


def _names(names: Sequence[str]) -> str:
    return format_names(names, NAMED)


def _look(row: _Row, reviewer: str, kind: str, outcome: str, why: str, text: str) -> Look:
    oracle, _ = row[reviewer]
    repeat = oracle.repeats[0] if oracle.repeats else 1
    return Look(
        trial=str(TrialId(oracle.instance, reviewer, repeat)),
        instance=oracle.instance,
        comment=oracle.comment,
        kind=kind,
        outcome=outcome,
        why=why,
        labels=label_words(oracle.labels),
        text=text,
    )


def _weight(row: _Row) -> tuple[int, bool, Key]:
    """Return what puts comments that matter more before others."""
    oracle, _ = next(iter(row.values()))
    word, kind = oracle.labels.get("severity", "").lower(), oracle.labels.get("kind")
    rank = _SEVERITIES.index(word) if word in _SEVERITIES else len(_SEVERITIES)
    return rank, kind != Kind.BEHAVIORAL.value, oracle.key


def _evenness(row: _Row) -> tuple[float, tuple[int, bool, Key]]:
    """Return what puts comments that divide the reviewers most evenly before others."""
    caught = sum(value >= MAJORITY for _, value in row.values())
    return abs(caught / len(row) - 0.5), _weight(row)
