"""The records that every layer shares: frozen, complete, and plain JSON in and out (see plain)."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

INSTANCE_ID = re.compile(r"[A-Za-z0-9._@-]{1,120}")

#: The version of the trial record, of instance.yaml and of the command contract; older ones are still read.
SCHEMA = 1


class Word(str, enum.Enum):
    """An enum whose members are their own text."""

    def __str__(self) -> str:
        return str(self.value)


class Provenance(Word):
    """Where a pull request comes from: written for this repository, or a real one."""

    AUTHORED = "authored"
    GITHUB = "github"


class Kind(Word):
    """What an oracle does: run the code, or inspect its source (arXiv 2603.23448, section 4.2.3)."""

    BEHAVIORAL = "behavioral"
    STRUCTURAL = "structural"


class Category(Word):
    """The ten concerns of arXiv 2603.23448, figure 7."""

    FUNCTIONAL = "functional"
    TESTING = "testing"
    ROBUSTNESS = "robustness"
    COMPATIBILITY = "compatibility"
    DOCUMENTATION = "documentation"
    DESIGN = "design"
    ERROR_HANDLING = "error-handling"
    MAINTAINABILITY = "maintainability"
    EFFICIENCY = "efficiency"
    SECURITY = "security"


class Side(Word):
    """Which version of the file a line number counts in: left is base, right is head."""

    LEFT = "left"
    RIGHT = "right"


class Runner(Word):
    """What runs an oracle: pytest, node's own test runner, or the jest that the environment has."""

    PYTEST = "pytest"
    NODE = "node"
    JEST = "jest"


class Isolation(Word):
    """Whether an oracle imports the project (none) or runs it as another process of another user (process)."""

    NONE = "none"
    PROCESS = "process"


class Verdict(Word):
    """What is known about one oracle after a trial (design: a trial)."""

    CAUGHT = "caught"
    MISSED = "missed"
    UNKNOWN = "unknown"


class Reason(Word):
    """Why a verdict is what it is; each reason belongs to exactly one verdict."""

    GREEN = "green"

    FAILED = "test failed"
    NO_FINDINGS = "no findings"
    EMPTY_REVISION = "empty revision"
    DOES_NOT_APPLY = "does not apply"
    INSTALL = "install broke"
    TIMEOUT = "timed out"
    MEMORY = "out of memory"
    PROCESSES = "too many processes"
    OUTPUT = "too much output"
    CRASHED = "interpreter crashed"
    EXITED = "exited early"
    NOT_COLLECTED = "tests did not run"
    SKIPPED = "tests were skipped"
    TAMPERED = "tampered"
    LIMIT = "over the trial's budget"

    REVIEWER_ERROR = "reviewer error"
    AGENT_ERROR = "agent error"
    BROKEN = "broken"
    NOT_RUN = "not run"

    @property
    def verdict(self) -> Verdict:
        """The verdict that this reason stands for."""
        if self is Reason.GREEN:
            return Verdict.CAUGHT
        unknown = {Reason.REVIEWER_ERROR, Reason.AGENT_ERROR, Reason.BROKEN, Reason.NOT_RUN}
        return Verdict.UNKNOWN if self in unknown else Verdict.MISSED


# --- the instance: one pull request with its environment, comments and oracles ---------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestFacts:
    """What is publicly known about the pull request; only title and body are shown to a reviewer."""

    number: int
    title: str
    body: str = ""
    url: str | None = None
    merged_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSource:
    """A real pull request: full shas in a public repository; ``base`` is the merge base."""

    url: str
    base: str
    head: str
    merged: str

    def __post_init__(self) -> None:
        for name in ("base", "head", "merged"):
            if not re.fullmatch(r"[0-9a-f]{40}", getattr(self, name)):
                raise ValueError(f"{name} is not a full sha of 40 hex digits")


@dataclass(frozen=True, slots=True, kw_only=True)
class SdistSource:
    """A released package and a pull request on it: ``head`` from the sdist, ``reference`` from head."""

    name: str
    version: str
    sha256: str
    head: str
    reference: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[0-9a-f]{64}", self.sha256):
            raise ValueError("sha256 is not 64 hex digits")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSource:
    """A folder of the instance or of its set (../), and a pull request on it: ``reference`` starts from head."""

    path: str
    head: str
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the code comes from: exactly one of the three."""

    git: GitSource | None = None
    sdist: SdistSource | None = None
    tree: TreeSource | None = None

    def __post_init__(self) -> None:
        if sum(source is not None for source in (self.git, self.sdist, self.tree)) != 1:
            raise ValueError("exactly one of git, sdist and tree is needed")

    @property
    def only(self) -> GitSource | SdistSource | TreeSource:
        """The one that is set."""
        only = self.git or self.sdist or self.tree
        assert only is not None
        return only


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What the code runs in; paths are relative to the tree, ``timeout`` is seconds per oracle.

    With ``node``, a version, it is node's: ``packages`` are npm's, and node or jest runs its oracles.
    ``resolved`` is the moment as of which the packages were chosen (2019-04-11T15:02:59Z): files that were uploaded
    later are not taken, neither of the packages nor of what builds them.
    """

    dockerfile: str | None = None
    image: str | None = None
    python: str | None = None
    node: str | None = None
    packages: tuple[str, ...] = ()
    resolved: str | None = None
    system: tuple[str, ...] = ()
    install: tuple[str, ...] = ()
    paths: tuple[str, ...] = (".",)
    workdir: str = "/workspace"
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: int = 120

    def __post_init__(self) -> None:
        if (self.dockerfile is None) == (self.image is None):
            raise ValueError("exactly one of dockerfile and image is needed")
        if self.timeout <= 0:
            raise ValueError("timeout should be a number of seconds above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """The executable test of one comment: red on the pull request, green once the comment is resolved."""

    file: str
    runner: Runner = Runner.PYTEST
    isolation: Isolation = Isolation.NONE
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """What a human wrote in review; ``lines`` are 1-based and inclusive on ``side``, None is the whole file.

    A comment without an oracle, and so without a kind, is read by those who read comments and measured by nobody.
    """

    id: str
    path: str
    lines: tuple[int, int] | None = None
    side: Side = Side.RIGHT
    body: str
    url: str | None = None
    category: Category
    kind: Kind | None = None
    oracle: Oracle | None = None
    reference: str | None = None
    accepts: tuple[str, ...] = ()
    rejects: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,40}", self.id):
            raise ValueError("id should be 1 to 40 letters, digits, dots, underscores or hyphens")
        if self.lines is not None and not 1 <= self.lines[0] <= self.lines[1]:
            raise ValueError("lines should be [first, last], counted from 1")
        if self.oracle is not None and self.kind is None:
            raise ValueError("kind is missing; it says whether the oracle is behavioral or structural")
        if self.oracle is None and (self.kind or self.reference or self.accepts or self.rejects):
            raise ValueError("oracle is missing; kind, reference, accepts and rejects say something about one")

    @property
    def examined(self) -> Oracle:
        """The oracle; asked only of comments that have one (see Instance.measured)."""
        assert self.oracle is not None
        return self.oracle


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One pull request with its environment, comments and oracles; ``folder`` is where its files lie."""

    schema: int = SCHEMA
    id: str
    folder: str
    provenance: Provenance
    repo: str
    language: str = "python"
    license: str
    pull_request: PullRequestFacts
    source: Source
    environment: Environment
    comments: tuple[Comment, ...]
    pass_to_pass: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.schema != SCHEMA:
            raise ValueError(f"schema {self.schema} is not known here; this version reads {SCHEMA}")
        if not INSTANCE_ID.fullmatch(self.id):
            raise ValueError("id should be 1 to 120 letters, digits or any of . _ @ -")
        if not self.comments:
            raise ValueError("an instance without comments measures nothing")
        ids = [comment.id for comment in self.comments]
        if len(set(ids)) != len(ids):
            raise ValueError("two comments have the same id")

    @property
    def measured(self) -> tuple[Comment, ...]:
        """The comments that have an oracle, in order; none where the instance is there to be read."""
        return tuple(comment for comment in self.comments if comment.oracle is not None)


# --- the crew: what contestants are shown and what they give back ----------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """All that a reviewer or an agent is told: no oracle, no reference, no number, url or date to look it up by."""

    repo: str
    language: str
    title: str
    body: str
    base: str
    head: str
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a step used; None is "not measured", zero is a measurement.

    ``models`` are the names of the models that answered, sorted, as the gateway saw them asked for.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    requests: int | None = None
    models: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One remark of a review; ``path`` None is a remark on the whole pull request, ``start`` None on the whole file."""

    body: str
    path: str | None = None
    start: int | None = None
    end: int | None = None
    side: Side = Side.RIGHT
    title: str | None = None
    severity: str | None = None
    rule: str | None = None

    def __post_init__(self) -> None:
        if self.start is not None and self.start < 1:
            raise ValueError("start should be a line number, counted from 1")
        if self.end is not None and (self.start is None or self.end < self.start):
            raise ValueError("end should not lie before start")


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What a reviewer said about one pull request; no findings is a review too.

    ``count`` is how many findings there were where their text is not on record; None: ``findings`` are all.
    ``transcript`` is the key in the store of what a client printed.
    """

    findings: tuple[Finding, ...] = ()
    usage: Usage | None = None
    version: str | None = None
    count: int | None = None
    transcript: str | None = None

    @property
    def size(self) -> int:
        """How many findings there are or were."""
        return len(self.findings) if self.count is None else self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What an agent made of the findings: a git diff from head; an empty one is a revision too.

    ``transcript`` is the key in the store of what a client printed.
    """

    diff: str = ""
    usage: Usage | None = None
    version: str | None = None
    notes: str | None = None
    transcript: str | None = None


# --- what the harness in the workspace reports -----------------------------------------------------------------------


class Ending(Word):
    """How one run in the workspace ended."""

    COMPLETED = "completed"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    PROCESSES = "processes"
    OUTPUT = "output"
    CRASHED = "crashed"
    EXITED = "exited"
    UNSTARTED = "unstarted"


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


#: What a reviewer may be there for that is no contestant: to say nothing, to say what was said of another pull request,
#: or to say only the first findings of a contestant's review.
CONTROL, PLACEBO, FIRST = "control", "placebo", "first findings"
ARMS = (CONTROL, PLACEBO, FIRST)


# --- what a trial leaves on the record -------------------------------------------------------------------------------


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

    ``retried`` is what earlier attempts at it failed with, in order: see trial.retries; ``seconds`` are the last one's.
    """

    step: str
    reused: bool
    seconds: float
    retried: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One (instance, reviewer, repeat): the record behind every number; ``damage`` None is "not measured".

    ``leaky`` names who worked on the public pull request, whose discussion it could read.
    ``status`` is what a client's output was read as, where that is why there is no review or revision.
    ``arm`` is None for a contestant and says of others what they are there for: see ARMS. ``attribution`` holds, for
    each caught comment, the places in the review (from 0) of the findings that alone led to the catch.
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

    def having(self, verdict: Verdict) -> tuple[OracleResult, ...]:
        """The results with this verdict."""
        return tuple(result for result in self.results if result.verdict is verdict)
