"""The comments that are worth reading first, each with the trial to open and the reason."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_crab.formats import format_count, format_names
from pytest_crab.results.comparisons import MAJORITY
from pytest_crab.results.explained import LookFirst
from pytest_crab.results.gate_record import Gate
from pytest_crab.results.outcomes import OracleRecord
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.statistics.comparison import Key
from pytest_crab.text import label_words
from pytest_crab.types import Category, Kind, TrialId

#: The most comments of one kind, and the most reviewers that are named.
MOST, NAMED = 15, 3

#: The usual words for how much a comment matters, those that matter most first, and the categories likewise.
_SEVERITIES = ("critical", "blocker", "high", "major", "medium", "minor", "low")
_CATEGORIES = (
    Category.SECURITY,
    Category.FUNCTIONAL,
    Category.ERROR_HANDLING,
    Category.ROBUSTNESS,
    Category.COMPATIBILITY,
    Category.EFFICIENCY,
    Category.DESIGN,
    Category.MAINTAINABILITY,
    Category.TESTING,
    Category.DOCUMENTATION,
)

#: What puts one comment before another, in words.
RULE = (
    "First the gravest comment of each kind, then the others by severity, where the set has it, and category: security "
    "first, documentation last."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A comment to look at."""

    #: The name of its trial.
    trial: str
    instance: str
    comment: str
    #: Its kind in a word or two.
    kind: str
    #: The word that names the colour of its kind.
    outcome: str
    #: The reason to look at it.
    why: str
    labels: str = ""

    @property
    def key(self) -> Key:
        """The instance and the comment."""
        return self.instance, self.comment


@dataclass(frozen=True, slots=True)
class Looks:
    """The comments to look at."""

    #: Those to read first, in this order.
    comments: tuple[Look, ...]
    #: How many comments all missed: more than are named where they are many.
    missed: int

    @property
    def limit(self) -> str:
        """Say that not all missed comments are named, where that is so; else an empty text."""
        return (
            f"{MOST} of the {self.missed} comments that all missed are here; the list of trials leads to the others."
            if self.missed > MOST
            else ""
        )


#: The oracle and value of one comment by reviewer.
_Row = dict[str, tuple[OracleRecord, float]]

#: As a float, which is compared many times.
_MAJORITY = float(MAJORITY)


def find_looks(
    reviewers: Iterable[ReviewerSummary],
    compared: Iterable[str],
    gate: Gate | None,
    told: Iterable[LookFirst],
    *,
    strict: bool,
) -> Looks:
    """Return what a gate saw lost, what all missed, findings without a catch, and where reviewers disagree.

    RULE says in which order. ``compared`` are the names of those who can miss and disagree, ``told`` the explanations
    to look at. ``strict``: what is unknown is missed.
    """
    oracles = {own.reviewer: own.oracles for own in reviewers}
    labels = {oracle.key: oracle.labels for own in oracles.values() for oracle in own}
    rows = _rows(oracles, compared, strict=strict)
    missed = [key for key, row in rows.items() if not any(value for _, value in row.values())]
    apart = [key for key, row in rows.items() if len({value >= _MAJORITY for _, value in row.values()}) > 1]

    def weight(one: Look) -> tuple[int, int, bool, Key]:
        return _weight(one.key, labels.get(one.key, {}))

    seen: set[Key] = set()

    def foremost(found: Iterable[Look]) -> list[Look]:
        fresh = {one.key: one for one in found if one.key not in seen}
        seen.update(fresh)
        return sorted(fresh.values(), key=weight)[:MOST]

    lost, near = foremost(_lost(gate)), foremost(_looks_at(told))
    kinds = (
        lost,
        foremost(_missed(key, rows[key]) for key in missed),
        near,
        foremost(_apart(key, rows[key]) for key in apart),
    )
    first = [one for kind in kinds for one in kind[:1]]
    others = sorted((one for kind in kinds for one in kind[1:]), key=weight)
    return Looks(
        tuple(dataclasses.replace(one, labels=label_words(labels.get(one.key, {}))) for one in (*first, *others)),
        len(missed),
    )


def _rows(oracles: Mapping[str, Sequence[OracleRecord]], compared: Iterable[str], *, strict: bool) -> dict[Key, _Row]:
    """Return what each of these reviewers made of each comment, where that is known."""
    found: dict[Key, _Row] = {}
    for name in compared:
        for oracle in oracles[name]:
            value = oracle.value(strict=strict)
            if value is not None:
                found.setdefault(oracle.key, {})[name] = oracle, float(value)
    return found


def _lost(gate: Gate | None) -> Iterator[Look]:
    for name, comparison in gate.comparisons.items() if gate is not None else ():
        reviewer, _, other = name.partition(" against ")
        for instance, _, comment in (oracle.rpartition("::") for oracle in comparison.lost):
            yield Look(
                trial=str(TrialId(instance, reviewer, 1)),
                instance=instance,
                comment=comment,
                kind="lost",
                outcome="missed",
                why=f"lost by {reviewer} against {other or 'the baseline'}",
            )


def _looks_at(found: Iterable[LookFirst]) -> Iterator[Look]:
    for one in found:
        trial = TrialId.parse(one.trial)
        yield Look(
            trial=one.trial,
            instance=trial.instance,
            comment=one.comment,
            kind=one.outcome or "not resolved",
            outcome="missed",
            why=f"a finding of {trial.reviewer} lies near it: {one.why}",
        )


def _missed(key: Key, row: _Row) -> Look:
    who = f"all {format_count(len(row), 'reviewer')}" if len(row) > NAMED else _names([*row])
    kind = "missed by all" if len(row) > 1 else "missed"
    return _look(key, row, next(iter(row)), kind, "missed", f"missed by {who}")


def _apart(key: Key, row: _Row) -> Look:
    caught = [name for name, (_, value) in row.items() if value >= _MAJORITY]
    missed = [name for name in row if name not in caught]
    why = f"caught by {_names(caught)}, missed by {_names(missed)}"
    return _look(key, row, missed[0], "reviewers disagree", "some", why)


def _names(names: Sequence[str]) -> str:
    return format_names(names, NAMED)


def _look(key: Key, row: _Row, reviewer: str, kind: str, outcome: str, why: str) -> Look:
    oracle, _ = row[reviewer]
    repeat = oracle.repeats[0] if oracle.repeats else 1
    instance, comment = key
    trial = str(TrialId(instance, reviewer, repeat))
    return Look(trial=trial, instance=instance, comment=comment, kind=kind, outcome=outcome, why=why)


def _weight(key: Key, labels: Mapping[str, str]) -> tuple[int, int, bool, Key]:
    """Return what puts comments that matter more before others."""
    severity, category = labels.get("severity", "").lower(), labels.get("category", "")
    return (
        _SEVERITIES.index(severity) if severity in _SEVERITIES else len(_SEVERITIES),
        _CATEGORIES.index(category) if category in _CATEGORIES else len(_CATEGORIES),
        labels.get("kind") != Kind.BEHAVIORAL.value,
        key,
    )
