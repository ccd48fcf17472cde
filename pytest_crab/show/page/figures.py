"""The page's tables as plain cells: all numbers are the summary's, but for what findings are near."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from fractions import Fraction

from pytest_crab.formats import (
    NOTHING,
    format_number,
    format_percent,
)
from pytest_crab.results.comparisons import Overlap
from pytest_crab.results.outcomes import total
from pytest_crab.results.rates import Rate
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import Summary
from pytest_crab.show.page.charts import Bar
from pytest_crab.show.page.headline import parse_time
from pytest_crab.show.page.rows import near, verdict_counts
from pytest_crab.show.summary_tables import SummaryTable, label
from pytest_crab.types import UNNAMED_REPOSITORY, Category, Trial

#: What a finding is filed under that is near no comment.
ELSEWHERE = "elsewhere"

#: The most reviewers that have columns of their own; with more of them each has a row.
COLUMNS = 6


def turn(table: SummaryTable) -> SummaryTable:
    """Return a table with a row for each reviewer, where the reviewers are too many for columns."""
    if len(table.columns) <= COLUMNS:
        return table
    columns = [[name, *(cells[at + 1] for cells in table.columns)] for at, name in enumerate(table.names)]
    return SummaryTable(table.title, "Reviewer", [cells[0] for cells in table.columns], columns)


def near_words(trial: Trial) -> tuple[str, ...]:
    """Return for each of a trial's findings the category of the comment that it is near, or elsewhere."""
    findings = () if trial.review is None else trial.review.findings
    return tuple(word or ELSEWHERE for word in near(findings, trial.results))


def findings_tables(counts: Mapping[str, Counter[str]], labels: Mapping[str, str]) -> Iterator[SummaryTable]:
    """Yield the table of findings by the category of the comment that they are near, if there is any finding.

    ``counts`` and ``labels`` are by reviewer.
    """
    words = {word for own in counts.values() for word, count in own.items() if count}
    if words:
        names = [*_sort_categories(words - {ELSEWHERE}), *([ELSEWHERE] if ELSEWHERE in words else [])]
        columns = [[labels[who], *(_share(own, word) for word in names)] for who, own in counts.items()]
        yield SummaryTable("Findings by nearest comment", "Near a comment on", names, columns)


def _share(counts: Counter[str], word: str) -> str:
    total = sum(counts.values())
    return f"{counts[word]} {format_percent(counts[word] / total)}%" if total else NOTHING


def _sort_categories(words: AbstractSet[str]) -> list[str]:
    """The published categories in their order, then others by name."""
    known = [word.value for word in Category]
    return sorted(words, key=lambda word: (known.index(word) if word in known else len(known), word))


def repositories_table(summary: Summary) -> SummaryTable | None:
    """Return caught and known oracles by repository and reviewer; None where the set names fewer than two."""
    table: dict[str, dict[str, list[Fraction]]] = {}
    for reviewer in summary.reviewers:
        for oracle in reviewer.oracles:
            value = oracle.value(strict=summary.errors_as_misses)
            if value is not None and oracle.repo != UNNAMED_REPOSITORY:
                table.setdefault(oracle.repo, {}).setdefault(reviewer.reviewer, []).append(value)
    columns = [
        [label(one), *(_caught(table[repo].get(one.reviewer, [])) for repo in sorted(table))]
        for one in summary.reviewers
    ]
    return SummaryTable("Repositories", "Repository", sorted(table), columns) if len(table) > 1 else None


def _caught(values: Sequence[Fraction]) -> str:
    caught, known = float(total(values)), len(values)
    return f"{format_number(caught)}/{known} {format_percent(caught / known)}%" if known else NOTHING


def overlaps_table(summary: Summary) -> list[Overlap]:
    """Return the sets of reviewers with the oracles that they share (figure 5 of arXiv 2603.23448), largest first.

    The oracles that no reviewer caught come last.
    """
    together = summary.together
    found = sorted((one for one in together.overlaps if one.oracles), key=lambda one: -one.oracles)
    uncaught = Overlap(reviewers=(), oracles=together.oracles - together.union)
    return [*(one for one in found if one.reviewers), uncaught] if together.oracles else []


def find_priced(reviewers: Sequence[ReviewerSummary]) -> Iterator[tuple[str, float, Rate]]:
    """Yield the reviewers whose cost and rate are known, with the cost per trial."""
    for one in reviewers:
        if one.cost_usd is not None and one.overall.micro is not None and one.trials:
            yield label(one), one.cost_usd / one.trials, one.overall


def bar_of(trial: Trial) -> Bar | None:
    """Return a trial's bar on the timeline; None where its start is not on record."""
    start = parse_time(trial.started)
    if start is None:
        return None
    return Bar(
        trial=trial.id,
        start=start,
        seconds=trial.seconds,
        counts=verdict_counts(trial),
        steps=", ".join(f"{one.step} {one.seconds:.1f} s" for one in trial.steps if not one.reused),
    )
