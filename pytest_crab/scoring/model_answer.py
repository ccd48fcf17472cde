"""The step that asks a model once, for what is asked outside of trials and for the votes of judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.scoring.protocols import Step

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswerStep(Step[R]):
    """The step that asks a model once; see scoring.protocols.Step. Each answer is stored and paid for once.

    ``known`` is everything that decides the answer, as plain data, and ``ask`` asks. ``run`` raises what ``ask`` does:
    ModelError, GatewayError.
    """

    name: str
    record: type[R]
    known: Mapping[str, Any]
    ask: Callable[[], R]

    paid: ClassVar[bool] = True
    deadline: ClassVar[None] = None
    reruns: ClassVar[tuple[str, ...]] = ()

    @override
    def keys(self) -> Mapping[str, str]:
        return {"": serialization.digest(self.known)}

    @override
    def run(self, subjects: Sequence[str]) -> Mapping[str, R]:
        return dict.fromkeys(subjects, self.ask())

    @override
    def lasts(self, result: R) -> bool:
        return True
