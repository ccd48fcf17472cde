"""The plan of a trial, from the store alone: nothing is built, asked or run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_crab.errors import CrabError
from pytest_crab.scoring.judges.votes import JUDGEMENT
from pytest_crab.scoring.oracles.evaluation import EvaluationStep
from pytest_crab.scoring.oracles.explanation import ExplanationStep, plan_explanations
from pytest_crab.scoring.steps import Step
from pytest_crab.sources import is_fetched
from pytest_crab.trial.context import TrialContext
from pytest_crab.trial.crew import Crew
from pytest_crab.trial.run import TrialRun
from pytest_crab.trial.run_context import RunContext
from pytest_crab.trial.steps import ReviewStep, RevisionStep
from pytest_crab.types import Explain, Instance, Review, Revision
from pytest_crab.types.reviews import known_costs

STORED, RUNS, OPEN, NEEDLESS = "stored", "would run", "depends on what runs before", "not needed"

#: The state of a review that would run for another trial, which comes first.
SHARED = "as another trial's"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """The steps of one trial, before it runs."""

    #: For each step: stored, would run, depends, or not needed.
    steps: Mapping[str, str]
    #: The recorded costs of the stored steps in US dollars.
    costs: Mapping[str, float]
    problem: str | None = None
    #: Votes of judges that would be asked for.
    missing_votes: int = 0
    #: The recorded costs of the stored votes.
    vote_costs: tuple[float, ...] = ()

    def runs(self, step: str) -> bool:
        """Return whether a step may have to be made."""
        return self.steps.get(step, NEEDLESS) not in (STORED, NEEDLESS, SHARED)


#: The steps of a trial.
_REVIEW_STEPS = ("proof", "review", "revision", "verdict")
#: The step that explains verdicts, where the run asks for it.
_EXPLANATION = ExplanationStep.name


def nothing_stored(crew: Crew, explains: Explain) -> TrialPlan:
    """Return the plan of a trial of which nothing is stored."""
    open_steps = dict.fromkeys(_steps_of(crew, explains), OPEN)
    return TrialPlan(steps={**open_steps, "review": RUNS}, costs={})


def _steps_of(crew: Crew, explains: Explain) -> tuple[str, ...]:
    own = [_EXPLANATION] if explains is not Explain.NONE else []
    return (*_REVIEW_STEPS, *own, *([JUDGEMENT] if crew.judges else []))


def plan_trial(instance: Instance, crew: Crew, run_context: RunContext, *, repeat: int = 1) -> TrialPlan:
    """Look the trial's steps up in the store; the source is fetched if need be, since every key names its trees."""
    planner = _Planner(instance, crew, run_context, repeat)
    problem = None
    try:
        planner.look()
    except CrabError as error:
        problem = str(error)
    return planner.plan(problem)


def plan_contestants(instance: Instance, crew: Crew, run_context: RunContext, *, repeat: int = 1) -> TrialPlan:
    """Look up the review and the revision alone. Nothing is fetched: both would run if the source is not there."""
    planner = _Planner(instance, crew, run_context, repeat)
    if not is_fetched(instance, run_context.cache):
        return nothing_stored(crew, run_context.explain)
    review = planner.look_up_review()
    if review is not None and planner.states["revision"] != NEEDLESS:
        planner.look_up_revision(review)
    return planner.plan()


class _Planner:
    """A trial's steps, looked up in their order."""

    def __init__(self, instance: Instance, crew: Crew, run_context: RunContext, repeat: int) -> None:
        self._run = TrialRun(TrialContext(instance, crew, run_context, repeat=repeat), repeat)
        self.states = dict.fromkeys(_steps_of(crew, run_context.explain), OPEN)
        self.costs: dict[str, float] = {}
        self._explains_all = run_context.explain is Explain.ALL
        self._missing_votes = 0
        self._vote_costs: list[float] = []

    def plan(self, problem: str | None = None) -> TrialPlan:
        """Return what was looked up."""
        return TrialPlan(
            steps=self.states,
            costs=self.costs,
            problem=problem,
            missing_votes=self._missing_votes,
            vote_costs=tuple(self._vote_costs),
        )

    def look(self) -> None:
        """Look up every step whose key is known."""
        run = self._run
        self._count(step for scorer in run.scorers for step in scorer.plan_steps(run.context, None, None))
        review = self.look_up_review()
        if review is None or self.states["revision"] == NEEDLESS:
            return
        revision = self.look_up_revision(review)
        if revision is None:
            return
        self.states["verdict"] = NEEDLESS
        steps = [step for scorer in run.scorers for step in scorer.plan_steps(run.context, review, revision)]
        self._count(steps)
        if _EXPLANATION in self.states:
            self._look_up_explanations(review, revision, steps)

    def _look_up_explanations(self, review: Review, revision: Revision, steps: Iterable[Step[Any]]) -> None:
        """Note how many explanations need runs of oracles; which do is not known before the verdicts are."""
        context = self._run.context
        verdicts = next((step for step in steps if isinstance(step, EvaluationStep)), None)
        if verdicts is None:
            self.states[_EXPLANATION] = NEEDLESS
        elif self.states["verdict"] == STORED:
            scores = {name.removeprefix("/"): score for name, score in context.cache.find(verdicts).items()}
            asked = {name: score for name, score in scores.items() if self._explains_all or not score.value}
            _, step = plan_explanations(context, verdicts.comments, review, revision, asked)
            self.states[_EXPLANATION] = NEEDLESS
            self._count([step] if step.keys() else [])

    def look_up_review(self) -> Review | None:
        """Return the stored review; with it, the later steps that it makes needless are known."""
        run = self._run
        review = run.context.cache.find(ReviewStep(run.context, run.reviewer, run.review_number)).get("")
        self._note("review", review)
        if not run.revises or (review is not None and not review.size and not run.crew.spec.control):
            self.states |= dict.fromkeys(self.states.keys() & {"revision", "verdict", _EXPLANATION}, NEEDLESS)
        if not run.revises:
            self.states["proof"] = NEEDLESS
        if review is not None and JUDGEMENT in self.states:
            self._count_votes(review)
        return review

    def _count_votes(self, review: Review) -> None:
        run = self._run
        steps = [step for scorer in run.scorers for step in scorer.plan_steps(run.context, review, None)]
        votes = [run.context.cache.find(step).get("") for step in steps]
        stored = [vote for vote in votes if vote is not None]
        self._missing_votes = len(steps) - len(stored)
        self._vote_costs = known_costs(vote.usage for vote in stored)
        runs = f"{RUNS} ({self._missing_votes} of {len(steps)})"
        self.states[JUDGEMENT] = NEEDLESS if not steps else runs if self._missing_votes else STORED

    def look_up_revision(self, review: Review) -> Revision | None:
        """Return the stored revision that answers this review."""
        run = self._run
        step = RevisionStep(run.context, run.agent, run.first_findings(review).findings, run.repeat)
        revision = run.context.cache.find(step).get("")
        self._note("revision", revision)
        return revision

    def _note(self, step: str, made: Review | Revision | None) -> None:
        self.states[step] = RUNS if made is None else STORED
        if made is not None and made.usage is not None and made.usage.cost_usd is not None:
            self.costs[step] = made.usage.cost_usd

    def _count(self, steps: Iterable[Step[Any]]) -> None:
        """Note for steps with several results how many of them would be made, and what the stored ones cost."""
        counts: Counter[str] = Counter()
        missing: Counter[str] = Counter()
        for step in steps:
            found, count = self._run.context.cache.find(step), len(step.keys())
            counts[step.name] += count
            missing[step.name] += count - len(found)
            if costs := known_costs(getattr(result, "usage", None) for result in found.values()):
                self.costs[step.name] = self.costs.get(step.name, 0.0) + sum(costs)
        for name, count in counts.items():
            self.states[name] = f"{RUNS} ({missing[name]} of {count})" if missing[name] else STORED
