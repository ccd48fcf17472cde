"""Answers to the questions of one probe, the answerers that give them, and the step that asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_crab import serialization
from pytest_crab.errors import AnswererError, model_errors_as
from pytest_crab.model_access import Services
from pytest_crab.scoring.choices.questions import Question
from pytest_crab.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenOption:
    """The letter that was chosen; None: there is no answer, and ``reason`` says why.

    ``log_probabilities`` are those of the letters that the provider gave, for an answerer that goes by them.
    """

    letter: str | None
    reason: str | None = None
    log_probabilities: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The answers to a probe's question, in the order of the questions."""

    answers: tuple[ChosenOption, ...]
    usage: Usage | None = None


class Answerer(Protocol):
    """Chooses among the options of questions; ``measure`` names the way, since two ways are two measures.

    ``singly``: it is asked one question at a time, and each answer is stored by itself, since one costs much.
    """

    measure: str
    singly: bool

    def identity(self) -> Mapping[str, Any] | None:
        """Return everything that decides an answer, as plain data; None: answers are kept for this run alone."""

    def answer(self, questions: Sequence[Question], services: Services) -> Answers:
        """Answer questions that differ in nothing but the order of their options. Raises ModelError, GatewayError."""


class AnswerStep:
    """The step that asks the question of one probe in every order; one stored record, paid for once."""

    name = "answers"
    record = Answers
    paid = True
    deadline = None
    reruns = ()

    def __init__(
        self,
        probe: str,
        questions: Sequence[Question],
        answerer: Answerer,
        identity: Mapping[str, Any],
        services: Services,
        repeat: int,
    ) -> None:
        self._probe = probe
        self._questions = questions
        self._answerer = answerer
        self._identity = identity
        self._services = services
        self._repeat = repeat

    def keys(self) -> Mapping[str, str]:
        """The key: the questions, the answerer with its settings, and the repeat."""
        inputs = {"answerer": self._identity, "measure": self._answerer.measure, "questions": self._questions}
        return {self._probe: serialization.digest({**inputs, "repeat": self._repeat})}

    def run(self, subjects: Sequence[str]) -> Mapping[str, Answers]:
        """See scoring.protocols.Step. Raises AnswererError, GatewayError."""
        with model_errors_as(AnswererError):
            return dict.fromkeys(subjects, self._answerer.answer(self._questions, self._services))

    def lasts(self, result: Answers) -> bool:
        """See scoring.protocols.Step."""
        del result
        return True
