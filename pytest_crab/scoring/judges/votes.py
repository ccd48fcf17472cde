"""Questions to a judge, the step that asks them, and the label that the votes give."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_crab import serialization
from pytest_crab.model_access import Services
from pytest_crab.scoring.steps import ModelAnswerStep
from pytest_crab.types import Finding, Side, Usage

#: The name of the step that asks a judge once.
JUDGEMENT = "judgement"

#: Other forms of a question: finding and issue in the other order, and a finding with words that say nothing.
FORMS = SWAPPED, PADDED = ("swapped", "padded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """A known issue: the human comment, with its place."""

    #: Empty: there is no known issue, and the finding is shown alone.
    body: str
    path: str | None = None
    lines: tuple[int, int] | None = None
    side: Side = Side.RIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuestion:
    """A finding and a known issue of one pull request."""

    instance: str
    #: The digest of its content.
    pull_request: str
    finding: Finding
    gold: Gold
    #: How they are shown: as the judge does, or in one of FORMS, which should change no label.
    form: str = ""
    #: A part of the diff that is shown before them; empty: none is.
    code: str = ""
    #: The whole diff, of which a judge may show what its rule wants; ``pull_request`` names it already.
    diff: str = ""

    @property
    def digest(self) -> str:
        """The digest that names the question."""
        return serialization.digest(dataclasses.replace(self, diff=""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One answer of a judge."""

    #: None: it is none of the labels, and ``reason`` says so.
    label: str | None = None
    reason: str
    #: From 1 to 5, where a judge is asked for it.
    actionability: int | None = None
    usage: Usage | None = None
    transcript: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VotedLabel:
    """The label of a finding against one known issue."""

    #: None: unknown, for ``reason``.
    label: str | None
    reason: str
    #: All answers.
    votes: tuple[Vote, ...] = ()
    #: Whether none of the answers was a label, though each was given.
    unreadable: bool = False

    @property
    def actionability(self) -> float | None:
        """The mean of the votes' actionability; None where none has it."""
        known = [vote.actionability for vote in self.votes if vote.actionability is not None]
        return sum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormCheck:
    """Questions in another form."""

    form: str
    #: Questions with a label in both forms.
    compared: int
    #: Those of them whose label is another one in this form.
    changed: int


#: Returns the decisions on these questions, by the questions' digests.
Decide = Callable[[Iterable[JudgeQuestion]], Mapping[str, VotedLabel]]


class Judge(Protocol):
    """A model that gives findings one of some labels."""

    #: The name of its rule.
    role: str
    labels: tuple[str, ...]
    #: Whether it compares a finding with a known issue; its first label then says that the finding hits the issue.
    knows_hits: bool

    @property
    def votes(self) -> int:
        """The number of votes on each question."""

    @property
    def provider(self) -> str:
        """The gateway's name of its provider."""

    def identity(self) -> Mapping[str, Any]:
        """Return everything that decides a vote, as plain data."""

    def judge(self, services: Services, question: JudgeQuestion) -> Vote:
        """Ask once. Raises ModelError, GatewayError."""


def vote_step(
    judge: Judge, identity: Mapping[str, Any], question: JudgeQuestion, number: int, services: Services
) -> ModelAnswerStep[Vote]:
    """Return the step that asks a judge of this identity a question once; ``number`` counts the votes on it from 1.

    A vote is stored by judge, rule, pull request, finding, known issue and number.
    """
    known = {
        "judge": identity,
        "rule": judge.role,
        "pull_request": question.pull_request,
        "finding": question.finding,
        "gold": question.gold,
        "vote": number,
        **({"form": question.form} if question.form else {}),
        **({"code": question.code} if question.code else {}),
    }
    return ModelAnswerStep(name=JUDGEMENT, record=Vote, known=known, ask=lambda: judge.judge(services, question))


def decide(votes: Sequence[Vote]) -> VotedLabel:
    """Return the label that more than half of the votes give; without one the judge abstains, and it is unknown."""
    counts = Counter(vote.label for vote in votes)
    label, count = counts.most_common(1)[0]
    if 2 * count > len(votes):
        reason = next(vote.reason for vote in votes if vote.label == label)
        unreadable = label is None and count == len(votes)
        return VotedLabel(label=label, reason=reason, votes=tuple(votes), unreadable=unreadable)
    split = ", ".join(f"{count} {label or 'without a label'}" for label, count in counts.most_common())
    return VotedLabel(label=None, reason=f"the votes are split: {split}", votes=tuple(votes))
