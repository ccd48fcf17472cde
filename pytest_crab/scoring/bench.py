"""Steps outside of trials that each ask a model once, several at a time, and what was paid for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pytest_crab.model_access import Services
from pytest_crab.scoring.steps import ModelAnswerStep, StepCache
from pytest_crab.side_by_side import side_by_side
from pytest_crab.types import Usage, total_usage

R = TypeVar("R")
T = TypeVar("T")


@dataclass(kw_only=True)
class Bench:
    """A store of answers, and what asks for those that it lacks."""

    cache: StepCache
    #: Makes what asks, given an instance and the step's name.
    services: Callable[[str, str], Services]
    #: Breaks off what is under way once an answer cannot be got at all.
    stop: Callable[[], None] = lambda: None
    jobs: int = 4
    #: The usage of each answer that was not in the store.
    asked: list[Usage | None] = field(default_factory=list)
    #: What a server's check before them used.
    checks: list[Usage | None] = field(default_factory=list)
    #: The reasons of those that could not be got.
    failed: list[str] = field(default_factory=list)

    @property
    def usage(self) -> Usage | None:
        """The usage of what was asked here; None if all answers were stored."""
        return total_usage([*self.checks, *self.asked])

    def answer(self, step: ModelAnswerStep[Any]) -> Any:
        """Return the step's answer, asked for unless it is stored. Raises what the step does, StoreError, Cancelled."""
        results = self.cache.results(step)
        if not results.reused:
            self.asked.append(results[""].usage)
        return results[""]

    def each(self, do: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Return what ``do`` makes of each item, several at a time."""
        with side_by_side(self.jobs, self.stop) as pool:
            return list(pool.map(do, items))
