"""The step in which an answerer is asked the questions of one probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_crab import serialization
from pytest_crab.errors import AnswererError, CrabError, model_errors_as
from pytest_crab.lazy import lazy
from pytest_crab.scoring.choices.answers import Answers
from pytest_crab.scoring.choices.questions import Question
from pytest_crab.scoring.protocols import ScoringContext


class AnswerStep:
    """The step that asks the question of one probe in every order; one stored record, paid for once."""

    name = "answers"
    record = Answers
    paid = True
    deadline = None
    reruns = ()

    def __init__(self, context: ScoringContext, probe: str, questions: Sequence[Question]) -> None:
        self._context = context
        self._probe = probe
        self._questions = questions

    def keys(self) -> Mapping[str, str]:
        """See scoring.protocols.Step."""
        return self._keys

    @lazy
    def _keys(self) -> Mapping[str, str]:
        """The key: the questions, the answerer with its settings, and the repeat."""
        context = self._context
        inputs = {"answerer": context.answerer_identity, "measure": context.answerer.measure}
        known = {**inputs, "questions": self._questions, "repeat": context.repeat}
        return {self._probe: serialization.digest(known)}

    def run(self, subjects: Sequence[str]) -> Mapping[str, Answers]:
        """See scoring.protocols.Step. Raises AnswererError, GatewayError."""
        services = self._context.services()
        try:
            with model_errors_as(AnswererError):
                return dict.fromkeys(subjects, self._context.answerer.answer(self._questions, services))
        except CrabError:
            self._context.note_failed(services.total_used())
            raise

    def lasts(self, result: Answers) -> bool:
        """See scoring.protocols.Step."""
        del result
        return True
