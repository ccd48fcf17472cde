"""Measures of how well models read review comments, from stored records: CodeReviewQA's tables (arXiv 2503.16167).

A model is an answerer, an agent that was given the human comments of the same rows, or both under one name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from pytest_crab.benchmarks.codereviewqa.choices.questions import CHANGE_TYPE, LINES, PROBES, SOLUTION
from pytest_crab.benchmarks.codereviewqa.exact_match import RELEASE, VARIANTS
from pytest_crab.benchmarks.codereviewqa.records import ProbeRecord
from pytest_crab.benchmarks.codereviewqa.refinement import RefinementScorer
from pytest_crab.statistics.shares import Share
from pytest_crab.text import one_line
from pytest_crab.types import Score, Trial, Verdict

#: The task of an agent, which stands before the probes.
REFINEMENT = RefinementScorer.name
TASKS = (REFINEMENT, *PROBES)

#: All languages together.
ALL = "all"

#: The reviewer whose comments an agent was given.
_HUMAN = "human"

#: The probes by the reasoning step that they ask for; a step has failed if one of its probes has (the paper's note 7).
STEPS: Mapping[str, tuple[str, ...]] = {
    CHANGE_TYPE: (CHANGE_TYPE,),
    "lines": LINES,
    "solution": SOLUTION,
}

#: An instance's id with the number of the repeat.
_Run = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComprehension:
    """One model. A probe is right if it is in every order, and a refinement if it is an exact match."""

    name: str
    #: The way of answering.
    measure: str | None = None
    #: Whose words were asked; None: this is an agent alone.
    wording: str | None = None
    #: The word for its size.
    scale: str = ""
    #: The share of runs that are right, by task and language.
    tasks: Mapping[str, Mapping[str, Share]] = field(default_factory=dict)
    #: The share of each variant of exact match.
    variants: Mapping[str, Share] = field(default_factory=dict)
    #: For runs with and without an exact match (table 5), by reasoning step the share that failed, and under ``any``
    #: the share in which at least one did.
    failures: Mapping[str, Mapping[str, Share]] = field(default_factory=dict)


@dataclass(kw_only=True)
class _Runs:
    """The results of one model as they are read."""

    measure: str | None = None
    wording: str | None = None
    #: By task and run.
    results: dict[str, dict[_Run, bool | None]] = field(default_factory=dict)
    #: By variant and run.
    variants: dict[str, dict[_Run, bool | None]] = field(default_factory=dict)
    languages: dict[str, str] = field(default_factory=dict)


class Scaled(Protocol):
    """A model that may have been given a word for its size."""

    @property
    def scale(self) -> str:
        """The word; empty where none was given."""


M = TypeVar("M", bound=Scaled)


def comprehension(
    trials: Iterable[Trial],
    answers: Iterable[ProbeRecord],
    *,
    rule: str,
    variant: str = VARIANTS[0],
    scales: Mapping[str, str] | None = None,
) -> list[ModelComprehension]:
    """Return the models of stored trials and of answerers' records, in the order of their scales and then of these.

    ``rule`` and ``variant`` are those of exact match (``exact_match``), and ``scales`` has a word by model.
    """
    found: dict[str, _Runs] = {}
    for record in {record.id: record for record in answers}.values():
        if record.skipped is None:
            _add_answers(found.setdefault(record.answerer, _Runs()), record)
    for trial in {trial.id: trial for trial in trials}.values():
        if trial.variant is None and trial.skipped is None:
            for score in _refinements(trial):
                _add(found.setdefault(trial.agent, _Runs()), trial, score, rule, variant)
    models = [_model(name, runs, (scales or {}).get(name, "")) for name, runs in found.items()]
    return sort_by_scale(models, scales or {})


def sort_by_scale(models: Iterable[M], scales: Mapping[str, str]) -> list[M]:
    """Return models in the order in which ``scales`` names their scales, those without one last."""
    order = list(dict.fromkeys(scales.values()))
    return sorted(models, key=lambda model: order.index(model.scale) if model.scale in order else len(order))


def scale_headings(models: Iterable[M]) -> Iterator[tuple[str | None, M]]:
    """Yield each model with the heading of its scale where that begins, None where the one before it goes on."""
    scale = ""
    for model in models:
        heading = None if model.scale == scale else one_line(model.scale, 40) or "other"
        scale = model.scale
        yield heading, model


def _refinements(trial: Trial) -> Iterator[Score]:
    """Yield the scores of refinements by the human comments."""
    if _HUMAN in (trial.reviewer, trial.review_by):
        yield from (score for score in trial.scores if score.scorer == REFINEMENT)


def _add_answers(runs: _Runs, record: ProbeRecord) -> None:
    run = record.instance, record.repeat
    runs.languages[record.instance] = record.labels.get("language", "")
    runs.measure = record.measure or runs.measure
    runs.wording = record.wording or runs.wording
    for result in record.results:
        verdict = None if result.verdict is Verdict.UNKNOWN else result.verdict is Verdict.CAUGHT
        runs.results.setdefault(result.probe, {})[run] = verdict


def _add(runs: _Runs, trial: Trial, score: Score, rule: str, variant: str) -> None:
    run = trial.instance, trial.repeat
    runs.languages[trial.instance] = next((comment.labels.get("language", "") for comment in trial.comments), "")
    verdict = None if score.reason.verdict is Verdict.UNKNOWN else score.reason.verdict is Verdict.CAUGHT
    for name in VARIANTS:
        runs.variants.setdefault(name, {})[run] = _matches(score, name, rule, verdict=verdict)
    runs.results.setdefault(REFINEMENT, {})[run] = _matches(score, variant, rule, verdict=verdict)


def _matches(score: Score, variant: str, rule: str, *, verdict: bool | None) -> bool | None:
    """Return whether a variant of exact match holds; None: unknown, or a record of before it was kept."""
    evidence: Any = score.evidence.get(RELEASE, {}) if rule == RELEASE else score.evidence
    if variant == VARIANTS[0] or not score.evidence:  # the verdict itself, or a revision that does not apply
        return verdict
    found = evidence.get(variant)
    return None if found is None else bool(found)


def _model(name: str, runs: _Runs, scale: str) -> ModelComprehension:
    tasks = {task: _by_language(runs.results[task], runs.languages) for task in TASKS if task in runs.results}
    return ModelComprehension(
        name=name,
        measure=runs.measure,
        wording=runs.wording,
        scale=scale,
        tasks=tasks,
        variants={variant: Share.of(own.values()) for variant, own in runs.variants.items()},
        failures={
            word: _failures(runs.results, matched=matched) for word, matched in (("missed", False), ("matched", True))
        },
    )


def _by_language(results: Mapping[_Run, bool | None], languages: Mapping[str, str]) -> dict[str, Share]:
    names = sorted({languages[instance] for instance, _ in results} - {""})
    own = {
        name: Share.of(result for (instance, _), result in results.items() if languages[instance] == name)
        for name in names
    }
    return {**own, ALL: Share.of(results.values())}


def _failures(results: Mapping[str, Mapping[_Run, bool | None]], *, matched: bool) -> dict[str, Share]:
    """Return how often each step failed, in the runs with an exact match or without; empty where nothing is joined."""
    asked = {run for probe in PROBES for run in results.get(probe, {})}
    runs = [run for run, result in results.get(REFINEMENT, {}).items() if result is matched and run in asked]
    if not runs:
        return {}
    found = {
        step: Share.of(_failed(own) for run in runs if (own := _results(results, probes, run)))
        for step, probes in STEPS.items()
    }
    return {"any": Share.of(_failed(_results(results, PROBES, run)) for run in runs), **found}


def _results(results: Mapping[str, Mapping[_Run, bool | None]], probes: Sequence[str], run: _Run) -> list[bool | None]:
    return [results[probe][run] for probe in probes if run in results.get(probe, {})]


def _failed(results: Sequence[bool | None]) -> bool | None:
    """Return whether one of these is wrong; None: none is, and one is unknown."""
    if False in results:
        return True
    return None if None in results else False
