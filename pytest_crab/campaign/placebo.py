"""Findings of another pull request for every pull request: as many and as long, and about something else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_crab import serialization
from pytest_crab.atomic import SHARED, write_atomically
from pytest_crab.types import Review, Trial


def mismatch_reviews(trials: Iterable[Trial], reviewer: str) -> dict[str, Review]:
    """Return for each instance that this reviewer reviewed the most alike review of another one.

    Reviews of another repository come first; alike is by the number of findings, then by the length of their text.
    """
    reviews = {
        trial.instance: (trial.repo, trial.review)
        for trial in trials
        if trial.reviewer == reviewer and trial.review is not None and trial.review.count is None
    }
    return {name: found for name in reviews if (found := _other(name, reviews)) is not None}


def write_reviews(folder: Path, reviews: Mapping[str, Review]) -> None:
    """Write one file per instance, as the replay reviewer reads them. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, review in reviews.items():
        findings = [serialization.dump(finding) for finding in review.findings]
        text = json.dumps({"schema": 1, "findings": findings})
        write_atomically(folder / f"{name}.json", text.encode(), SHARED)  # workers of pytest-xdist write it too


def _other(name: str, reviews: Mapping[str, tuple[str, Review]]) -> Review | None:
    repo, own = reviews[name]

    def unlike(other: str) -> tuple[bool, int, int, str]:
        their_repo, review = reviews[other]
        return their_repo == repo, abs(review.size - own.size), abs(_length(review) - _length(own)), other

    others = [other for other in reviews if other != name]
    return reviews[min(others, key=unlike)][1] if others else None


def _length(review: Review) -> int:
    return sum(len(finding.body) for finding in review.findings)
