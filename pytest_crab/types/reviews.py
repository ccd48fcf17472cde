"""Records between a trial and its reviewer and agent: pull request, findings, review, revision, usage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pytest_crab.types.enums import Side

#: What a reviewer may be there for that is no contestant: to say nothing, to say what was said of another pull request,
#: or to say only the first findings of a contestant's review.
CONTROL, PLACEBO, FIRST = "control", "placebo", "first findings"
VARIANTS = (CONTROL, PLACEBO, FIRST)

#: More than any model could read, write, answer or cost in one step; sums over any number of steps stay finite.
MOST_TOKENS, MOST_REQUESTS, MOST_USD = 10**12, 10**9, 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """All that a reviewer or an agent sees: no oracle, no reference, no number, url or date to look it up by."""

    repo: str
    language: str
    title: str
    body: str
    base: str
    head: str
    diff: str
    base_branch: str = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens, money and requests of one step; None: not measured. Raises ValueError for a number below 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    requests: int | None = None
    #: The names of the models that answered, sorted, as the gateway saw them asked for.
    models: tuple[str, ...] | None = None
    #: How often providers were asked, each request again where that may help; this and what follows say nothing of use.
    tries: int | None = field(default=None, compare=False)
    #: The names of all models that were asked.
    asked: tuple[str, ...] | None = field(default=None, compare=False)
    #: The requests that had no answer.
    failed_requests: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name, most in _BOUNDS.items():
            amount = getattr(self, name)
            if amount is not None and not 0 <= amount <= most:
                raise ValueError(f"{name} is {str(amount)[:30]}; it should be from 0 to {most:.0f}")


_BOUNDS = {
    **dict.fromkeys(("input_tokens", "output_tokens"), MOST_TOKENS),
    **dict.fromkeys(("requests", "tries", "failed_requests"), MOST_REQUESTS),
    "cost_usd": MOST_USD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerUsage:
    """The answers that one scorer of a trial had from its models, stored ones too."""

    #: The number of answers.
    answers: int = 0
    #: The usage of these answers.
    usage: Usage | None = None
    #: The known cost of those that were asked in this run; None: none was asked, or no cost is known.
    paid_usd: float | None = None
    #: Whether the models measure the contestant; False: they are the contestant, and its cost is theirs.
    judge: bool = False


#: What a step used that asks no model.
FREE = Usage(input_tokens=0, output_tokens=0, cost_usd=0.0, requests=0, models=(), asked=(), failed_requests=0)


def known_costs(usages: Iterable[Usage | None]) -> list[float]:
    """Return the US dollars of those usages whose cost is known."""
    return [usage.cost_usd for usage in usages if usage is not None and usage.cost_usd is not None]


def total_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """Return the sum over several attempts; one unknown makes a sum unknown. None if there is no attempt."""
    found = [usage or Usage() for usage in usages]
    if not found:
        return None

    def total(name: str) -> Any:
        amounts = [getattr(usage, name) for usage in found]
        return None if None in amounts else sum(amounts)

    def every(name: str) -> tuple[str, ...] | None:
        return tuple(sorted({model for usage in found for model in getattr(usage, name) or ()})) or None

    sums = ("input_tokens", "output_tokens", "cost_usd", "requests", "tries", "failed_requests")
    return Usage(**{name: total(name) for name in sums}, models=every("models"), asked=every("asked"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One remark of a review."""

    body: str
    #: The file; None: the whole pull request.
    path: str | None = None
    #: The first line; None: the whole file.
    start: int | None = None
    end: int | None = None
    side: Side = Side.RIGHT
    title: str | None = None
    severity: str | None = None
    confidence: str | None = None
    rule: str | None = None

    def __post_init__(self) -> None:
        if self.start is not None and self.start < 1:
            raise ValueError("start should be a line number, counted from 1")
        if self.end is not None and (self.start is None or self.end < self.start):
            raise ValueError("end should not lie before start")

    @property
    def lines(self) -> tuple[int, int] | None:
        """The first and the last line, one line alone being both; None: the whole file."""
        return None if self.start is None else (self.start, self.end or self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The findings of a reviewer on one pull request; a review may have none."""

    findings: tuple[Finding, ...] = ()
    usage: Usage | None = None
    version: str | None = None
    #: The number of findings where their text is not on record; None: ``findings`` are all.
    count: int | None = None
    #: The key in the store of what a client printed.
    transcript: str | None = None
    #: One sentence for each finding that could not be read where others could.
    set_aside: tuple[str, ...] = ()
    #: One sentence for each finding whose place, or a part of it, could not be read, and which is without it.
    unplaced: tuple[str, ...] = ()
    #: The usage of attempts before this one; None: there was none.
    failed: Usage | None = None
    #: The number of a model's answers that could not be read, and were asked for once more.
    asked_again: int | None = None
    #: One sentence for each part of the pull request that the prompt did not hold whole.
    cut: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of findings that there are or were."""
        return len(self.findings) if self.count is None else self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionCounts:
    """The suggestion blocks in findings by what became of them; the rest does not fit the head, or another one."""

    given: int = 0
    #: Those that were applied.
    applied: int = 0
    #: Those after which their file could not be parsed any more.
    unparsed: int = 0
    #: Those whose mark, place or end cannot be read.
    unread: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionCommit:
    """One commit of a revision: a claim, since only runs of oracles tell what it resolves."""

    #: A git diff from the commit before it, from head for the first one.
    diff: str
    #: The numbers, from 1, of those that the agent says it acts on here; none: it does not say.
    findings: tuple[int, ...] = ()
    #: Its first line.
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """An agent's answer to the findings."""

    #: A git diff from head, which may be empty.
    diff: str = ""
    #: The same diff as a series, one commit for each finding that was acted on; none: it is no series.
    commits: tuple[RevisionCommit, ...] = ()
    usage: Usage | None = None
    version: str | None = None
    notes: str | None = None
    #: The key in the store of what a client printed.
    transcript: str | None = None
    #: Why what the agent left is no diff; such a revision is stored, so that it is not asked again, and on no record.
    rejected: str | None = None
    #: True of a diff that was made elsewhere and only kept: one that does not apply is then no miss.
    recorded: bool | None = None
    #: The usage of attempts before this one; None: there was none.
    failed: Usage | None = None
    #: The suggestion blocks, where the agent only applies these.
    suggestions: SuggestionCounts | None = None
    #: One sentence for each part of the pull request that the prompt did not hold whole.
    cut: tuple[str, ...] = ()
