"""The effects of each rule of selection on collected pull requests: alone, and if it alone were turned off."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_crab.curation.permission import Permission
from pytest_crab.curation.pipeline import as_decision
from pytest_crab.curation.select import OFF, Selection
from pytest_crab.formats import format_count, format_table
from pytest_crab.types import PullCandidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Counts of pull requests and of their comments that are kept."""

    pulls: int = 0
    comments: int = 0

    def __str__(self) -> str:
        return f"{self.pulls} ({self.comments})"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEffect:
    """One rule with its value, and its effect."""

    rule: str
    value: object
    #: Kept by the rule alone.
    alone: Kept
    #: Kept by the others without it.
    without: Kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """The effects of all rules on some candidates."""

    #: All candidates.
    given: Kept
    #: Kept by all rules together.
    kept: Kept
    rules: tuple[RuleEffect, ...]

    def lines(self) -> Iterator[str]:
        """Yield a table with a row for each rule, and a sentence on all of them."""
        head = ("rule", "value", "kept by it alone", "kept without it")
        rows = [(one.rule, _yaml(one.value), str(one.alone), str(one.without)) for one in self.rules]
        yield from format_table([head, *rows])
        pulls = format_count(self.given.pulls, "pull request")
        yield (
            f"all rules together keep {self.kept.pulls} of {pulls} and {self.kept.comments} of "
            f"{format_count(self.given.comments, 'comment')} (comments in brackets)"
        )


def find_effects(permission: Permission, selection: Selection, candidates: Sequence[PullCandidate]) -> Effects:
    """Return what these rules would keep of collected candidates. Asks no model."""
    free = dataclasses.replace(permission, private=True)
    none = dataclasses.replace(selection, **dict[str, Any](OFF))

    def kept(permit: Permission, select: Selection) -> Kept:
        found = list(_select(permit, select, candidates))
        return Kept(pulls=len(found), comments=sum(len(one.comments) for one in found))

    effects = [
        RuleEffect(
            rule="curate.private",
            value=permission.private,
            alone=kept(permission, none),
            without=kept(free, selection),
        )
    ]
    for rule, off in OFF.items():
        value = getattr(selection, rule)
        alone = dataclasses.replace(none, **dict[str, Any]({rule: value}))
        without = dataclasses.replace(selection, **dict[str, Any]({rule: off}))
        effect = RuleEffect(
            rule=f"curate.select.{rule}", value=value, alone=kept(free, alone), without=kept(permission, without)
        )
        effects.append(effect)
    given = Kept(pulls=len(candidates), comments=sum(len(one.comments) for one in candidates))
    return Effects(given=given, kept=kept(permission, selection), rules=tuple(effects))


def _select(
    permission: Permission, selection: Selection, candidates: Sequence[PullCandidate]
) -> Iterator[PullCandidate]:
    for before in candidates:
        found: PullCandidate | None = before
        for stage in (permission, selection):
            found = as_decision(found, stage.decide(found)).candidate if found is not None else None
        if found is not None:
            yield found


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
