"""The comprehension command: the tables of CodeReviewQA's paper from stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from pytest_crab.benchmarks.codereviewqa.comprehension import comprehension as read_models
from pytest_crab.benchmarks.codereviewqa.comprehension_text import comprehension_lines
from pytest_crab.benchmarks.codereviewqa.records import FILE, ProbeRecord, read_records
from pytest_crab.cli.shared_options import json_option, parse_scales, scale_option
from pytest_crab.errors import BadInput
from pytest_crab.results.files import read_trials
from pytest_crab.results.loading import TRIALS, find_file
from pytest_crab.results.recorded_results import Told
from pytest_crab.statistics.exact_match import RULES, VARIANTS
from pytest_crab.types import Trial


@click.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@scale_option
@click.option(
    "--rule", type=click.Choice(RULES), default=RULES[0], show_default=True,
    help="Compare texts as the variants are described, or as CodeReviewQA's release does.",
)  # fmt: skip
@click.option(
    "--variant", type=click.Choice(VARIANTS), default=VARIANTS[0], show_default=True,
    help="The variant of exact match that counts.",
)  # fmt: skip
@json_option
def comprehension(reports: tuple[Path, ...], *, scales: tuple[str, ...], rule: str, variant: str) -> Told:
    """Print how well models read review comments, from runs on a set of CodeReviewQA.

    REPORTS are folders of reports, stores, or trials.jsonl and probes.jsonl files. An answerer and an agent of the same
    name count as one model.
    """
    by_name = parse_scales(scales)
    trials, answers = _read(reports)
    models = read_models(trials, answers, rule=rule, variant=variant, scales=by_name)
    if not models:
        raise click.ClickException("there are no answers to probes, and no refinement from the reviewer human")
    parse_scales(scales, [model.name for model in models])
    return models, comprehension_lines(models, rule=rule, variant=variant)


def _read(reports: Sequence[Path]) -> tuple[list[Trial], list[ProbeRecord]]:
    """Return the trials and the answers of these reports. Raises BadInput for one that has neither."""
    trials: list[Trial] = []
    answers: list[ProbeRecord] = []
    for report in reports:
        before = len(trials) + len(answers)
        if (file := find_file(report, FILE)) is not None:
            answers += read_records(file)
        if (file := find_file(report, TRIALS)) is not None:
            trials += read_trials(file)
        if len(trials) + len(answers) == before:
            raise BadInput(str(report), [f"there is no {TRIALS} and no {FILE} with records; name a report's folder"])
    return trials, answers
