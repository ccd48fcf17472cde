"""What a trial would do, from the store alone: nothing is built, asked or run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from pytest_crab import diffs
from pytest_crab import harness
from pytest_crab import plain
from pytest_crab.errors import CrabError
from pytest_crab.errors import DiffRejected
from pytest_crab.sources import is_fetched
from pytest_crab.trial import keys
from pytest_crab.trial.crew import Crew
from pytest_crab.trial.stage import Stage
from pytest_crab.trial.story import Course
from pytest_crab.trial.world import World
from pytest_crab.types import Instance
from pytest_crab.types import Review
from pytest_crab.types import Revision

R = TypeVar("R", Review, Revision)

STORED, RUNS, OPEN, NEEDLESS = "stored", "would run", "depends on what runs before", "not needed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Foresight:
    """For each step: stored, would run, depends, or not needed; and what the stored review and revision once cost."""

    steps: Mapping[str, str]
    costs: Mapping[str, float]
    problem: str | None = None


def foresee(instance: Instance, crew: Crew, world: World, *, repeat: int = 1) -> Foresight:
    """Look the trial's steps up in the store; the source is fetched if need be, since every key names its trees."""
    steps = dict.fromkeys(("proof", "review", "revision", "verdict"), OPEN)
    costs: dict[str, float] = {}
    try:
        _look(Stage(instance, crew, world, lambda _step: None), repeat, steps, costs)
    except CrabError as error:
        return Foresight(steps=steps, costs=costs, problem=str(error))
    return Foresight(steps=steps, costs=costs)


def _look(stage: Stage, repeat: int, steps: dict[str, str], costs: dict[str, float]) -> None:
    course = Course(stage, repeat)
    proofs = keys.proofs(stage, harness.VERSION)
    stored = [stage.world.store.get("proof", key) is not None for key in proofs.values()]
    steps["proof"] = STORED if all(stored) else f"{RUNS} ({stored.count(False)} of {len(stored)} oracles)"
    review = _stored(stage, "review", course.review_key(), Review)
    steps["review"] = STORED if review is not None else RUNS
    if review is None:
        return
    if not review.size and not stage.crew.spec.control:
        steps["revision"] = steps["verdict"] = NEEDLESS
        return
    _add_cost(costs, "review", review)
    revision = _stored(stage, "revision", course.revision_key(review.findings), Revision)
    steps["revision"] = STORED if revision is not None else RUNS
    if revision is None:
        return
    _add_cost(costs, "revision", revision)
    try:
        tree = stage.snapshot.apply(diffs.normalise(revision.diff))
    except DiffRejected:
        tree = stage.snapshot.head_tree
    if tree == stage.snapshot.head_tree:
        steps["verdict"] = NEEDLESS
        return
    judged = [stage.world.store.get("verdict", keys.verdict(tree, key)) is not None for key in proofs.values()]
    steps["verdict"] = STORED if all(judged) else f"{RUNS} ({judged.count(False)} of {len(judged)} oracles)"


def _stored(stage: Stage, step: str, key: str, kind: type[R]) -> R | None:
    value = None if step in stage.world.fresh else stage.world.store.get(step, key)
    return None if value is None else plain.read(kind, value, [])


def _add_cost(costs: dict[str, float], step: str, made: Review | Revision) -> None:
    if made.usage is not None and made.usage.cost_usd is not None:
        costs[step] = made.usage.cost_usd


def known_asks(instance: Instance, crew: Crew, world: World, *, repeat: int = 1) -> tuple[bool, bool]:
    """Whether a trial's review and its revision need not be made; neither, if its source was never fetched.

    Nothing is fetched, built or run.
    """
    if not is_fetched(instance, world.cache):
        return False, False
    course = Course(Stage(instance, crew, world, lambda _step: None), repeat)
    review = _stored(course.stage, "review", course.review_key(), Review)
    if review is None:
        return False, False
    if not review.size and not crew.spec.control:
        return True, True
    return True, _stored(course.stage, "revision", course.revision_key(review.findings), Revision) is not None
