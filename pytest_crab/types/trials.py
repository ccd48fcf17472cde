"""The record of a trial."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pytest_crab.lazy import lazy
from pytest_crab.types.enums import Provenance, Unit, Verdict
from pytest_crab.types.explanations import Explanation
from pytest_crab.types.reviews import Review, Revision, ScorerUsage, Usage
from pytest_crab.types.scores import COMPARED, CommentResult, Score, ScoredComment

#: The version of instance.yaml, of probes.json and of the command contract.
SCHEMA = 1

#: The version of the trial record.
TRIAL_SCHEMA = 2
#: The subject of the score that says whether the project's own passing tests still pass.
PASS_TO_PASS = "pass_to_pass"  # noqa: S105 - the field's term

#: The runtime on the record of a trial in which no code ran.
NO_RUNTIME = "none"


class TrialId(NamedTuple):
    """The name of a trial in a run: INSTANCE::REVIEWER, and INSTANCE::REVIEWER[N] from the second repeat on."""

    instance: str
    reviewer: str
    repeat: int = 1

    def __str__(self) -> str:
        return f"{self.instance}::{self.item_name}"

    @property
    def item_name(self) -> str:
        """The part behind the instance: the name of the trial's pytest item."""
        return self.reviewer if self.repeat == 1 else f"{self.reviewer}[{self.repeat}]"

    @classmethod
    def parse(cls, text: str) -> TrialId:
        """Read a name; the first repeat may be spelled out. Raises ValueError."""
        match = re.fullmatch(r"(.+?)::(.+?)(?:\[(\d+)\])?", text)
        if match is None:
            raise ValueError(f"{text!r} names no trial; it should be INSTANCE::REVIEWER or INSTANCE::REVIEWER[N]")
        return cls(match[1], match[2], int(match[3] or 1))


def full_name(reviewer: str, agents: Iterable[str]) -> str:
    """Return the name of a reviewer with its agent, as a run with several agents has it."""
    return "+".join((reviewer, *agents))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One step of a trial."""

    step: str
    #: Whether the store had it.
    reused: bool
    #: The seconds that the last attempt took here.
    seconds: float
    #: The causes of earlier attempts' failures, in order: see trial.retries; of a verdict also the endings of runs
    #: made again.
    retried: tuple[str, ...] = ()
    #: The most seconds that its reviewer or agent had; None: it names no deadline.
    deadline: float | None = None


@dataclass(frozen=True, kw_only=True)  # without slots, for what is made once and kept
class Trial:
    """One (instance, reviewer, repeat): the record behind every number."""

    schema: int = TRIAL_SCHEMA
    instance: str
    repo: str
    provenance: Provenance
    #: The language of the instance; empty: not on record.
    language: str = ""
    #: The name of the contestant; where several agents act on a reviewer's review, that of both.
    reviewer: str
    agent: str
    #: Where code ran, or NO_RUNTIME.
    runtime: str
    repeat: int = 1
    privileged: tuple[str, ...] = ()
    #: Who worked on the public pull request, whose discussion it could read.
    leaky: tuple[str, ...] = ()
    simulated: bool = False
    review: Review | None = None
    revision: Revision | None = None
    #: The comments of the instance.
    comments: tuple[ScoredComment, ...] = ()
    #: The scorers' results, the first scorer's first.
    scores: tuple[Score, ...] = ()
    error: str | None = None
    #: The reading of a client's output, where that is why there is no review or revision.
    status: str | None = None
    skipped: str | None = None
    steps: tuple[StepRecord, ...] = ()
    seconds: float = 0.0
    started: str | None = None
    versions: Mapping[str, Any] = field(default_factory=dict)
    #: The purpose of one that is no contestant: see VARIANTS; None: it is one.
    variant: str | None = None
    #: For each caught comment, the places in the review (from 0) of the findings each of which alone is enough for it.
    attribution: Mapping[str, tuple[int, ...]] | None = None
    #: Why each comment's oracle was caught or missed, where the revision's commits were looked at.
    explanations: Mapping[str, Explanation] = field(default_factory=dict)
    #: The paths of those findings that name no file of the pull request's diff; None: not looked at.
    off_diff: tuple[str, ...] | None = None
    #: The keys in the store of what was said in its steps, in their order, failed tries among them.
    transcripts: tuple[str, ...] = ()
    #: The usage of attempts after which there is no review or no revision on this record; None: there was none.
    failed: Usage | None = None
    #: Whether the pull request is known to have no issue.
    clean: bool = False
    #: The usage of scorers' models, by scorer; a scorer without a model is not in it.
    scoring: Mapping[str, ScorerUsage] = field(default_factory=dict)
    #: The reviewer alone where several agents act on its review.
    review_by: str | None = None
    #: The number of the review where several revisions are made of each; None: that of ``repeat``.
    review_number: int | None = None

    @lazy
    def id(self) -> TrialId:
        """Its name in the run."""
        return TrialId(self.instance, self.reviewer, self.repeat)

    @property
    def usages(self) -> tuple[Usage | None, ...]:
        """The contestant's usage: of the review, of the revision and of its answers, of those that there are.

        None among them: not measured.
        """
        steps = [step.usage for step in (self.review, self.revision) if step is not None]
        return (*steps, *[own.usage for own in self.scoring.values() if not own.judge])

    @property
    def failed_usages(self) -> tuple[Usage, ...]:
        """The usage of failed attempts, also where a later one succeeded."""
        holders = (self.review, self.revision, self)
        return tuple([one.failed for one in holders if one is not None and one.failed is not None])

    @lazy
    def results(self) -> tuple[CommentResult, ...]:
        """The verdicts of ``ruler``, in the order of ``comments``; none where it gives none."""
        ruler = self.ruler
        found = {score.subject: score for score in self.scores if score.scorer == ruler and score.unit is Unit.COMMENT}
        return tuple([CommentResult(comment, found[comment.id]) for comment in self.comments if comment.id in found])

    @lazy
    def ruler(self) -> str | None:
        """The first scorer that gave verdicts, which decides the outcome; None: there is none."""
        own = (score.scorer for score in self.scores if score.unit is Unit.COMMENT and score.label != COMPARED)
        return next(own, None)

    @property
    def regressions(self) -> bool | None:
        """True if the revision broke the tests of pass_to_pass; None: not measured."""
        for score in self.scores:
            if score.unit is Unit.TRIAL and score.subject == PASS_TO_PASS:
                return None if score.value is None else bool(score.value)
        return None

    def having(self, verdict: Verdict) -> tuple[CommentResult, ...]:
        """The results with this verdict."""
        return tuple([result for result in self.results if result.verdict is verdict])
