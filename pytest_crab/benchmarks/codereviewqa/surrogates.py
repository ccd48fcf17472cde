"""The models that make wrong solutions, each of whose answers is stored and paid for once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.benchmarks.codereviewqa.distractors import ReviewedCode
from pytest_crab.benchmarks.codereviewqa.text_models import (
    Cosines,
    Filling,
    Gap,
    compare_embeddings,
    fill,
    require_own_places,
    score_text,
)
from pytest_crab.benchmarks.codereviewqa.wrong_solutions import (
    DRAWS,
    SurrogateAnswers,
    TokenSurprisal,
    surrogate_head,
    token_surprisals,
    wrong_solutions,
)
from pytest_crab.clients.chat import ChatSettings, endpoint_of
from pytest_crab.errors import Cancelled, CrabError, EngineError, ModelError
from pytest_crab.model_access import Services
from pytest_crab.scoring.bench import Bench
from pytest_crab.scoring.steps import ModelAnswerStep
from pytest_crab.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Surprisals:
    """The surprisal of each token of some code, as it is stored."""

    tokens: tuple[TokenSurprisal, ...]
    usage: Usage | None = None


R = TypeVar("R", Surprisals, Filling, Cosines)

#: The temperature of the paper's surrogate model.
TEMPERATURE = 3.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SurrogateSettings(ChatSettings):
    """A model of the algorithm; its instructions stand before the revised code whose surprisal it is asked for."""

    role: ClassVar[str] = "surrogate"
    package: ClassVar[str] = __package__

    provider: str = "openai"
    timeout: float = 120.0

    def endpoint(self) -> Mapping[str, Any]:
        """Return the model and where it is asked, which decide its answers. Raises BadInput."""
        return {"model": self.model, "endpoint": endpoint_of(self.provider, Path(self.folder))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surrogates:
    """The models that make wrong solutions: one is surprised, one fills in, and one or a measure compares."""

    surprised: SurrogateSettings
    filling: SurrogateSettings
    comparing: SurrogateSettings | Callable[[str, str], float]
    #: That of ``text_models.fill``.
    temperature: float = TEMPERATURE
    #: That of ``text_models.fill``.
    template: str | None = None
    #: The most fillings for a row.
    draws: int = DRAWS


class NotStored(Exception):
    """An answer is not in the store, where none is to be asked for."""


@dataclass(frozen=True, kw_only=True)
class RowAnswers(SurrogateAnswers):
    """The answers on one row, see SurrogateAnswers.

    A failure of a model is an EngineError that names the step, the model and what its provider needs.
    """

    models: Surrogates
    services: Callable[[str], Services]
    #: Gets the result of a step.
    perform: Callable[[ModelAnswerStep[Any]], Any]

    @override
    def surprisals(self, head: str, code: str) -> Sequence[TokenSurprisal]:
        """Raises EngineError, GatewayError, StoreError."""
        model = self.models.surprised

        def ask() -> Surprisals:
            scored = score_text(model, self.services("surprisal"), f"{head}{code}")
            tokens = token_surprisals(scored.tokens, f"{head}{code}", len(head))
            return Surprisals(tokens=tokens, usage=scored.usage)

        found = self._get("surprisal", model, {"head": head, "code": code}, Surprisals, ask)
        return found.tokens

    @override
    def fill(self, gap: Gap, draw: int) -> str:
        """Raises EngineError, GatewayError, StoreError."""
        model, temperature, template = self.models.filling, self.models.temperature, self.models.template

        def ask() -> Filling:
            # A recording is named by its trial and step, and each draw is one of its own.
            services = self.services(f"infill-{draw}")
            return fill(model, services, gap, temperature=temperature, seed=draw, template=template)

        known = {"temperature": temperature, "template": template, "gap": serialization.dump(gap), "draw": draw}
        return self._get("infill", model, known, Filling, ask).text

    @override
    def compare(self, text: str, others: Sequence[str]) -> Sequence[float]:
        """Raises EngineError, GatewayError, StoreError."""
        model = self.models.comparing
        if not isinstance(model, SurrogateSettings):
            return [model(text, other) for other in others]

        def ask() -> Cosines:
            return compare_embeddings(model, self.services("cosines"), text, others)

        return self._get("cosines", model, {"texts": [text, *others]}, Cosines, ask).values

    def _get(
        self, name: str, model: SurrogateSettings, known: Mapping[str, Any], record: type[R], ask: Callable[[], R]
    ) -> R:
        step = ModelAnswerStep(name=name, record=record, known={**model.endpoint(), **known}, ask=ask)
        with _name_failure(name, model):
            found: R = self.perform(step)
        return found


@contextmanager
def _name_failure(step: str, model: SurrogateSettings) -> Iterator[None]:
    """Raise the failure of a model as an EngineError that names the step, the model and what its provider needs."""
    try:
        yield
    except ModelError as error:
        need = f"; {_NEEDED[step]}" if step in _NEEDED else ""
        raise EngineError(f"{step} by {model.provider}:{model.model}: {error}{need}") from error


#: What a provider needs for a step, where an error does not say so itself.
_NEEDED = {
    "infill": "its completions endpoint should take a suffix, or --template say how the model takes it",
    "cosines": "its provider should have an endpoint for embeddings, or --embedding name another model",
}


@dataclass(kw_only=True)
class SolutionBench(Bench):
    """Models that make the questions on solutions of rows."""

    models: Surrogates

    def make(self, rows: Mapping[str, ReviewedCode]) -> dict[str, Mapping[str, object] | str]:
        """Return what ``wrong_solutions`` makes of each row, by its name.

        Raises EngineError for an answer that could not be got, in a sentence with the row's name, and for a server
        whose surprisals would be wrong; and Cancelled.
        """
        if self.count_stored(rows) < len(rows):
            model = self.models.surprised
            with _name_failure("surprisal", model):
                self.checks.append(require_own_places(model, self.services(next(iter(rows)), "surprisal")))
        return dict(zip(rows, self.each(lambda name: self._make(name, rows[name]), rows), strict=True))

    def count_stored(self, rows: Mapping[str, ReviewedCode]) -> int:
        """Return how many rows need no answer that is not stored; asks nothing. Raises StoreError."""
        return sum(self._is_stored(name, row) for name, row in rows.items())

    def _make(self, name: str, row: ReviewedCode) -> Mapping[str, object] | str:
        try:
            return self._solutions(name, row, self.answer)
        except Cancelled:
            raise
        except CrabError as error:
            raise EngineError(f"{name.replace('-', ' ')}: {error}") from error

    def _is_stored(self, name: str, row: ReviewedCode) -> bool:
        try:
            self._solutions(name, row, self._find)
        except NotStored:
            return False
        return True

    def _solutions(
        self, name: str, row: ReviewedCode, perform: Callable[[ModelAnswerStep[Any]], Any]
    ) -> Mapping[str, object] | str:
        answers = RowAnswers(models=self.models, services=lambda step: self.services(name, step), perform=perform)
        head = surrogate_head(self.models.surprised.instructions(), row)
        return wrong_solutions(row, head, answers, draws=self.models.draws)

    def _find(self, step: ModelAnswerStep[R]) -> R:
        found = self.cache.find(step)
        if not found:
            raise NotStored
        return found[""]
