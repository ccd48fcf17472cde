"""The explanation of a verdict, as far as the commits of a revision tell."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_crab.types.enums import StrEnum


class Explain(StrEnum):
    """The verdicts that are explained by further runs of oracles."""

    ALL = "all"
    MISSES = "misses"
    NONE = "none"


class ExplainedOutcome(StrEnum):
    """The outcomes: the first five explain a miss (the fifth also a catch), the others a catch."""

    NOT_FOUND = "not found"
    LEFT = "left by the agent"
    NOT_RESOLVED = "not resolved"
    SPOILED = "spoiled"
    UNCLEAR = "cannot be told apart"
    BY_FINDING = "by finding"
    TOGETHER = "together"
    BY_NO_FINDING = "by no finding"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The explanation of one oracle's verdict; findings are named by their numbers in the review, from 1."""

    outcome: ExplainedOutcome
    #: The findings near the comment.
    near: tuple[int, ...] = ()
    #: Whether the oracle is green with the commits of these and the earlier ones that they need; None: not to be told.
    alone: bool | None = None
    #: Of a catch those whose commits it needs, and of a spoiled one those whose commit spoils it.
    findings: tuple[int, ...] = ()
    #: One sentence where there is more to say.
    detail: str | None = None

    @property
    def found(self) -> bool:
        """True if a finding lies near the comment."""
        return bool(self.near)

    @property
    def words(self) -> str:
        """The explanation for people: ``by finding 1``, ``spoiled by the fix of finding 3``, ``not found``."""
        named = f"finding{'s' if len(self.findings) > 1 else ''} {', '.join(map(str, self.findings))}"
        words = str(self.outcome)
        if self.findings:
            words = {
                ExplainedOutcome.BY_FINDING: f"by {named}",
                ExplainedOutcome.SPOILED: f"spoiled by the fix of {named}",
                ExplainedOutcome.TOGETHER: f"by {named} together",
            }.get(self.outcome, words)
        return f"{words} ({self.detail})" if self.detail else words
