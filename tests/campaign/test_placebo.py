from __future__ import annotations

import json
from pathlib import Path

from pytest_crab.campaign.placebo import mismatch_reviews, write_reviews
from pytest_crab.testing.trials import trial_of
from pytest_crab.types import Finding, Provenance, Review, Trial


def trial(instance: str, *lengths: int, repo: str = "", reviewer: str = "mine") -> Trial:
    return trial_of(
        instance=instance,
        repo=repo or f"owner/{instance}",
        provenance=Provenance.AUTHORED,
        reviewer=reviewer,
        agent="mini",
        runtime="local",
        review=Review(findings=tuple(Finding(body=instance * length) for length in lengths)),
        results=(),
    )


def said(review: Review) -> str:
    """Whose words a review holds; ids are one letter long."""
    return review.findings[0].body[0]


def test_findings_come_from_the_most_alike_review_of_another_repository() -> None:
    trials = [
        trial("a", 10, 10),
        trial("b", 10, 10, repo="owner/a"),
        trial("c", 90, 90),
        trial("d", 12, 12),
        trial("e", 10, 10, reviewer="other"),
    ]
    found = mismatch_reviews(trials, "mine")
    assert {name: said(review) for name, review in found.items()} == {"a": "d", "b": "d", "c": "d", "d": "a"}


def test_the_same_repository_is_better_than_nothing_and_alone_is_nothing() -> None:
    assert said(mismatch_reviews([trial("a", 1, repo="o/r"), trial("b", 9, repo="o/r")], "mine")["a"]) == "b"
    assert mismatch_reviews([trial("a", 1)], "mine") == {}


def test_files_are_as_the_replay_reviewer_reads_them(tmp_path: Path) -> None:
    write_reviews(tmp_path / "new", {"a": Review(findings=(Finding(body="x", path="p.py", start=3),))})
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["a.json"]
    written = json.loads((tmp_path / "new" / "a.json").read_text())
    assert written == {"schema": 1, "findings": [{"body": "x", "path": "p.py", "start": 3, "side": "right"}]}
