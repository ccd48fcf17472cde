"""The score command: stored reviews scored by SWE-PRBench's rule."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_crab.benchmarks.sweprbench.measures import LABELS, RULES
from pytest_crab.benchmarks.sweprbench.scored_reviews import score_trials
from pytest_crab.benchmarks.sweprbench.scorer import word_overlap
from pytest_crab.benchmarks.sweprbench.text import prbench_lines
from pytest_crab.cli.judges import Asking, judge_options, labels_option, print_plan, use_lines
from pytest_crab.cli.shared_options import embedding_option, json_option, load_embedding
from pytest_crab.results.files import read_trials
from pytest_crab.results.loading import trials_file
from pytest_crab.results.recorded_results import Told
from pytest_crab.scoring.judges.judging import judge_agreements, labels_by_finding, labels_of, questions_of
from pytest_crab.scoring.similarity import Similarity
from pytest_crab.show.judge_text import agreement_line


@click.command()
@click.argument("report", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--judge", "judges", multiple=True, required=True, metavar="NAME", help="A judge of crab.yaml; repeatable."
)
@click.option(
    "--rule",
    type=click.Choice(RULES),
    default=RULES[0],
    show_default=True,
    help="Score as the paper says, or as its release.",
)
@embedding_option("Compare texts by this sentence-transformers model, not by their words.")
@labels_option
@judge_options
@json_option
def score(
    report: Path,
    *,
    judges: tuple[str, ...],
    rule: str,
    embedding: str | None,
    labels: str | None,
    asking: Asking,
) -> Told | None:
    """Score the reviews that REPORT holds by SWE-PRBench's equation 2, with every component.

    REPORT is a report's folder, a store, or a trials.jsonl. Nothing is reviewed again; a judge labels each finding
    against each human comment, and its judgements are stored.
    """
    similar = _similarity(embedding)
    file = trials_file(report)
    trials = list({trial.id: trial for trial in read_trials(file)}.values())
    known = None if labels is None else labels_of(trials, labels, LABELS)
    with asking.open(dict.fromkeys(judges, LABELS)) as benches:
        if asking.plan:
            questions = list(questions_of([trial for trial in trials if trial.variant is None], file.parent))
            for bench in benches:
                print_plan(bench, questions, check=asking.check)
            return None
        found = [score_trials(bench.name, trials, file.parent, bench.decide, similar, rule=rule) for bench in benches]
        uses = [asking.use(bench, own.findings, known) for bench, own in zip(benches, found, strict=True)]
    agreements = list(judge_agreements({own.judge: labels_by_finding(own.findings) for own in found}))
    lines = [f"rule {rule}; texts compared by {embedding or 'their common words'}; numbers from 0 to 1"]
    for own, use in zip(found, uses, strict=True):
        lines += [*prbench_lines(own), *use_lines(use)]
    lines += map(agreement_line, agreements)
    return {"similarity": embedding or "words", "reports": found, "agreements": agreements, "judges": uses}, lines


def _similarity(embedding: str | None) -> Similarity:
    return word_overlap if embedding is None else load_embedding(embedding)
