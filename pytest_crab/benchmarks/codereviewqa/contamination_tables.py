"""Perplexity and n-gram accuracy of models by task and language: section 7 and table 3 of CodeReviewQA's paper.

A text is given by its tokens in their order: the log-probability of each after those before it, and whether no other
token is more likely there. Greedy decoding from a place writes an n-gram of the text exactly where each of its tokens
is the likeliest after the text before it, so no second request is needed to know what the model would write.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_crab.benchmarks.codereviewqa.choices.questions import PROBES
from pytest_crab.benchmarks.codereviewqa.comprehension import ALL, scale_headings
from pytest_crab.benchmarks.codereviewqa.contamination import REFINEMENT, SolvedText, TextScore
from pytest_crab.formats import NOTHING, format_count, format_decimal, format_percent, format_table
from pytest_crab.text import one_line

#: The length of an n-gram, and how many starting points each text has.
GRAM, STARTS = 5, 5

#: The logarithm of the highest perplexity: some servers give an impossible token -9999, and no float holds e^9999.
_MOST = 700.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMeasure:
    """One text. Shares are None for a text that is shorter than an n-gram."""

    perplexity: float
    #: The share of its starting points from which the next GRAM tokens are written.
    gram_accuracy: float | None
    #: The same share of all places where an n-gram could start, which is what a draw of starting points estimates.
    all_grams: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContaminationMeasures:
    """The measures over several texts, each a mean over texts; None where there is no text."""

    #: The number of texts.
    texts: int
    #: Further texts that were not measured.
    unknown: int
    perplexity: float | None
    #: That of the perplexities: few odd texts do not move it.
    median: float | None
    gram_accuracy: float | None
    all_grams: float | None


def measure_text(
    log_probabilities: Sequence[float], likeliest: Sequence[bool], seed: str, starts: int = STARTS
) -> TextMeasure:
    """Return the measures of one text, which has at least one token; ``seed`` decides where its n-grams start.

    Starting points are drawn without replacement from all places that have GRAM tokens left.
    """
    places = range(len(likeliest) - GRAM + 1)
    right = [all(likeliest[start : start + GRAM]) for start in places]
    drawn = random.Random(seed).sample(places, min(starts, len(places)))  # noqa: S311 - no secret
    return TextMeasure(
        perplexity=perplexity(log_probabilities),
        gram_accuracy=_mean([right[start] for start in drawn]),
        all_grams=_mean(right),
    )


def perplexity(log_probabilities: Sequence[float]) -> float:
    """Return the inverse of the geometric mean of the tokens' probabilities, at most e to the power of _MOST."""
    return math.exp(min(-sum(log_probabilities) / len(log_probabilities), _MOST))


def summarise_texts(texts: Sequence[TextMeasure | None]) -> ContaminationMeasures:
    """Return the measures over some texts; None is one that is not known."""
    known = [text for text in texts if text is not None]
    perplexities = [text.perplexity for text in known]
    return ContaminationMeasures(
        texts=len(known),
        unknown=len(texts) - len(known),
        perplexity=_mean(perplexities),
        median=statistics.median(perplexities) if perplexities else None,
        gram_accuracy=_mean([text.gram_accuracy for text in known if text.gram_accuracy is not None]),
        all_grams=_mean([text.all_grams for text in known if text.all_grams is not None]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


#: The probes together, which the paper calls MCQA; it calls the refinement ACR.
ALL_PROBES = "all probes"
TASKS = (REFINEMENT, ALL_PROBES, *PROBES)

#: Returns the cells of a row, given the measures of one task by language.
_Cells = Callable[[Mapping[str, ContaminationMeasures]], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelContamination:
    """The measures of one model by task and language."""

    name: str
    #: The word that was given for its size.
    scale: str = ""
    #: Texts without a score, each counted once: two probes of a row may have the same text.
    unscored: int = 0
    tasks: Mapping[str, Mapping[str, ContaminationMeasures]]


def measure_model(
    name: str, texts: Sequence[SolvedText], scores: Mapping[str, TextScore | None], *, starts: int, scale: str = ""
) -> ModelContamination:
    """Return the measures of one model, given its scores by the digests of the texts."""
    measured = [(text, _measure(text, scores[text.digest], starts)) for text in texts]
    languages = sorted({text.language for text in texts})
    tasks: dict[str, Mapping[str, ContaminationMeasures]] = {}
    for task in TASKS:
        own = [(text, found) for text, found in measured if task in _tasks_of(text)]
        if own:
            by_language = {
                language: summarise_texts([found for text, found in own if text.language == language])
                for language in languages
            }
            tasks[task] = {**by_language, ALL: summarise_texts([found for _, found in own])}
    unscored = sum(scores[digest] is None for digest in {text.digest for text in texts})
    return ModelContamination(name=name, scale=scale, unscored=unscored, tasks=tasks)


def _tasks_of(text: SolvedText) -> tuple[str, ...]:
    return (text.task,) if text.task == REFINEMENT else (text.task, ALL_PROBES)


def _measure(text: SolvedText, score: TextScore | None, starts: int) -> TextMeasure | None:
    if score is None:
        return None
    return measure_text(score.log_probabilities, [mark == "1" for mark in score.likeliest], text.digest, starts)


def contamination_lines(models: Sequence[ModelContamination], starts: int = STARTS) -> Iterator[str]:
    """Yield the table over all languages, and one of both measures by language."""
    yield f"PPL: perplexity, mean over texts and median. NG{GRAM}: {GRAM}-gram accuracy in %,"
    yield f"from {starts} places of each text, and from every place."
    heads = ["model and task", "texts", "PPL", "median", f"NG{GRAM}", "every place"]
    yield from _table(heads, models, _overall)
    languages = list(dict.fromkeys(name for model in models for own in model.tasks.values() for name in own))
    if len(languages) > 2:
        yield f"\nPPL and NG{GRAM} by language"
        pairs = [head for language in languages for head in (language, f"NG{GRAM}")]
        yield from _table(["model and task", *pairs], models, lambda own: _pairs(own, languages))
    for model in models:
        if model.unscored:
            texts = format_count(model.unscored, "text")
            yield f"{one_line(model.name, 40)}: {texts} that the model did not score left out of these means"


def _table(heads: Sequence[str], models: Sequence[ModelContamination], cells: _Cells) -> Iterator[str]:
    rows = [[*row, *[""] * (len(heads) - len(row))] for row in _rows(models, cells)]
    yield from format_table([heads, *rows])


def _rows(models: Sequence[ModelContamination], cells: _Cells) -> Iterator[list[str]]:
    """Yield the rows of each model, below one with its name and one with its scale."""
    for heading, model in scale_headings(models):
        if heading is not None:
            yield [heading]
        yield [one_line(model.name, 40)]
        for task, own in model.tasks.items():
            yield [f"  {task}", *cells(own)]


def _overall(own: Mapping[str, ContaminationMeasures]) -> list[str]:
    found = own[ALL]
    shares = [format_percent(found.gram_accuracy), format_percent(found.all_grams)]
    return [str(found.texts), format_decimal(found.perplexity), format_decimal(found.median), *shares]


def _pairs(own: Mapping[str, ContaminationMeasures], languages: Sequence[str]) -> list[str]:
    found = [own.get(language) for language in languages]
    return [
        cell
        for each in found
        for cell in (
            (NOTHING, NOTHING)
            if each is None
            else (format_decimal(each.perplexity), format_percent(each.gram_accuracy))
        )
    ]
