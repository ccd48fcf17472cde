"""The commands on stored runs: results of answerers, and the tables of CodeReviewQA's paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from pytest_crab.benchmarks.codereviewqa.comprehension import (
    ALL,
    TASKS,
    ModelComprehension,
    comprehension as read_models,
    scale_headings,
)
from pytest_crab.benchmarks.codereviewqa.exact_match import RULES, VARIANTS
from pytest_crab.benchmarks.codereviewqa.records import FILE, ProbeRecord, read_records
from pytest_crab.benchmarks.codereviewqa.scales import parse_scales, scale_option
from pytest_crab.benchmarks.codereviewqa.summary import summarise_probes
from pytest_crab.benchmarks.codereviewqa.tables import probe_lines
from pytest_crab.cli.shared_options import json_option
from pytest_crab.errors import BadInput
from pytest_crab.formats import NOTHING, format_count, format_table
from pytest_crab.results.files import read_trials
from pytest_crab.results.loading import TRIALS, find_file, report_file
from pytest_crab.results.recorded_results import Told
from pytest_crab.statistics.shares import Share
from pytest_crab.text import one_line
from pytest_crab.types import Trial


@click.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@json_option
def probes(reports: tuple[Path, ...]) -> Told:
    """Print the results of answerers. REPORTS are folders of reports, stores, or probes.jsonl files."""
    records = [record for report in reports for record in read_records(report_file(report, FILE))]
    summary = summarise_probes(records)
    return summary, [line.text for line in probe_lines(summary)]


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


#: A place in a table: a task and a language.
_Place = tuple[str, str]

_CASES = {"missed": "no exact match", "matched": "an exact match"}


def comprehension_lines(models: Sequence[ModelComprehension], *, rule: str, variant: str) -> Iterator[str]:
    """Yield all tables: overall (table 2), each task by language (7 to 12), exact match, and failures (table 5)."""
    columns = [(task, ALL) for task in TASKS]
    yield f"Exact match of the refinement ({variant}, rule {rule}), and probes that are right in every order, in %"
    yield from format_table([("model", "answers by", "wording", *TASKS), *_rows(models, columns, measured=True)])
    yield "**: best of all; *: best of its scale" if _has_scales(models) else "**: best of all"
    for task in TASKS:
        languages = list(dict.fromkeys(name for model in models for name in model.tasks.get(task, {}) if name != ALL))
        if languages:
            own = [model for model in models if task in model.tasks]
            places = [(task, language) for language in (*languages, ALL)]
            yield f"\n{task} by language, in %"
            yield from format_table([("model", *languages, ALL), *_rows(own, places)])
    yield from _exact_matches(models, rule)
    for case in _CASES:
        yield from _failures(models, case)
    yield from _unknown(models)


def _rows(
    models: Sequence[ModelComprehension], places: Sequence[_Place], *, measured: bool = False
) -> Iterator[list[str]]:
    """Yield a row for each model, below a row with the name of its scale."""
    for heading, model in scale_headings(models):
        if heading is not None:
            yield [heading, *([""] * (len(places) + 2 * measured))]
        first = [one_line(model.name, 40), *([model.measure or NOTHING, model.wording or NOTHING] if measured else [])]
        yield [*first, *(_marked(models, model, place) for place in places)]


def _marked(models: Sequence[ModelComprehension], model: ModelComprehension, place: _Place) -> str:
    rate = _rate(model, place)
    if rate is None:
        return NOTHING
    cell = f"{100 * rate:.1f}"
    if rate == _best(models, place):
        return f"**{cell}"
    return f"*{cell}" if rate == _best([one for one in models if one.scale == model.scale], place) else cell


def _best(models: Sequence[ModelComprehension], place: _Place) -> float | None:
    return max((rate for model in models if (rate := _rate(model, place)) is not None), default=None)


def _rate(model: ModelComprehension, place: _Place) -> float | None:
    task, language = place
    found = model.tasks.get(task, {}).get(language)
    return None if found is None else found.rate


def _has_scales(models: Sequence[ModelComprehension]) -> bool:
    return any(model.scale for model in models)


def _exact_matches(models: Sequence[ModelComprehension], rule: str) -> Iterator[str]:
    own = [model for model in models if model.variants]
    if own:
        yield f"\nExact match of the refinement by variant (rule {rule}), in %"
        heads = ("model", "rows", *VARIANTS)
        rows = [[model.name, str(_count(model)), *(_cell(model.variants[name]) for name in VARIANTS)] for model in own]
        yield from format_table([heads, *rows])


def _count(model: ModelComprehension) -> int:
    return max(share.known for share in model.variants.values())


def _failures(models: Sequence[ModelComprehension], case: str) -> Iterator[str]:
    own = [model for model in models if model.failures.get(case)]
    if own:
        yield f"\nWrong answers where the refinement is {_CASES[case]}, in % of rows"
        steps = list(own[0].failures[case])
        rows = []
        for model in own:
            found = model.failures[case]
            count = found["any"].known + found["any"].unknown
            rows.append([model.name, str(count), *(_cell(found[step]) for step in steps)])
        yield from format_table([("model", "rows", *steps), *rows])


def _cell(share: Share) -> str:
    return NOTHING if share.rate is None else f"{100 * share.rate:.1f}"


def _unknown(models: Sequence[ModelComprehension]) -> Iterator[str]:
    for model in models:
        counts = {task: own[ALL].unknown for task, own in model.tasks.items() if own[ALL].unknown}
        if counts:
            words = ", ".join(f"{format_count(count, 'row')} of {task}" for task, count in counts.items())
            yield f"{one_line(model.name, 40)}: not in these shares, since the result is not known: {words}"
