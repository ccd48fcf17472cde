"""Steps with stored results: a stored result is used again, a missing one is made once and stored."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.errors import StoreError
from pytest_crab.protocols import Store
from pytest_crab.types.reviews import known_costs

R = TypeVar("R")


class Step(Protocol[R]):
    """One step of a trial: results by subject (a comment's id, or "" where the step has only one).

    Caching, retries, timing and the record are the context's: a step only names its keys and does its work.
    """

    @property
    def name(self) -> str:
        """The step's name on the record, in the store and in messages."""

    @property
    def record(self) -> type[R]:
        """The record that a result is stored as."""

    @property
    def paid(self) -> bool:
        """True if a result costs money: a damaged one in the store is then an error and is not made again."""
        return False

    @property
    def deadline(self) -> float | None:
        """The seconds that its reviewer or agent has; None where none is set."""
        return None

    @property
    def reruns(self) -> Sequence[str]:
        """The endings of runs inside the step that were made again, for the record."""
        return ()

    def keys(self) -> Mapping[str, str]:
        """The store key of each result, by subject: a digest of everything that decides it. Runs nothing."""

    def run(self, subjects: Sequence[str]) -> Mapping[str, R]:
        """Make the results of these subjects. Raises CrabError where the machine failed, not a contestant."""

    def lasts(self, result: R) -> bool:  # noqa: ARG002 - for those of which some may not
        """Return whether a result may be reused; one that a failure of this machine caused may not."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswerStep(Step[R]):
    """The step that asks a model once, outside of trials and for the votes of judges; each answer is paid for once.

    ``run`` raises what ``ask`` does: ModelError, GatewayError.
    """

    name: str
    record: type[R]
    #: Everything that decides the answer, as plain data.
    known: Mapping[str, Any]
    #: Asks the model.
    ask: Callable[[], R]

    paid: ClassVar[bool] = True

    @override
    def keys(self) -> Mapping[str, str]:
        return {"": serialization.digest(self.known)}

    @override
    def run(self, subjects: Sequence[str]) -> Mapping[str, R]:
        return dict.fromkeys(subjects, self.ask())


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResults(Mapping[str, R]):
    """The results of a step by subject."""

    results: Mapping[str, R]
    #: Whether the store had all of them.
    reused: bool

    def __getitem__(self, subject: str) -> R:
        return self.results[subject]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)


def _advise_fresh(step: str, key: str) -> str:  # noqa: ARG001 - as every advice
    return f"run again with --crab-rerun={step}, which makes it again"


@dataclass(frozen=True, kw_only=True)
class StepCache:
    """The results of steps in a store."""

    store: Store
    #: The names of steps whose results are made anew, each once.
    fresh: Sequence[str] = ()
    #: The keys of those that are, which all caches of a run share.
    made: set[str] = field(default_factory=set)
    #: Ends the wait for a result that another thread or process is making.
    cancelled: threading.Event = field(default_factory=threading.Event)
    #: Returns how a paid result of another shape is made anew, given its step and key.
    advice: Callable[[str, str], str] = _advise_fresh

    def find(self, step: Step[R]) -> dict[str, R]:
        """Return those results of a step that the store has. Raises what the step's keys need, and StoreError."""
        return self._find(step, step.keys())

    def results(self, step: Step[R]) -> StepResults[R]:
        """Return all results of a step; the missing ones are made and stored. Raises what the step raises."""
        with contextlib.ExitStack() as locks:
            named = step.keys()
            results = self._find(step, named)
            unknown = {subject: key for subject, key in named.items() if subject not in results}
            for key in sorted(set(unknown.values())):
                locks.enter_context(self.store.lock(step.name, key, self.cancelled))
            # Another trial may have made them while this one waited for the locks.
            results |= self._find(step, unknown)
            missing = [subject for subject in named if subject not in results]
            if step.name in self.fresh:
                for subject in missing:
                    self.store.drop_notes(step.name, named[subject])
            made = step.run(missing) if missing else {}
            for subject, result in made.items():
                if step.lasts(result):
                    self.store.put(step.name, named[subject], serialization.dump(result))
                    self.made.add(named[subject])
        return StepResults(results={**results, **made}, reused=not missing)

    def _find(self, step: Step[R], named: Mapping[str, str]) -> dict[str, R]:
        kept = {subject: key for subject, key in named.items() if step.name not in self.fresh or key in self.made}
        values = self.store.get_all(step.name, dict.fromkeys(kept.values())) if kept else {}
        found = {subject: self._read(step, key, values[key]) for subject, key in kept.items()}
        return {subject: result for subject, result in found.items() if result is not None}

    def _read(self, step: Step[R], key: str, value: Any) -> R | None:
        if value is None:
            return None
        problems: list[str] = []
        result = serialization.read(step.record, value, problems)
        if result is None and step.paid:
            raise StoreError(
                f"the stored {step.name} {key} is of another shape ({problems[0]}); {self.advice(step.name, key)}"
            )
        return None if result is None or not step.lasts(result) else result


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """The steps that ask a model once, before they run."""

    #: The number of all steps.
    steps: int
    #: The number of stored ones.
    stored: int
    #: An estimate for the others by the mean cost of the stored ones; None: the cost of none is known.
    cost_usd: float | None


def plan_steps(cache: StepCache, steps: Iterable[Step[Any]]) -> StepPlan:
    """Return what these steps need, each of which asks once and keeps its usage. Raises StoreError."""
    found = [list(cache.find(step).values()) for step in steps]
    stored = [result for results in found for result in results]
    costs = known_costs(result.usage for result in stored)
    missing = len(found) - len(stored)
    cost = 0.0 if not missing else missing * sum(costs) / len(costs) if costs else None
    return StepPlan(steps=len(found), stored=len(stored), cost_usd=cost)
