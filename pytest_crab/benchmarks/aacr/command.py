"""The match command: stored reviews against known comments by place and by concern, as AACR-Bench measures them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import click

from pytest_crab.benchmarks.aacr.match_text import match_lines
from pytest_crab.benchmarks.aacr.matching import (
    EQUAL_TEXTS,
    MatchReport,
    category_questions,
    concern_questions,
    equal_texts,
    match_reviews,
    with_categories,
)
from pytest_crab.benchmarks.aacr.submissions import has_submissions, read_submissions
from pytest_crab.cli.judges import Asking, judge_options, print_plan, require_judge, use_lines
from pytest_crab.cli.shared_options import json_option, location_rule_option
from pytest_crab.formats import format_names
from pytest_crab.results.loading import trials_file
from pytest_crab.results.match_sources import count_without_review, stored_reviews
from pytest_crab.results.recorded_results import Told
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.judges.label_judges import CATEGORIES, CONCERNS
from pytest_crab.scoring.stored_reviews import StoredReview


@click.command()
@click.argument("place", type=click.Path(exists=True, path_type=Path))
@location_rule_option
@click.option(
    "--judge", metavar="NAME",
    help=f"The same-concern judge of crab.yaml that compares; {EQUAL_TEXTS} compares the texts without a model.",
)  # fmt: skip
@click.option(
    "--categories", metavar="NAME",
    help="The issue-category judge of crab.yaml that names each finding's category, for precision by category.",
)  # fmt: skip
@click.option("--by", "dimensions", multiple=True, metavar="DIMENSION", help="Slice by this dimension; repeatable.")
@judge_options
@json_option
def match(
    place: Path,
    *,
    rule: str,
    judge: str | None,
    categories: str | None,
    dimensions: tuple[str, ...],
    asking: Asking,
) -> Told | None:
    """Match the findings of stored reviews with the known comments of their pull requests.

    PLACE is a report's folder, a store or a trials.jsonl; or a checkout of AACR-Bench's leaderboard, or an imported
    set, with submissions. Prints recall, precision and F1 by place, with --judge also by place and concern, and each
    by language, context level and category.
    """
    wanted: dict[str, Sequence[str] | None] = {}
    wanted |= {} if judge is None or judge == EQUAL_TEXTS else {judge: CONCERNS}
    wanted |= {} if categories is None else {categories: tuple(CATEGORIES)}
    require_judge(named=bool(wanted))
    try:
        reviews, left_out = _reviews_at(place)
        _require_dimensions(reviews, dimensions)
        with asking.open(wanted) as benches:
            if asking.plan:
                for bench in benches:
                    compares = bench.judge.knows_hits
                    questions = concern_questions(reviews, rule) if compares else category_questions(reviews)
                    print_plan(bench, questions, check=asking.check and compares)
                return None
            found = _measure(reviews, rule, judge, benches, check=asking.check)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    found = dataclasses.replace(found, left_out=left_out)
    uses = (line for use in found.judges for line in use_lines(use))
    return found, [*match_lines(found, dimensions), *uses]


def _measure(
    reviews: list[StoredReview], rule: str, judge: str | None, benches: Sequence[JudgeBench], *, check: bool
) -> MatchReport:
    """Match with what these judges say of concerns and of categories; ``check``: also in other forms of questions."""
    decide, categories = (equal_texts if judge == EQUAL_TEXTS else None), None
    for bench in benches:
        if bench.judge.knows_hits:
            decide = bench.decide
        else:
            reviews, categories = with_categories(reviews, bench.decide), bench.name
    found = match_reviews(reviews, rule, judge, decide)
    uses = tuple(bench.use(check=check and bench.judge.knows_hits) for bench in benches)
    return dataclasses.replace(found, categories=categories, judges=uses)


def _reviews_at(place: Path) -> tuple[list[StoredReview], int]:
    """Return the reviews, and how many trials have none on record."""
    if place.is_dir() and has_submissions(place):
        return read_submissions(place), 0
    file = trials_file(place)
    return stored_reviews(file), count_without_review(file)


def _require_dimensions(reviews: list[StoredReview], dimensions: tuple[str, ...]) -> None:
    known = sorted({name for review in reviews for comment in review.comments for name in comment.labels} | {"repo"})
    for name in dimensions:
        if name not in known:
            raise click.UsageError(f"no comment has a label of {name!r}; the dimensions are {format_names(known, 20)}")
