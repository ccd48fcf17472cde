"""The sweprbench command: stored reviews scored by SWE-PRBench's rule."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click

from pytest_crab import serialization
from pytest_crab.cli.choices import embedding_option, load_embedding
from pytest_crab.cli.judges import Asking, check_option, cost_line, judge_options, labels_option, print_plan
from pytest_crab.errors import CrabError
from pytest_crab.formats import format_count
from pytest_crab.report.files import read_trials
from pytest_crab.report.judging import labels_of, questions_of
from pytest_crab.report.loading import trials_file
from pytest_crab.report.swe_prbench import LabelAgreement, label_agreements, score_trials
from pytest_crab.report.swe_prbench_text import prbench_lines
from pytest_crab.scoring.similarity import Similarity
from pytest_crab.scoring.swe_prbench import word_overlap
from pytest_crab.statistics.swe_prbench import LABELS, RULES
from pytest_crab.text import one_line


@click.command("sweprbench")
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
@check_option
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def sweprbench(
    report: Path,
    *,
    judges: tuple[str, ...],
    rule: str,
    embedding: str | None,
    labels: str | None,
    asking: Asking,
    check: bool,
    as_json: bool,
) -> None:
    """Score the reviews that REPORT holds by SWE-PRBench's equation 2, with every component.

    REPORT is a report's folder, a store, or a trials.jsonl. Nothing is reviewed again; a judge labels each finding
    against each human comment, and its judgements are stored.
    """
    similar = _similarity(embedding)
    try:
        file = trials_file(report)
        trials = list({trial.id: trial for trial in read_trials(file)}.values())
        known = None if labels is None else labels_of(trials, labels, LABELS)
        with asking.open(dict.fromkeys(judges, LABELS)) as benches:
            if asking.plan:
                questions = list(questions_of([trial for trial in trials if trial.variant is None], file.parent))
                for bench in benches:
                    print_plan(bench, questions, check=check)
                return
            found = []
            for bench in benches:
                own = score_trials(bench.name, trials, file.parent, bench.decide, similar, rule=rule, labels=known)
                bench.keep_calibration(own.calibration)
                checks = bench.check_forms() if check else ()
                found.append(dataclasses.replace(own, calibration=own.calibration or bench.calibration, checks=checks))
    except CrabError as error:
        raise click.ClickException(str(error)) from error
    agreements = list(label_agreements(found))
    if as_json:
        data = {"similarity": embedding or "words", "reports": found, "agreements": agreements}
        click.echo(json.dumps(serialization.dump(data), indent=1, allow_nan=False))
        return
    click.echo(f"rule {rule}; texts compared by {embedding or 'their common words'}; numbers from 0 to 1")
    for own, bench in zip(found, benches, strict=True):
        click.echo("\n".join([*prbench_lines(own), cost_line(bench)]))
    click.echo("\n".join(map(_agreement_line, agreements)), nl=bool(agreements))


def _similarity(embedding: str | None) -> Similarity:
    return word_overlap if embedding is None else load_embedding(embedding)


def _agreement_line(own: LabelAgreement) -> str:
    first, second = map(one_line, own.judges)
    value = "" if own.kappa is None else f", kappa {own.kappa:.3f}"
    return f"{first} and {second}: the same label for {own.agreed} of {format_count(own.findings, 'finding')}{value}"
