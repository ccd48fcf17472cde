"""A report of matched reviews as lines of text: tables 3, 4 and 10 and figure 3 of arXiv 2601.19494 as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_crab.benchmarks.aacr.match_rates import MatchRates
from pytest_crab.benchmarks.aacr.matching import MatchReport, ReviewerMatches, match_reviews
from pytest_crab.benchmarks.aacr.submissions import has_submissions, read_submissions
from pytest_crab.formats import format_count, format_decimal, format_percent, format_table
from pytest_crab.results.recorded_results import RecordedResults, Told
from pytest_crab.text import one_line

#: The dimensions of the paper's figure 3, table 4 and table 10.
PAPER_DIMENSIONS = ("language", "context", "category")

#: So many reasons of unknown pairs are printed.
_SHOWN = 3

_COUNTS = ("reviewer", "reviews", "findings", "per PR", "per patch")
_RATES = ("recall", "precision", "F1")


def match_lines(found: MatchReport, dimensions: Sequence[str] = ()) -> Iterator[str]:
    """Yield the tables, rates in percent; ``dimensions`` are those to slice by, the paper's if there are none."""
    judge = "concerns were not compared" if found.judge is None else f"concerns by {one_line(found.judge)}"
    yield f"matched by the rule {found.rule}, {judge}; rates in percent"
    semantic = found.judge is not None
    heads = (*_COUNTS, *(f"line {name}" for name in _RATES), *((*_RATES, "noise") if semantic else ()))
    yield from format_table([heads, *(_overall(one, semantic=semantic) for one in found.reviewers)])
    for one in found.reviewers:
        yield from _remarks(one, semantic=semantic)
    if found.left_out:
        yield f"  {format_count(found.left_out, 'trial')} without a review on record, which count neither way"
    if found.unplaced:
        yield f"  {format_count(found.unplaced, 'comment')} on no file, which count neither way: they have no place"
    if found.dropped:
        yield f"  {format_count(found.dropped, 'pull request')} without a finding not counted, as the rule has it"
    for reason, count in list(found.unknown.items())[:_SHOWN]:
        yield f"  {count} of {found.pairs} pairs unknown: {one_line(reason, 200)}"
    known = {dimension for one in found.reviewers for dimension in one.by_label}
    for dimension in [name for name in dimensions or PAPER_DIMENSIONS if name in known]:
        yield ""
        yield f"by {one_line(dimension)}, {'place and concern' if semantic else 'place'}:"
        yield from _slices(found.reviewers, dimension, semantic=semantic)


def _overall(one: ReviewerMatches, *, semantic: bool) -> list[str]:
    counts = [str(one.reviews), str(one.findings), format_decimal(one.per_pull_request), format_decimal(one.per_patch)]
    rates = _rates(one.overall.line)
    if semantic:
        rates += [*_rates(one.overall.semantic), format_percent(one.overall.noise.value)]
    return [one.reviewer, *counts, *rates]


def _remarks(one: ReviewerMatches, *, semantic: bool) -> Iterator[str]:
    name = one_line(one.reviewer, 60)
    if one.absent:
        yield f"  {name}: {format_count(one.absent, 'pull request')} without a review, whose comments count as missed"
    rates = one.overall.semantic if semantic else one.overall.line
    for label, measure in zip(_RATES, (rates.recall, rates.precision), strict=False):
        if measure.undefined is not None:
            yield f"  {name}: {label} is undefined, {measure.undefined}"
    if semantic and (one.overall.unknown_findings or one.overall.unknown_comments):
        findings = format_count(one.overall.unknown_findings, "finding")
        comments = format_count(one.overall.unknown_comments, "comment")
        yield f"  {name}: not known of {findings} and {comments}, which do not count"


def _slices(reviewers: Sequence[ReviewerMatches], dimension: str, *, semantic: bool) -> Iterator[str]:
    """Yield the table of a dimension; recall alone where no finding has a label of it."""
    rows = [
        (one.reviewer, label, measures.semantic if semantic else measures.line)
        for one in reviewers
        for label, measures in one.by_label.get(dimension, {}).items()
    ]
    both = any(rates.findings for _, _, rates in rows)
    shown = len(_RATES) if both else 1
    yield from format_table(
        [
            ("reviewer", dimension, "comments", *_RATES[:shown]),
            *((name, label, str(rates.comments), *_rates(rates)[:shown]) for name, label, rates in rows),
        ]
    )
    if not both:
        yield f"  precision and F1 are undefined: no finding has a label of {one_line(dimension)}"


def _rates(rates: MatchRates) -> list[str]:
    return [format_percent(measure.value) for measure in (rates.recall, rates.precision, rates.f1)]


def recorded(folder: Path) -> RecordedResults | None:
    """Return the submissions in a checkout of the leaderboard or in a set; None where there is none."""
    if not has_submissions(folder):
        return None

    def report() -> Told:
        matched = match_reviews(read_submissions(folder), "paper")
        return matched, match_lines(matched)

    return RecordedResults(report=report, reviews=lambda: (read_submissions(folder), ""))
