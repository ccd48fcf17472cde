"""Runs of oracles, what they prove, and the verdict on one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_crab.types.enums import Ending, Reason, Verdict

#: The file in an id of pytest's, and what follows the name of a test with parameters, of a class and of a block.
_OF_FILE = re.compile(r"\Atest_\w+\.\w+::")
_INNER = ("[", "::", " > ")


@dataclass(frozen=True, slots=True, kw_only=True)
class OraclePart:
    """One of several things that a comment asks for."""

    #: What it is, in a sentence.
    asks: str
    #: The names of its tests.
    tests: tuple[str, ...]

    def has(self, test: str) -> bool:
        """Return whether a test of this id, alone or among others, is what one of the names stands for."""
        own = _OF_FILE.sub("", test)
        return any(own == name or own.startswith(tuple(name + end for end in _INNER)) for name in self.tests)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """The result for one of the things that a comment asks for."""

    asks: str
    #: Whether a revision resolves it.
    resolved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TestOutcome:
    """One test of an oracle."""

    __test__ = False

    id: str
    #: One of passed, failed, error, skipped, xfailed and xpassed.
    outcome: str
    exception: str | None = None
    #: The place of the failure, which is never in the oracle.
    where: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of an oracle or a command."""

    id: str
    ending: Ending
    exit_code: int | None = None
    signal: int | None = None
    tests: tuple[TestOutcome, ...] = ()
    #: Whether the tests that must fail did; None if none ran.
    tripwire: bool | None = None
    altered: tuple[str, ...] = ()
    seconds: float = 0.0
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The proof that an oracle is red at head and green at the reference."""

    comment: str
    #: The tests that are green at the reference.
    expected: tuple[str, ...]
    #: Those of them that are green at head too, and hold what a fix must not break. The others are the concern's own.
    guards: tuple[str, ...] = ()
    #: The oracle's parts, each with the ids of its own tests.
    parts: tuple[OraclePart, ...] = ()
    #: The names that the project itself changes in the interpreter at the reference, and so may change.
    altered: tuple[str, ...] = ()
    #: The number of runs, of every state together.
    runs: int
    #: The 95% upper bound on the chance that a run disagrees, given that all runs came out as they should.
    flake_bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on one oracle."""

    reason: Reason
    #: One sentence.
    detail: str | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict that the reason stands for."""
        return self.reason.verdict
