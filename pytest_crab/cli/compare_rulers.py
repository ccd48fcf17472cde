"""The compare-rulers command: stored reviews measured by several rules, and where these differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from pytest_crab.cli.judges import Asking, judge_options, labels_option, print_plan, require_judge, use_lines
from pytest_crab.cli.shared_options import (
    embedding_option,
    json_option,
    load_similarities,
    location_rule_option,
)
from pytest_crab.formats import NOTHING, format_count, format_decimal, format_percent, format_table
from pytest_crab.results.loading import trials_file
from pytest_crab.results.recorded_results import Told
from pytest_crab.results.recorded_rulers import ruler_lines
from pytest_crab.results.ruler_cells import BINARY, Cell
from pytest_crab.results.rulers import RulerComparison, RulerPair, compare_rulers as compare, reviews_of
from pytest_crab.scoring.judges import require_hits
from pytest_crab.scoring.judges.judging import labels_of, questions_of
from pytest_crab.scoring.similarity import EMBEDDING, MEASURES
from pytest_crab.show.judge_text import judge_lines
from pytest_crab.show.mediator_text import ranks_text
from pytest_crab.text import one_line

#: So many cells in which rulers differ are printed, unless --all asks for each.
SHOWN = 10


@click.command("compare-rulers")
@click.argument("report", type=click.Path(exists=True, path_type=Path))
@click.option("--similarity", is_flag=True, help="Also BLEU-4, ROUGE-L and chrF (the extra pytest-crab[similarity]).")
@embedding_option("Also the cosine of embeddings by this sentence-transformers model.")
@location_rule_option
@click.option("--judge", "judges", multiple=True, metavar="NAME", help="Also this judge of crab.yaml; repeatable.")
@judge_options
@labels_option
@click.option("--all", "everything", is_flag=True, help="Print every comment on which rulers differ.")
@json_option
def compare_rulers(
    report: Path,
    *,
    similarity: bool,
    embedding: str | None,
    rule: str,
    judges: tuple[str, ...],
    asking: Asking,
    labels: str | None,
    everything: bool,
) -> Told | None:
    """Measure the reviews that REPORT holds by tests, by location, by similarity and by judges.

    REPORT is a report's folder, a store, or a trials.jsonl. Prints each reviewer's rate by each ruler, how far the
    rulers rank reviewers alike (Kendall's tau-b), and the comments that one ruler counts as hit and another as missed.
    Only a judge asks a model.
    """
    _require_rulers(judges)
    wanted = [*(MEASURES if similarity else ()), *([f"{EMBEDDING}{embedding}"] if embedding is not None else [])]
    measures = load_similarities(wanted)
    file = trials_file(report)
    trials = reviews_of(file)
    with asking.open(dict.fromkeys(judges)) as benches:
        for bench in benches:
            require_hits(bench.judge, bench.name)
        if asking.plan:
            questions = list(questions_of(trials, file.parent))
            for bench in benches:
                print_plan(bench, questions, check=asking.check)
            return None
        known = [None if labels is None else labels_of(trials, labels, bench.judge.labels) for bench in benches]
        found = compare(file, similarities=measures, judges=benches, location_rule=rule)
        uses = [
            asking.use(bench, judged.findings, own)
            for bench, judged, own in zip(benches, found.judged, known, strict=True)
        ]
        found = dataclasses.replace(found, judges=tuple(uses))
    return found, _lines(found, everything=everything)


def _require_rulers(judges: Sequence[str]) -> None:
    if taken := {*BINARY, *MEASURES} & {*judges}:
        raise click.UsageError(f"--judge {min(taken)}: a ruler has this name; give the judge another in crab.yaml")
    require_judge(named=bool(judges))


def _lines(found: RulerComparison, *, everything: bool) -> Iterator[str]:
    most = len(found.differing) if everything else SHOWN
    reviews, rulers = format_count(found.trials, "review"), format_count(len(found.rulers), "ruler")
    yield f"{reviews} by {rulers}, mean over comments (and their number); location by the rule {found.location_rule}"
    yield from _rate_table(found)
    yield from ruler_lines(found.recorded.values())
    for pair in found.pairs:
        yield _pair_line(pair)
    if found.differing:
        yield f"{format_count(len(found.differing), 'comment')} that one ruler counts as hit and another as missed:"
        for cell in found.differing[:most]:
            yield from _cell_lines(cell, found.hit_rulers)
    if len(found.differing) > most:
        yield f"and {len(found.differing) - most} more; --all prints them"
    for judged, use in zip(found.judged, found.judges, strict=True):
        yield from judge_lines(judged, by_label=everything)
        yield from use_lines(use)


def _rate_table(found: RulerComparison) -> Iterator[str]:
    reviewers = list(dict.fromkeys(rate.reviewer for rate in found.rates))
    cells = {
        (rate.reviewer, rate.ruler): NOTHING if rate.mean is None else f"{format_percent(rate.mean)}% ({rate.comments})"
        for rate in found.rates
    }
    rows = [[reviewer, *(cells[reviewer, ruler] for ruler in found.rulers)] for reviewer in reviewers]
    yield from format_table([["reviewer", *found.rulers], *rows])


def _pair_line(pair: RulerPair) -> str:
    if pair.ranks.tau is None:
        ranks = f"no rank agreement of {format_count(pair.reviewers, 'reviewer')}"
    else:
        ranks = f"tau-b {ranks_text(pair.ranks)} over {format_count(pair.reviewers, 'reviewer')}"
    if pair.both is None or pair.only_one is None or pair.only_other is None:
        return f"{pair.one} and {pair.other}: {ranks}"
    agree = "" if pair.kappa is None else f", kappa {format_decimal(pair.kappa)}"
    counts = f"{pair.both} hit by both, {pair.only_one} by {pair.one} alone, {pair.only_other} by {pair.other} alone"
    shares = [
        f"{loser} misses {format_percent(share)}% of what {ruler} hits"
        for ruler, loser, share in (
            (pair.one, pair.other, pair.missed_by_other),
            (pair.other, pair.one, pair.missed_by_one),
        )
        if share is not None
    ]
    counted = f"{counts}, {pair.neither} by neither{agree}"
    return f"{pair.one} and {pair.other}: {'; '.join([ranks, counted, *shares])}"


def _cell_lines(cell: Cell, rulers: Sequence[str]) -> Iterator[str]:
    known = {ruler: value for ruler, value in cell.values.items() if ruler in rulers and value is not None}
    hits = {ruler: "hit" if value else "missed" for ruler, value in known.items()}
    said = ", ".join(f"{ruler} {hit}" for ruler, hit in hits.items())
    again = f"[{cell.repeat}]" if cell.repeat > 1 else ""
    yield f"  {one_line(f'{cell.instance}::{cell.reviewer}{again} {cell.comment}: {said}', 500)}"
    if cell.text is not None:
        yield f"    comment: {one_line(cell.text, 120)}"
    if cell.matched is not None:
        yield f"    finding: {one_line(cell.matched, 120)}"
