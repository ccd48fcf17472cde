"""A judge at work on stored reviews: every question is asked through the gateway and stored."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from pytest_crab.clients.services import StepServices
from pytest_crab.errors import Cancelled
from pytest_crab.errors import CrabError
from pytest_crab.errors import StoreError
from pytest_crab.protocols import Models
from pytest_crab.scoring.judges.votes import Decision
from pytest_crab.scoring.judges.votes import Judge
from pytest_crab.scoring.judges.votes import Question
from pytest_crab.scoring.judges.votes import Vote
from pytest_crab.scoring.judges.votes import VoteStep
from pytest_crab.scoring.judges.votes import decide
from pytest_crab.scoring.step_cache import StepCache
from pytest_crab.types import TrialId
from pytest_crab.types import Usage
from pytest_crab.types import total_usage


@dataclass(kw_only=True)
class JudgeBench:
    """A named judge with its gateway and its store; ``secrets`` names the variables whose values no transcript holds.

    ``asked`` are the votes that were not in the store, so what this bench has paid for.
    """

    name: str
    judge: Judge
    cache: StepCache
    models: Models | None
    secrets: Sequence[str] = ()
    jobs: int = 4
    asked: list[Vote] = field(default_factory=list)

    def decide(self, questions: Iterable[Question]) -> dict[str, Decision]:
        """Return the decision on each question by its digest, asking equal ones once.

        A failure to get a vote is unknown with its reason. Raises BadInput for a judge without identity, StoreError,
        Cancelled.
        """
        identity = self.judge.identity()
        unique = {question.digest: question for question in questions}

        def ask(question: Question) -> Decision:
            return self._decide(question, identity)

        with ThreadPoolExecutor(max_workers=self.jobs) as pool:
            try:
                return dict(zip(unique, pool.map(ask, unique.values()), strict=True))
            except BaseException:
                self.cache.cancelled.set()
                if self.models is not None:
                    self.models.stop()
                raise

    @property
    def usage(self) -> Usage | None:
        """The usage of the votes that were asked here; None if all of them were stored."""
        return total_usage(vote.usage for vote in self.asked)

    def _decide(self, question: Question, identity: Mapping[str, Any]) -> Decision:
        votes: list[Vote] = []
        for number in range(1, self.judge.votes + 1):
            step = VoteStep(self.judge, identity, question, number, self._services(question, number))
            try:
                found = self.cache.results(step)
            except (Cancelled, StoreError):
                raise
            except CrabError as error:
                return Decision(label=None, reason=f"not judged: {error}", votes=tuple(votes))
            votes.append(found[""])
            if not found.reused:
                self.asked.append(found[""])
        return decide(votes)

    def _services(self, question: Question, number: int) -> StepServices:
        return StepServices(
            self.models,
            self.cache.store.put,
            trial=str(TrialId(question.instance, self.name, number)),
            step=VoteStep.name,
            secrets=self.secrets,
            cancelled=self.cache.cancelled,
        )
