"""The error rates of a set's oracles: by changes that a model wrote without seeing them, and by mutants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pytest_crab import serialization
from pytest_crab.curation.near_misses import IN_COMPANY, MUTANTS, NEAR_MISSES, RIGHT_FIXES
from pytest_crab.curation.set_statistics import error_lines
from pytest_crab.formats import today
from pytest_crab.instances.oracle_errors import Measurement, oracle_digest, read_errors, write_measurements
from pytest_crab.types import ChangeKind, Instance, JudgedChange, OracleError, PullCandidate

#: What a kind of change measures, and its source's name on record. A change of the company alone measures nothing.
_MEASURED = {
    ChangeKind.NEAR: (NEAR_MISSES, OracleError.FALSE_ACCEPT),
    ChangeKind.RIGHT: (RIGHT_FIXES, OracleError.FALSE_REJECT),
    ChangeKind.IN_COMPANY: (IN_COMPANY, OracleError.FALSE_REJECT_IN_COMPANY),
    ChangeKind.MUTANT: (MUTANTS, OracleError.FALSE_ACCEPT),
}


def publish_rates(out: Path, candidate: PullCandidate, instance: Instance) -> None:
    """Write into the set in ``out`` what the fresh changes of a candidate, and mutants, say of its oracles.

    An oracle was chosen by what it says of mutants, so that they have no author. Raises BadInput.
    """
    known = read_errors(out).get(instance.id, {})
    found = {}
    for one in candidate.comments:
        judged = [change for change in one.changes if change.fresh or change.kind is ChangeKind.MUTANT]
        if one.comment.oracle is None or not judged:
            continue
        digest = oracle_digest(instance, one.comment)
        own = dict(_measurements(judged, digest))
        before = known[one.comment.id].measurements if one.comment.id in known else {}
        new = {name: made for name, made in own.items() if not _is_same(before.get(name), made)}
        if new:
            found[one.comment.id] = new
    if found:
        write_measurements(out, instance.id, found)


def _is_same(before: Measurement | None, now: Measurement) -> bool:
    return before is not None and (before.oracle, before.changes) == (now.oracle, now.changes)


def _measurements(changes: Sequence[JudgedChange], digest: str) -> Iterator[tuple[str, Measurement]]:
    for kind, (source, error) in _MEASURED.items():
        own = [change for change in changes if change.kind is kind and change.held is not None]
        missed = [change for change in own if not change.held]
        surely = kind is not ChangeKind.MUTANT  # a mutant may do the same as the fix
        if own:
            yield (
                source,
                Measurement(
                    error=error,
                    total=len(own),
                    wrong=tuple(change.name for change in missed if surely and not change.disputed),
                    undecided=tuple(change.name for change in missed if not surely or change.disputed),
                    oracle=digest,
                    date=today(),
                    authors=int(surely),
                    changes=serialization.digest(sorted(change.diff for change in own))[:16],
                ),
            )


def rate_lines(out: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield the error rates of the oracles of these instances, where any was measured. Raises BadInput."""
    known = read_errors(out)
    errors = [one for name in names for one in known.get(name, {}).values()]
    yield from error_lines(errors, len(errors))
