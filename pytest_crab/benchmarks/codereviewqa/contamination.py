"""Texts of review comments with their solutions, scored token by token by a model that may have seen them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_crab import serialization
from pytest_crab.benchmarks.codereviewqa.choices.questions import context_of, option_lines, probes_of, questions_of
from pytest_crab.benchmarks.codereviewqa.refinement import RefinementScorer
from pytest_crab.benchmarks.codereviewqa.text_models import require_own_places, score_text
from pytest_crab.clients.chat import ChatSettings, endpoint_of
from pytest_crab.errors import Cancelled, CrabError, StoreError
from pytest_crab.instances.files import file_bytes
from pytest_crab.model_access import Services
from pytest_crab.scoring.bench import Bench
from pytest_crab.scoring.steps import ModelAnswerStep, StepPlan, plan_steps
from pytest_crab.types import Instance, Usage

#: The task whose text ends with the revised code; every other task is a probe, whose text ends with the options.
REFINEMENT = RefinementScorer.name

_STEP = "text-score"


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvedText:
    """The text that a model is asked in one task about an instance, with the solution behind it."""

    instance: str
    language: str
    task: str
    text: str

    @property
    def digest(self) -> str:
        """The digest that names the text."""
        return serialization.digest(self.text)


def solved_texts(instance: Instance) -> Iterator[SolvedText]:
    """Yield the texts of an instance: code, comment and revised code, then for each probe its question and options.

    The paper's section 7 measures the same two forms. Options are in their first order. An instance that is no piece
    of code has no text. Raises SourceError.
    """
    source = instance.source.snippet
    if source is None:
        return
    context = context_of(instance)
    revised = file_bytes(instance, source.reference).decode("utf-8", "replace").rstrip("\n")
    texts = {REFINEMENT: f"{context}\n\nRevised code:\n{revised}"}
    for probe in probes_of(instance):
        question = questions_of(instance, probe)[0]
        texts[probe] = f"{context}\n\n{question.text}\n{option_lines(question)}"
    for task, text in texts.items():
        yield SolvedText(instance=instance.id, language=instance.language, task=task, text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextScore:
    """The log-probabilities of a text's tokens but the first."""

    log_probabilities: tuple[float, ...]
    #: Has 1 for each of these tokens that no other exceeds, else 0.
    likeliest: str
    usage: Usage | None = None


def _score(settings: ChatSettings, services: Services, text: str) -> TextScore:
    """Have the model score one text. Raises ModelError, GatewayError."""
    found = score_text(settings, services, text)
    known = [token for token in found.tokens if token.log_probability is not None]
    return TextScore(
        log_probabilities=tuple(token.log_probability or 0.0 for token in known),
        likeliest="".join("1" if token.likeliest else "0" for token in known),
        usage=found.usage,
    )


@dataclass(kw_only=True)
class TextBench(Bench):
    """A model that scores texts."""

    name: str
    settings: ChatSettings

    def score(self, texts: Iterable[SolvedText]) -> dict[str, TextScore | None]:
        """Return the score of each text by its digest, None where it could not be got.

        The shortest text is asked first and alone. Raises ModelError, GatewayError if the model cannot score even that
        one, and StoreError, Cancelled.
        """
        unique = {text.digest: text for text in texts}
        if not unique:
            return {}
        first = min(unique.values(), key=lambda text: len(text.text))
        plan = self.plan(unique.values())
        if plan.stored < plan.steps:
            self.checks.append(require_own_places(self.settings, self.services(first.instance, _STEP)))
        found: dict[str, TextScore | None] = {first.digest: self._score(first)}
        rest = [text for digest, text in unique.items() if digest not in found]
        return found | dict(zip((text.digest for text in rest), self.each(self._try_to_score, rest), strict=True))

    def plan(self, texts: Iterable[SolvedText]) -> StepPlan:
        """Return what these texts need; asks nothing. Raises StoreError."""
        return plan_steps(self.cache, map(self._step, {text.digest: text for text in texts}.values()))

    def _try_to_score(self, text: SolvedText) -> TextScore | None:
        try:
            return self._score(text)
        except (Cancelled, StoreError):
            raise
        except CrabError as error:
            self.failed.append(f"{text.instance}, {text.task}: {error}")
            return None

    def _score(self, text: SolvedText) -> TextScore:
        score: TextScore = self.answer(self._step(text))
        return score

    def _step(self, text: SolvedText) -> ModelAnswerStep[TextScore]:
        settings = self.settings
        known = {
            "model": settings.model,
            "endpoint": endpoint_of(settings.provider, Path(settings.folder)),
            "options": settings.options,
            "text": text.text,
        }
        ask = functools.partial(_score, settings, self.services(text.instance, _STEP), text.text)
        return ModelAnswerStep(name=_STEP, record=TextScore, known=known, ask=ask)
