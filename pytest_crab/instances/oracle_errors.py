"""oracle-errors.json: how often the oracles of a set are wrong, as far as it was measured; it lies beside crab.lock."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.instances.files import file_digest
from pytest_crab.instances.set_files import read_set_table, write_set_file
from pytest_crab.locks import locked_folder
from pytest_crab.types import Comment, ErrorRate, Instance, OracleError, StrEnum

#: What the file is called.
FILE = "oracle-errors.json"


class ErrorDecision(StrEnum):
    """A person's decision on an oracle's answer: it is wrong, it is right, or the change does the same as the fix."""

    WRONG = "wrong"
    EQUIVALENT = "equivalent"
    RIGHT = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The answers of an oracle on changes from one source: near misses (it should refuse them) or right fixes."""

    error: OracleError
    #: Changes that it gave an answer on.
    total: int
    #: The answers that are errors, by name.
    wrong: tuple[str, ...] = ()
    #: Those that are errors unless a person finds otherwise, by name: an accepted mutant may do the same as the fix,
    #: and a refused resolution may be no fix.
    undecided: tuple[str, ...] = ()
    #: The digest of the oracle's file then.
    oracle: str
    date: str
    #: The number of people or models, who had not seen the oracle, that made the changes. 0: it was written or mended
    #: with them in sight, so that they check it and measure nothing.
    authors: int = 0
    #: The digest of what these authors made.
    changes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleErrors:
    """The measured errors of one oracle."""

    #: The measurements by source.
    measurements: Mapping[str, Measurement] = field(default_factory=dict)
    #: What people decided, by name.
    decisions: Mapping[str, ErrorDecision] = field(default_factory=dict)


def error_rate(errors: Iterable[OracleErrors], error: OracleError, source: str | None = None) -> ErrorRate:
    """Return the rate of one error over oracles, of one source or of all. Decided answers count as decided."""
    total = ErrorRate()
    for own in errors:
        for name, one in own.measurements.items():
            if one.error is error and source in (None, name):
                total += _rate(one, own.decisions)
    return total


def _rate(one: Measurement, decisions: Mapping[str, ErrorDecision]) -> ErrorRate:
    named = [decisions.get(name) for name in one.undecided]
    clear = [name for name in one.wrong if decisions.get(name) in (None, ErrorDecision.WRONG)]
    excused = len(one.wrong) - len(clear)
    total = one.total - excused - named.count(ErrorDecision.EQUIVALENT) - named.count(ErrorDecision.RIGHT)
    return ErrorRate(
        wrong=len(clear) + named.count(ErrorDecision.WRONG),
        undecided=named.count(None),
        total=total,
        authors=one.authors,
        repaired=0 if one.authors else total,
        dates=(one.date,),
    )


def facts_of(instance: Instance) -> dict[str, dict[str, Any]]:
    """Return by comment what is on record of its oracle, under ScoredComment's names: its digest and its fresh rates.

    An oracle that was mended until it passed these very changes has no rate: after repair it is always 0, and only
    authors who had not seen it tell one. Raises BadInput.
    """
    errors = errors_of(instance)
    digests = {one.id: oracle_digest(instance, one) for one in instance.with_oracles}
    rates = {
        name: {error.name.lower(): error_rate([_by_authors(one)], error) for error in OracleError}
        for name, one in errors.items()
    }
    return {
        name: {"oracle": digest, **{error: rate for error, rate in rates.get(name, {}).items() if rate.total}}
        for name, digest in digests.items()
    }


def _by_authors(one: OracleErrors) -> OracleErrors:
    kept = {name: own for name, own in one.measurements.items() if own.authors}
    return OracleErrors(measurements=kept, decisions=one.decisions)


def _of_today(one: OracleErrors, oracle: str) -> OracleErrors:
    kept = {name: own for name, own in one.measurements.items() if own.oracle == oracle}
    return OracleErrors(measurements=kept, decisions=one.decisions)


def oracle_digest(instance: Instance, comment: Comment) -> str:
    """Return the digest of an oracle's file."""
    return file_digest(Path(instance.folder, comment.required_oracle.file))[:16]


def read_errors(folder: Path) -> dict[str, dict[str, OracleErrors]]:
    """Return what is on record of the set in ``folder``, by instance and comment. Raises BadInput."""
    path = folder / FILE
    problem = "the file holds no error rates of this version; move it away and measure again"
    instances = read_set_table(path, "instances", problem, depth=2)
    problems: list[str] = []
    found = {
        instance: {
            comment: serialization.read(OracleErrors, entry, problems, f"{instance} {comment}")
            for comment, entry in own.items()
        }
        for instance, own in instances.items()
    }
    if problems:
        raise BadInput(str(path), problems)
    return {
        instance: {comment: one for comment, one in own.items() if one is not None} for instance, own in found.items()
    }


def recorded_errors(instance: Instance) -> dict[str, OracleErrors]:
    """Return what is on record of an instance's oracles, by comment, of earlier ones too. Raises BadInput."""
    path = Path(instance.folder).parent / FILE
    digest = None
    with suppress(OSError):  # reading says what is wrong
        digest = file_digest(path) if path.is_file() else None
    return _read_once(path.parent, digest).get(instance.id, {})


@functools.lru_cache(maxsize=16)
def _read_once(folder: Path, _digest: str | None) -> Mapping[str, dict[str, OracleErrors]]:
    """Return what ``read_errors`` does, for all trials on a set whose file stays as it is."""
    return read_errors(folder)


def errors_of(instance: Instance) -> dict[str, OracleErrors]:
    """Return what is on record of an instance's oracles, by comment: of an earlier oracle it has lapsed.

    Raises BadInput.
    """
    known = recorded_errors(instance)
    oracles = [one for one in instance.with_oracles if one.id in known]
    return {one.id: _of_today(known[one.id], oracle_digest(instance, one)) for one in oracles}


def write_measurements(folder: Path, instance: str, measured: Mapping[str, Mapping[str, Measurement]]) -> None:
    """Write measurements by comment and source into the file of the set; others stay. Raises BadInput."""
    with locked_folder(folder):
        known = read_errors(folder)
        own = known.setdefault(instance, {})
        for comment, by_source in measured.items():
            before = own.get(comment, OracleErrors())
            now = measured_again(before, by_source)
            own[comment] = dataclasses.replace(now, measurements={**before.measurements, **now.measurements})
        _write(folder, known)


def measured_again(before: OracleErrors, by_source: Mapping[str, Measurement]) -> OracleErrors:
    """Return new measurements of an oracle with the decisions on record.

    One that differs from the oracle on record, and is asked about the very same changes, was mended on them: no author
    counts any more.
    """

    def count(name: str, one: Measurement) -> Measurement:
        known = before.measurements.get(name)
        if known is None or one.changes is None or known.changes != one.changes:
            return one
        seen = known.oracle != one.oracle or not known.authors
        return dataclasses.replace(one, authors=0) if seen else one

    measurements = {name: count(name, one) for name, one in by_source.items()}
    return OracleErrors(measurements=measurements, decisions=before.decisions)


def write_decision(folder: Path, instance: str, comment: str, name: str, decision: ErrorDecision) -> None:
    """Write a person's decision on one answer. Raises BadInput, also where no such answer is on record."""
    with locked_folder(folder):
        known = read_errors(folder)
        own = known.get(instance, {}).get(comment, OracleErrors())
        answers = {answer for one in own.measurements.values() for answer in (*one.wrong, *one.undecided)}
        if name not in answers:
            raise BadInput(str(folder / FILE), [f"{instance} {comment} has no answer {name} on record"])
        known[instance][comment] = OracleErrors(
            measurements=own.measurements, decisions={**own.decisions, name: decision}
        )
        _write(folder, known)


def _write(folder: Path, known: Mapping[str, Mapping[str, OracleErrors]]) -> None:
    content: dict[str, Any] = {
        instance: {comment: serialization.dump(one) for comment, one in own.items()} for instance, own in known.items()
    }
    write_set_file(folder / FILE, {"instances": content})


def why_over(instance: Instance, limit: float) -> str | None:
    """Return why an instance has an oracle error above ``limit``, a rate; None: it has not, as far as it is known.

    The rate is over all oracles of the instance, and what is undecided counts as an error. Raises BadInput.
    """
    errors = errors_of(instance).values()
    for error in OracleError:
        rate = error_rate(errors, error)
        if rate.high is not None and rate.high > limit:
            return f"with a {error} rate above {limit:.1%}"
    return None


def is_measured(instance: Instance) -> bool:
    """Return whether false accepts of any of the instance's oracles are on record. Raises BadInput."""
    return error_rate(errors_of(instance).values(), OracleError.FALSE_ACCEPT).total > 0
