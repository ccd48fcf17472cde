"""A judge at work on stored reviews: every question is asked through the gateway and stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_crab.errors import Cancelled, CrabError, StoreError
from pytest_crab.scoring.bench import Bench
from pytest_crab.scoring.judges.calibration import Calibration, find_calibration, keep_calibration
from pytest_crab.scoring.judges.votes import (
    FORMS,
    JUDGEMENT,
    FormCheck,
    Judge,
    JudgeQuestion,
    Vote,
    VotedLabel,
    decide,
    vote_step,
)
from pytest_crab.scoring.steps import ModelAnswerStep, StepPlan, plan_steps
from pytest_crab.types import Usage
from pytest_crab.types.reviews import FREE


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeUse:
    """One judge's part in a report: what it was asked, and how far its labels can be trusted."""

    judge: str
    #: Judgements that were not stored.
    asked: int
    #: Judgements that could not be got.
    failed: int
    #: That of both.
    usage: Usage
    #: Those of other forms of the questions, where they were asked for.
    checks: tuple[FormCheck, ...]
    #: None where the judge was never compared with labels by people.
    calibration: Calibration | None


@dataclass(kw_only=True)
class JudgeBench(Bench):
    """A named judge, whose votes are the answers."""

    name: str
    judge: Judge
    #: The questions with their decisions.
    decided: dict[str, tuple[JudgeQuestion, VotedLabel]] = field(default_factory=dict)

    def decide(self, questions: Iterable[JudgeQuestion]) -> dict[str, VotedLabel]:
        """Return the decision on each question by its digest, asking equal ones once.

        A failure to get a vote is unknown with its reason. Raises BadInput for a judge without identity, StoreError,
        Cancelled.
        """
        identity = self.judge.identity()
        unique = {question.digest: question for question in questions}

        def ask(question: JudgeQuestion) -> VotedLabel:
            return self._decide(question, identity)

        found = dict(zip(unique, self.each(ask, unique.values()), strict=True))
        self.decided |= {digest: (unique[digest], decision) for digest, decision in found.items()}
        return found

    def check_forms(self) -> tuple[FormCheck, ...]:
        """Decide again on all questions so far, in each other form, and count the labels that change."""
        plain = [(question, found) for question, found in self.decided.values() if not question.form]
        return tuple(self._check(form, plain) for form in FORMS)

    def _check(self, form: str, plain: Sequence[tuple[JudgeQuestion, VotedLabel]]) -> FormCheck:
        others = [dataclasses.replace(question, form=form) for question, _ in plain]
        again = self.decide(others)
        labels = [(found.label, again[other.digest].label) for (_, found), other in zip(plain, others, strict=True)]
        known = [(one, other) for one, other in labels if one is not None and other is not None]
        return FormCheck(form=form, compared=len(known), changed=sum(one != other for one, other in known))

    def plan(self, questions: Iterable[JudgeQuestion], *, check: bool = False) -> StepPlan:
        """Return the votes that these questions need; ``check``: also those of ``check_forms``.

        Asks nothing. Raises BadInput, StoreError.
        """
        forms = ("", *FORMS) if check else ("",)
        asked = (dataclasses.replace(one, form=form) for one in questions for form in forms)
        return plan_steps(self.cache, self.steps(asked))

    def use(self, *, check: bool = False, calibration: Calibration | None = None) -> JudgeUse:
        """Return the judge's part so far; ``check`` asks other forms too, and a new ``calibration`` is kept.

        Raises what ``decide`` raises.
        """
        if calibration is not None and calibration.compared:
            keep_calibration(self.cache.store, self.judge.identity(), calibration)
        checks = self.check_forms() if check else ()
        return JudgeUse(
            judge=self.name,
            asked=len(self.asked),
            failed=len(self.failed),
            usage=self.usage or FREE,
            checks=checks,
            calibration=calibration or self.calibration,
        )

    @property
    def calibration(self) -> Calibration | None:
        """The stored agreement of the judge with people; None: not known. Raises BadInput, StoreError."""
        return find_calibration(self.cache.store, self.judge.identity())

    def _decide(self, question: JudgeQuestion, identity: Mapping[str, Any]) -> VotedLabel:
        votes: list[Vote] = []
        for step in self._steps(question, identity):
            try:
                votes.append(self.answer(step))
            except (Cancelled, StoreError):
                raise
            except CrabError as error:
                self.failed.append(str(error))
                return VotedLabel(label=None, reason=f"not judged: {error}", votes=tuple(votes))
        return decide(votes)

    def steps(self, questions: Iterable[JudgeQuestion]) -> Iterator[ModelAnswerStep[Vote]]:
        """Yield the step of each vote on these questions, equal ones once. Raises BadInput."""
        identity = self.judge.identity()
        unique = {question.digest: question for question in questions}
        for question in unique.values():
            yield from self._steps(question, identity)

    def _steps(self, question: JudgeQuestion, identity: Mapping[str, Any]) -> Iterator[ModelAnswerStep[Vote]]:
        for number in range(1, self.judge.votes + 1):
            # A recording is named by its trial and step, and each vote is a draw of its own.
            step = JUDGEMENT if number == 1 else f"{JUDGEMENT}-{number}"
            yield vote_step(self.judge, identity, question, number, self.services(question.instance, step))
