"""The step in which an answerer is asked the questions of one probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.benchmarks.codereviewqa.choices.answers import AnswererError, Answers, ChosenOption
from pytest_crab.benchmarks.codereviewqa.choices.questions import OURS, RELEASE, Question
from pytest_crab.benchmarks.codereviewqa.context import ProbeContext
from pytest_crab.errors import CrabError, model_errors_as
from pytest_crab.lazy import lazy
from pytest_crab.protocols import Store
from pytest_crab.scoring.steps import Step
from pytest_crab.types import Usage, total_usage


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noted:
    """One answer of a probe that is not answered wholly yet."""

    number: int
    answer: ChosenOption
    usage: Usage | None = None


class AnswerStep(Step[Answers]):
    """The step that asks the question of one probe in every order; one stored record, paid for once."""

    name = "answers"
    record = Answers
    paid = True

    def __init__(self, context: ProbeContext, probe: str, questions: Sequence[Question]) -> None:
        self._context = context
        self._probe = probe
        self._questions = questions

    @property
    def wording(self) -> str:
        """Whose words the questions are in."""
        return OURS if self._questions[0].prompt is None else RELEASE

    @override
    def keys(self) -> Mapping[str, str]:
        return self._keys

    @lazy
    def _keys(self) -> Mapping[str, str]:
        """The key: the questions, the answerer with its settings, and the repeat."""
        context = self._context
        inputs = {"answerer": context.answerer_identity, "measure": context.answerer.measure}
        known = {**inputs, "questions": self._questions, "repeat": context.repeat}
        return {self._probe: serialization.digest(known)}

    @override
    def run(self, subjects: Sequence[str]) -> Mapping[str, Answers]:
        """Answers that a killed run has noted are used again.

        Raises AnswererError, GatewayError.
        """
        services, earlier = self._context.services(), self._noted()
        rest = [number for number in range(len(self._questions)) if number not in earlier]

        def note(number: int, answer: ChosenOption, usage: Usage | None) -> None:
            self._notes.note(self.name, key, _Noted(number=rest[number], answer=answer, usage=usage))

        key = self._keys[self._probe]
        used = [one.usage for one in earlier.values()]
        try:
            with model_errors_as(AnswererError):
                asked = [self._questions[number] for number in rest]
                made = self._context.answerer.answer(asked, services, note) if rest else Answers(answers=())
        except CrabError:
            self._context.note_failed(total_usage([*used, services.total_used()]))
            self._notes.drop_notes(self.name, key)
            raise
        found = {
            **{number: one.answer for number, one in earlier.items()},
            **dict(zip(rest, made.answers, strict=True)),
        }
        answers = tuple(found[number] for number in range(len(self._questions)))
        usage = total_usage([*used, *([made.usage] if rest else [])]) if earlier else made.usage
        return dict.fromkeys(subjects, Answers(answers=answers, usage=usage))

    @property
    def _notes(self) -> Store:
        return self._context.cache.store

    def _noted(self) -> dict[int, _Noted]:
        """Return the answers that were noted, by the numbers of their questions."""
        notes = self._notes.notes(self.name, self._keys[self._probe])
        read = (serialization.read(_Noted, one, []) for one in notes)
        return {one.number: one for one in read if one is not None and one.number < len(self._questions)}
