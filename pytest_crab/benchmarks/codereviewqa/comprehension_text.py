"""The tables of CodeReviewQA's paper as lines of text: all in percent, the best of a scale and of all marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_crab.benchmarks.codereviewqa.comprehension import ALL, TASKS, ModelComprehension, scale_headings
from pytest_crab.formats import NOTHING, format_count, format_table
from pytest_crab.statistics.exact_match import VARIANTS
from pytest_crab.statistics.shares import Share
from pytest_crab.text import one_line

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
