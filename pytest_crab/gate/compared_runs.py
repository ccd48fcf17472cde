"""An earlier run beside a later one, or several pooled beside it: each reviewer with its counterpart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_crab.errors import BadInput
from pytest_crab.gate.baseline import BaselineComparison
from pytest_crab.gate.exit import OracleCounts
from pytest_crab.gate.pairing import ANCHOR, counterpart, full_names, pair
from pytest_crab.gate.references import load_reference
from pytest_crab.gate.resolved import decided_on
from pytest_crab.gate.terms import GateTerms
from pytest_crab.results.loading import load_summary
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import Summary


class ComparedRuns(NamedTuple):
    """Runs that were compared."""

    #: The comparisons.
    against: list[BaselineComparison]
    #: The counts of the later run's reviewers.
    counts: list[OracleCounts]
    #: The names of both reviewers, of each comparison.
    names: list[tuple[str, str]]


def compare_runs(
    before: Sequence[Path],
    after: Path,
    terms: GateTerms,
    *,
    names: Sequence[str] = (),
    anchor: Path | None = None,
    part: bool = False,
) -> ComparedRuns:
    """Compare each reviewer of a run with its counterpart in earlier ones, which are pooled, and in the anchor.

    ``names`` are the reviewers to compare (none: all), NAME or NAME=NAME. ``part``: a gate leaves out oracles that the
    later run lacks, which else are unknown in it. Raises BadInput.
    """
    references = [load_reference(before, allowed=terms.allowed, on=terms.on)]
    if anchor is not None:
        references.append(load_reference([anchor], role=ANCHOR, on=terms.on))
    second = decided_on(load_summary(after), terms.on)
    found = [(one, list(_pairs(one.summary, second, names))) for one in references]
    against = [
        pair(one.summary, was, second, now, name=one.name, terms=terms, whole=terms.gated and not part)
        for one, pairs in found
        for was, now in pairs
    ]
    own = [now for _, now in found[0][1]]
    missing = [one.comparison.only_before if one.whole and one.comparison is not None else 0 for one in against]
    counts = [OracleCounts.of(now, absent=lacking) for now, lacking in zip(own, missing, strict=False)]
    names_of = [("" if was is None else was.reviewer, now.reviewer) for _, pairs in found for was, now in pairs]
    return ComparedRuns(against, counts, names_of)


def _pairs(
    first: Summary, second: Summary, names: Sequence[str]
) -> Iterator[tuple[ReviewerSummary | None, ReviewerSummary]]:
    """Yield the reviewers of the second run, each with its counterpart in the first. Raises BadInput."""
    before, after = first.contestants, second.contestants
    named: set[str] = set()
    for name in names:
        was, _, now = name.partition("=")
        now = now or was
        if now in named:
            raise BadInput("--reviewer", [f"{now} of the second run is named twice; compare it once at a time"])
        named.add(now)
        runs = (("the first run", was, before), ("the second run", now, after))
        problems = [
            f"{run} has no reviewer {who}; it has {', '.join(sorted(known)) or 'none'}"
            for run, who, known in runs
            if who not in known
        ]
        if problems:
            raise BadInput("--reviewer", problems)
        yield before[was], after[now]
    for name, own in after.items() if not names else ():
        other = counterpart(name, full_names(before.values()), full_names(after.values()))
        yield (None if other is None else before[other]), own
    if not after:
        raise BadInput("AFTER", ["it has no reviewer to compare"])
