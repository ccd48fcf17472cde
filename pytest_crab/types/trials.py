"""What oracle runs say, and what a trial leaves on the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from pytest_crab.types.contestants import Review
from pytest_crab.types.contestants import Revision
from pytest_crab.types.contestants import Usage
from pytest_crab.types.words import Category
from pytest_crab.types.words import Ending
from pytest_crab.types.words import Kind
from pytest_crab.types.words import Provenance
from pytest_crab.types.words import Reason
from pytest_crab.types.words import Side
from pytest_crab.types.words import Verdict

#: The version of the trial record, of instance.yaml and of the command contract; older ones are still read.
SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TestOutcome:
    """One test of an oracle: passed, failed, error, skipped, xfailed or xpassed; ``where`` is never in the oracle."""

    __test__ = False

    id: str
    outcome: str
    exception: str | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of an oracle or a command; ``tripwire``: whether the tests that must fail did, None if none ran."""

    id: str
    ending: Ending
    exit_code: int | None = None
    signal: int | None = None
    tests: tuple[TestOutcome, ...] = ()
    tripwire: bool | None = None
    altered: tuple[str, ...] = ()
    seconds: float = 0.0
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """That an oracle is red at head and green at the reference: ``expected`` are the tests seen green there.

    ``altered`` are the names that the project itself changes in the interpreter at the reference, and so may change.
    ``flake_bound`` is the 95% upper bound on the chance that a run disagrees, given that all ``runs``, of every state
    together, came out as they should.
    """

    comment: str
    expected: tuple[str, ...]
    altered: tuple[str, ...] = ()
    runs: int
    flake_bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on one oracle, with its reason and one sentence of detail."""

    reason: Reason
    detail: str | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict that the reason stands for."""
        return self.reason.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleResult:
    """One oracle in a trial; ``path``, ``lines`` and ``side`` are its comment's.

    ``resolvable`` is whether this agent was seen to resolve it from the human comment alone; None: nobody has looked.
    """

    comment: str
    path: str | None = None
    lines: tuple[int, int] | None = None
    side: Side = Side.RIGHT
    category: Category
    kind: Kind
    verdict: Verdict
    reason: Reason
    detail: str | None = None
    tests: tuple[TestOutcome, ...] = ()
    flake_bound: float | None = None
    resolvable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One step of a trial: whether the store had it, and the seconds that it took here.

    ``retried`` is what earlier attempts at it failed with, in order: see trial.retries; of a verdict also how runs
    ended that were made again. ``seconds`` are the last one's. ``deadline`` is how many its reviewer or agent had at
    most; None: it names no deadline.
    """

    step: str
    reused: bool
    seconds: float
    retried: tuple[str, ...] = ()
    deadline: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One (instance, reviewer, repeat): the record behind every number; ``damage`` None is "not measured".

    ``leaky`` names who worked on the public pull request, whose discussion it could read.
    ``status`` is what a client's output was read as, where that is why there is no review or revision.
    ``arm`` is None for a contestant and says of others what they are there for: see ARMS. ``attribution`` holds, for
    each caught comment, the places in the review (from 0) of the findings that alone led to the catch. ``off_diff`` are
    the paths of those findings that name no file of the pull request's diff; None: not looked at. ``transcripts`` are
    the keys in the store of what was said in its steps, in their order, failed tries among them. ``failed`` is what
    those attempts used after which there is no review or no revision on this record; None: there was none.
    """

    schema: int = SCHEMA
    instance: str
    repo: str
    provenance: Provenance
    reviewer: str
    agent: str
    runtime: str
    repeat: int = 1
    privileged: tuple[str, ...] = ()
    leaky: tuple[str, ...] = ()
    simulated: bool = False
    review: Review | None = None
    revision: Revision | None = None
    results: tuple[OracleResult, ...]
    damage: bool | None = None
    error: str | None = None
    status: str | None = None
    skipped: str | None = None
    steps: tuple[StepRecord, ...] = ()
    seconds: float = 0.0
    started: str | None = None
    versions: Mapping[str, Any] = field(default_factory=dict)
    arm: str | None = None
    attribution: Mapping[str, tuple[int, ...]] | None = None
    off_diff: tuple[str, ...] | None = None
    transcripts: tuple[str, ...] = ()
    failed: Usage | None = None

    @property
    def usages(self) -> tuple[Usage | None, ...]:
        """What the review and the revision used, of those that there are; None: not measured."""
        return tuple(step.usage for step in (self.review, self.revision) if step is not None)

    @property
    def failed_usages(self) -> tuple[Usage, ...]:
        """What attempts used that came to nothing, whether or not a later one came to something."""
        holders = (self.review, self.revision, self)
        return tuple(one.failed for one in holders if one is not None and one.failed is not None)

    def having(self, verdict: Verdict) -> tuple[OracleResult, ...]:
        """The results with this verdict."""
        return tuple(result for result in self.results if result.verdict is verdict)
