"""Answers to the questions of one probe, and the answerers that give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from pytest_crab.benchmarks.codereviewqa.choices.questions import Question
from pytest_crab.errors import ContestantError
from pytest_crab.model_access import Services
from pytest_crab.types import Usage


class AnswererError(ContestantError):
    """The answerer gave no usable answers to the questions of a probe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenOption:
    """The letter that was chosen, or the reason why there is none."""

    #: None: there is no answer.
    letter: str | None
    #: Why there is no answer.
    reason: str | None = None
    #: Those of the letters that the provider gave, for an answerer that goes by them.
    log_probabilities: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The answers to a probe's question, in the order of the questions."""

    answers: tuple[ChosenOption, ...]
    usage: Usage | None = None


#: Is told of each answer as soon as it is there: the number of its question, and what it used (None: not known).
NoteAnswer = Callable[[int, ChosenOption, Usage | None], None]


def note_nothing(number: int, answer: ChosenOption, usage: Usage | None) -> None:
    """Is the NoteAnswer of those that need none."""


class Answerer(Protocol):
    """Chooses among the options of questions."""

    #: Names the way of answering, since two ways are two measures.
    measure: str
    #: Whether it is asked one question at a time, and each answer is stored by itself, since one costs much.
    singly: ClassVar[bool]

    @property
    def raw(self) -> bool:
        """True if a question's own ``prompt`` is sent as it is."""

    def identity(self) -> Mapping[str, Any] | None:
        """Return everything that decides an answer, as plain data; None: answers are kept for this run alone."""

    def answer(self, questions: Sequence[Question], services: Services, note: NoteAnswer = note_nothing) -> Answers:
        """Answer questions that differ in nothing but the order of their options. Raises ModelError, GatewayError.

        ``note`` is for answerers whose answers cost something and come one by one.
        """
