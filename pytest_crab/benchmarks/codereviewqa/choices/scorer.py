"""The scorer ``choices``: questions about a review comment, answered in every order of their options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_crab.benchmarks.codereviewqa.choice_statistics import NO_LETTER, chosen_options, is_invariant
from pytest_crab.benchmarks.codereviewqa.choices.answer_step import AnswerStep
from pytest_crab.benchmarks.codereviewqa.choices.answers import ChosenOption
from pytest_crab.benchmarks.codereviewqa.choices.questions import probes_of, questions_of
from pytest_crab.scoring.protocols import ScoringContext, Step
from pytest_crab.types import (
    Artefact,
    Comment,
    Instance,
    Judgement,
    Reason,
    Review,
    Revision,
    Score,
    Unit,
    verdict_score,
)

#: The scorer's name on its scores.
CHOICES = "choices"


@dataclass(frozen=True, slots=True)
class ProbeScores:
    """The scores of an instance's probes, which need no review: each probe is asked when its score is taken."""

    decided: Iterator[Score]


class ChoiceScorer:
    """Asks the questions of an instance's probes (arXiv 2503.16167, section 5.1).

    A probe is caught if the correct option is chosen in every order, and missed if another one is chosen in any.
    """

    name = CHOICES
    unit = Unit.PROBE
    needs = frozenset({Artefact.MODEL})
    knows_hits = True
    version = "CodeReviewQA, every order"

    def comments(self, instance: Instance) -> tuple[Comment, ...]:
        """See scoring.protocols.Scorer."""
        return probes_of(instance)

    def plan_steps(
        self, context: ScoringContext, review: Review | None, revision: Revision | None
    ) -> Iterator[Step[Any]]:
        """See scoring.protocols.Scorer."""
        if review is None and revision is None:
            for probe in self.comments(context.instance):
                yield from self._steps(context, probe.id)

    def prepare(self, context: ScoringContext) -> ProbeScores:
        """See scoring.protocols.Scorer."""
        return ProbeScores(self._ask(context))

    def _ask(self, context: ScoringContext) -> Iterator[Score]:
        """Yield the score of each probe. Raises AnswererError, GatewayError.

        Two probes of a row may have the same questions, which are asked and paid for once.
        """
        paid: set[str] = set()
        for probe in self.comments(context.instance):
            answers: list[ChosenOption] = []
            for step in self._steps(context, probe.id):
                results = context.perform(step)
                found = results[probe.id]
                used = [found.usage] if paid.isdisjoint(step.keys().values()) else []
                paid.update(step.keys().values())
                context.book(self.name, used, asked=[] if results.reused else used, judge=False)
                answers.extend(found.answers)
            yield score_of(probe.id, answers, context.answerer.measure)

    def score(
        self, context: ScoringContext, evidence: ProbeScores, review: Review, revision: Revision
    ) -> Sequence[Score]:
        """See scoring.protocols.Scorer: nothing is left to score."""
        del context, evidence, review, revision
        return ()

    def _steps(self, context: ScoringContext, probe: str) -> Iterator[AnswerStep]:
        """Yield the steps that ask a probe's question in every order: one for all, or one for each."""
        questions = questions_of(context.instance, probe)
        for some in [(each,) for each in questions] if context.answerer.singly else [questions]:
            yield AnswerStep(context, probe, some)


def score_of(probe: str, answers: Sequence[ChosenOption], measure: str) -> Score:
    """Return a probe's score; its evidence has the letters in the order of the questions, NO_LETTER for no answer."""
    letters = "".join(answer.letter or NO_LETTER for answer in answers)
    missing = [answer.reason for answer in answers if answer.letter is None]
    invariant = is_invariant(chosen_options(letters))
    if invariant is None:
        detail = f"{len(missing)} of {len(letters)} orders have no answer: {missing[0]}"
        judgement = Judgement(reason=Reason.NO_ANSWER, detail=detail)
    elif invariant:
        judgement = Judgement(reason=Reason.CORRECT)
    else:
        right = chosen_options(letters).count(0)
        judgement = Judgement(reason=Reason.INCORRECT, detail=f"correct in {right} of {len(letters)} orders")
    return verdict_score(CHOICES, probe, judgement, {"letters": letters, "measure": measure}, unit=Unit.PROBE)
