"""The page's tables as plain cells: numbers come from summary.json, overlaps and repositories from the trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from fractions import Fraction
from typing import Any

from pytest_crab.report.page.rows import near
from pytest_crab.report.summary import ReviewerSummary
from pytest_crab.report.summary import Summary
from pytest_crab.types import Category
from pytest_crab.types import Trial
from pytest_crab.types import Verdict

#: What a finding is filed under that is near no comment.
ELSEWHERE = "elsewhere"

#: An oracle: its instance and its comment.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Combination:
    """How many oracles exactly these reviewers caught, in the majority of their known repeats."""

    reviewers: tuple[str, ...]
    oracles: int


@dataclass
class Gathered:
    """What is added up while trials pass by; no text and no diff is kept."""

    verdicts: dict[str, dict[Key, list[Verdict]]] = field(default_factory=dict)
    repositories: dict[Key, str] = field(default_factory=dict)
    findings: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, trial: Trial) -> None:
        """Take one trial in; of several records of a trial each is to be given once."""
        own = self.verdicts.setdefault(trial.reviewer, {})
        for result in trial.results:
            key = (trial.instance, result.comment)
            own.setdefault(key, []).append(result.verdict)
            self.repositories[key] = trial.repo
        if trial.review is not None:
            words = (word or ELSEWHERE for word in near(trial.review.findings, trial.results))
            self.findings.setdefault(trial.reviewer, Counter()).update(words)

    def values(self, reviewer: str) -> dict[Key, Fraction]:
        """The share of known repeats in which each oracle was caught; oracles without a known one are left out."""
        shares = {}
        for key, verdicts in self.verdicts.get(reviewer, {}).items():
            known = [verdict for verdict in verdicts if verdict is not Verdict.UNKNOWN]
            if known:
                shares[key] = Fraction(sum(verdict is Verdict.CAUGHT for verdict in known), len(known))
        return shares

    def caught(self, reviewer: str) -> set[Key]:
        """The oracles that the reviewer caught in more than half of their known repeats."""
        return {key for key, share in self.values(reviewer).items() if share > Fraction(1, 2)}

    def combinations(self) -> list[Combination]:
        """Who caught what together, most first (figure 5 of arXiv 2603.23448); what nobody caught is the last."""
        caught = {reviewer: self.caught(reviewer) for reviewer in self.verdicts}
        counts = Counter(tuple(name for name in caught if key in caught[name]) for key in self.repositories)
        rows = [Combination(reviewers, count) for reviewers, count in counts.items()]
        return sorted(rows, key=lambda row: (not row.reviewers, -row.oracles, row.reviewers))

    def by_repository(self) -> dict[str, dict[str, tuple[Fraction, int]]]:
        """Caught and known oracles by repository and reviewer."""
        table: dict[str, dict[str, tuple[Fraction, int]]] = {}
        for reviewer in self.verdicts:
            for key, share in self.values(reviewer).items():
                row = table.setdefault(self.repositories[key], {})
                caught, known = row.get(reviewer, (Fraction(), 0))
                row[reviewer] = caught + share, known + 1
        return dict(sorted(table.items()))


def findings_table(gathered: Gathered) -> list[dict[str, Any]]:
    """Findings by the category of the comment that they are near, a row a category that has any."""
    words = [*(word.value for word in Category), ELSEWHERE]
    totals = {reviewer: sum(counts.values()) for reviewer, counts in gathered.findings.items()}
    return [
        {"word": word, "cells": [(counts[word], totals[name]) for name, counts in gathered.findings.items()]}
        for word in words
        if any(counts[word] for counts in gathered.findings.values())
    ]


def categories_table(summary: Summary) -> list[dict[str, Any]]:
    """Caught of known by category (figure 7 of arXiv 2603.23448), a row a category that has oracles."""
    return [
        {"word": word.value, "cells": [reviewer.by_category.get(word.value) for reviewer in summary.reviewers]}
        for word in Category
        if any(word.value in reviewer.by_category for reviewer in summary.reviewers)
    ]


def points(reviewers: Sequence[ReviewerSummary]) -> Iterator[dict[str, Any]]:
    """Where each reviewer with a known cost and rate stands in the plot of cost per trial against rate."""
    priced = [one for one in reviewers if one.cost_usd is not None and one.overall.micro is not None and one.trials]
    most = max((one.cost_usd or 0) / one.trials for one in priced) if priced else 0
    for one in priced:
        cost = (one.cost_usd or 0) / one.trials
        yield {
            "reviewer": one.reviewer,
            "cost": cost,
            "x": 60 + 500 * (cost / most if most else 0),
            "y": 220 - 200 * (one.overall.micro or 0),
        }
