"""Count a set's oracles by category, kind and so on, and the accepts and rejects that they are checked against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_crab import diffs
from pytest_crab.curation.select import CHANGED_LINES
from pytest_crab.formats import format_count
from pytest_crab.instances.files import diff_text
from pytest_crab.instances.oracle_errors import OracleErrors, error_rate
from pytest_crab.protocols import Snapshot
from pytest_crab.types import Category, Comment, Instance, Kind, OracleError

#: Upper bounds of the sizes of pull requests, in changed lines.
_SIZES = (20, 50, 100, 200, 500)
_UNKNOWN = "unknown"

#: With fewer other right fixes or near misses than this, how strict and sharp an oracle is says little.
ENOUGH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedInstance:
    """An instance with its size."""

    instance: Instance
    #: The number of lines that its pull request changes; None if its source is not on this machine.
    changed: int | None


def count_changed_lines(instance: Instance, snapshot: Snapshot | None = None) -> int | None:
    """Return how many lines the pull request changes; None where only its source, not here, says so."""
    head = instance.source.diffs.get("head")
    if head is not None:
        return sum(diffs.counts(diff_text(instance, head)))
    if snapshot is not None:
        return sum(diffs.counts(snapshot.pull_request_diff()))
    told = instance.tags.get(CHANGED_LINES, "")
    return int(told) if told.isdecimal() else None


def statistics_lines(found: Sequence[SizedInstance]) -> Iterator[str]:
    """Yield the lines of a set's statistics; each counts oracles or instances, and says which."""
    oracles = [(one.instance, comment) for one in found for comment in one.instance.with_oracles]
    bare = sum(not one.instance.with_oracles for one in found)
    repos = {one.instance.repo for one in found}
    without = f", {format_count(bare, 'instance')} without an oracle" if bare else ""
    clean = sum(one.instance.clean for one in found)
    without += f", {clean} of them clean" if clean else ""
    instances, projects = format_count(len(found), "instance"), format_count(len(repos), "repository")
    yield f"{instances} of {projects}, {format_count(len(oracles), 'oracle')}{without}"
    comments = [comment for _, comment in oracles]
    yield _line("oracles by category", _in_order(Counter(str(one.category) for one in comments), map(str, Category)))
    yield _line("oracles by kind", _in_order(Counter(str(one.kind) for one in comments), map(str, Kind)))
    yield _line("oracles by runner", Counter(str(one.required_oracle.runner) for one in comments))
    yield _line("oracles by isolation", Counter(str(one.required_oracle.isolation) for one in comments))
    yield _line("oracles by language", Counter(instance.language for instance, _ in oracles))
    yield _line("instances by provenance", Counter(str(one.instance.provenance) for one in found))
    yield _line("instances by licence", Counter(one.instance.license for one in found))
    yield _line("instances by changed lines", _sizes(found))
    yield _line("instances by year of merge", _years(found))
    dates = sorted(day for one in found if (day := one.instance.pull_request.merged_at) is not None)
    if dates:
        yield f"merged from {dates[0]} to {dates[-1]}"
    yield _checks("accepts for an oracle", comments, [len(comment.accepts) for comment in comments])
    yield _checks("rejects for an oracle", comments, [len(comment.rejects) for comment in comments])


def error_lines(errors: Sequence[OracleErrors], oracles: int) -> Iterator[str]:
    """Yield the measured error rates of a set's oracles, each with its sources; nothing is yielded of nothing."""
    for error in OracleError:
        sources = dict.fromkeys(
            source for one in errors for source, own in one.measurements.items() if own.error is error
        )
        if sources:
            told = ", ".join(f"{source} {error_rate(errors, error, source)}" for source in sources)
            count = sum(any(own.error is error for own in one.measurements.values()) for one in errors)
            yield f"{error.plural} of {count} of {oracles} oracles: {told}"


def _line(heading: str, counts: Mapping[str, int]) -> str:
    return f"{heading}: {', '.join(f'{name} {count}' for name, count in counts.items()) or 'none'}"


def _in_order(counts: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    """Return every name with its count, zeros included."""
    return {name: counts.get(name, 0) for name in names}


def _sizes(found: Sequence[SizedInstance]) -> dict[str, int]:
    names = [f"up to {bound}" for bound in _SIZES]
    labels = [*names, f"over {_SIZES[-1]}", _UNKNOWN]
    counts = Counter(_size(one.changed) for one in found)
    return {label: counts[label] for label in labels if counts[label]}


def _size(changed: int | None) -> str:
    if changed is None:
        return _UNKNOWN
    return next((f"up to {bound}" for bound in _SIZES if changed <= bound), f"over {_SIZES[-1]}")


def _years(found: Sequence[SizedInstance]) -> dict[str, int]:
    days = (one.instance.pull_request.merged_at for one in found)
    counts = Counter("no date" if day is None else day[:4] for day in days)
    return dict(sorted(counts.items()))


def _checks(what: str, comments: Sequence[Comment], counts: Sequence[int]) -> str:
    if not comments:
        return f"{what}: none"
    few = sum(count < ENOUGH for count in counts)
    short = f"; {few} of {len(counts)} have fewer than {ENOUGH}" if few else ""
    return f"{what}: {sum(counts) / len(counts):.1f} on average, {min(counts)} to {max(counts)}{short}"
