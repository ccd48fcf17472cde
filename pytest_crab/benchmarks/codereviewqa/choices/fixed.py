"""Answerers that ask no model, to compare with: always right, always the same letter, and any letter."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.benchmarks.codereviewqa.choice_statistics import LETTERS
from pytest_crab.benchmarks.codereviewqa.choices.answers import (
    Answerer,
    Answers,
    ChosenOption,
    NoteAnswer,
    note_nothing,
)
from pytest_crab.benchmarks.codereviewqa.choices.questions import Question, correct_options
from pytest_crab.model_access import Services
from pytest_crab.types import Instance
from pytest_crab.types.reviews import FREE

#: The measure of those that ask no model.
FIXED = "fixed"


class _FixedAnswerer(Answerer):
    """Chooses a letter for each question by itself."""

    measure = FIXED
    singly = raw = False

    @override
    def answer(self, questions: Sequence[Question], services: Services, note: NoteAnswer = note_nothing) -> Answers:
        return Answers(answers=tuple(ChosenOption(letter=self._letter(question)) for question in questions), usage=FREE)

    @abstractmethod
    def _letter(self, question: Question) -> str:
        """Return the letter for a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantAnswerer(_FixedAnswerer):
    """Chooses the same ``letter`` each time; of its answers, exactly one in as many as there are options is right."""

    letter: str = "A"

    free = True

    def __post_init__(self) -> None:
        if self.letter not in LETTERS[:3] or len(self.letter) != 1:
            raise ValueError("letter should be A, B or C, since some questions have three options")

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"adapter": "constant", "letter": self.letter}

    @override
    def _letter(self, question: Question) -> str:
        return self.letter


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomAnswerer(_FixedAnswerer):
    """Chooses each letter equally often."""

    #: The same seed gives the same answers.
    seed: int = 0

    free = True

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"adapter": "random", "seed": self.seed}

    @override
    def _letter(self, question: Question) -> str:
        draw = random.Random(f"{self.seed} {serialization.digest(question)}")  # noqa: S311 - no secret
        return draw.choice(question.letters)


@dataclass(frozen=True, slots=True, kw_only=True)
class RightAnswerer(Answerer):
    """Is given the correct options, and chooses them: the upper bound of every probe."""

    free = True

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"adapter": "right"}

    def bind(self, instance: Instance) -> _Right:
        """Return the answerer of one instance, which knows its correct options."""
        return _Right(correct_options(instance))


class _Right(_FixedAnswerer):
    def __init__(self, correct: frozenset[str]) -> None:
        self._correct = correct

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"adapter": "right", "correct": sorted(self._correct)}

    @override
    def _letter(self, question: Question) -> str:
        (place,) = (place for place, option in enumerate(question.options) if option in self._correct)
        return LETTERS[place]
