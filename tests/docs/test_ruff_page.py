"""docs/explanation/ruff.md pairs what ruff catches with the rules that led to it, as the records do."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pytest_crab import load_instances, load_trials
from pytest_crab.agents.simulated import hits
from pytest_crab.parsing.review_output import read_review
from pytest_crab.types import CommentResult, Trial, Verdict

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| `([\w-]+)` \| (c\d) \| ([A-Z0-9, ]+) \| ", re.MULTILINE)
_CATEGORY = re.compile(r"^\| ([a-z-]+) \| (\d)/(\d) \| ", re.MULTILINE)


def told() -> dict[tuple[str, str], set[str]]:
    """The page's rules by instance and comment."""
    page = (ROOT / "docs/explanation/ruff.md").read_text()
    return {(instance, comment): set(rules.split(", ")) for instance, comment, rules in _ROW.findall(page)}


def told_of_categories() -> dict[str, tuple[int, int]]:
    """The page's caught and known oracles by category."""
    page = (ROOT / "docs/explanation/ruff.md").read_text()
    return {name: (int(caught), int(known)) for name, caught, known in _CATEGORY.findall(page)}


def rules_on(result: CommentResult, trial: Trial) -> set[str]:
    """The rules of the findings that lie on the comment's lines."""
    assert trial.review is not None
    assert result.place.lines is not None
    first, last = result.place.lines
    return {
        str(finding.rule)
        for finding in trial.review.findings
        if finding.path == result.place.path and finding.start is not None
        and finding.start <= last and (finding.end or finding.start) >= first
    }  # fmt: skip


def test_flagging_every_added_line_strikes_as_often_as_the_page_says() -> None:
    remarks, struck, missed = 0, 0, []
    instances = load_instances(ROOT / "instances/quickstart")
    for instance in instances:
        assert instance.source.tree is not None
        request = json.dumps({"diff": Path(instance.folder, instance.source.tree.head).read_text()})
        argv = [sys.executable, str(ROOT / "docs/examples/every_line.py")]
        printed = subprocess.run(argv, input=request, capture_output=True, text=True, check=True).stdout
        problems: list[str] = []
        review = read_review(printed, problems)
        assert review is not None, problems
        remarks += len(review.findings)
        for comment in instance.with_oracles:
            if any(hits(finding, comment) for finding in review.findings):
                struck += 1
            else:
                missed.append(f"`{instance.id}` {comment.id}")
    page = (ROOT / "docs/explanation/ruff.md").read_text()
    assert f"makes {remarks} remarks, {remarks / len(instances):.0f} for each pull request" in page
    assert f"catches {struck} of {struck + len(missed)} oracles" in page
    assert missed == ["`ledger-19-budgets` c1"]
    assert missed[0] in page


@pytest.mark.slow(reason="a whole set is proved")
@pytest.mark.bubblewrap
def test_the_pairs_on_the_page_are_those_of_the_records(first_run: Path) -> None:
    trials = list(load_trials(first_run / ".crab" / "report"))
    instances = load_instances(first_run / "first")
    assert [trial.instance for trial in trials] == [instance.id for instance in instances]
    results = [(trial, result) for trial in trials for result in trial.results]
    unknown = [result.detail for _, result in results if result.verdict is Verdict.UNKNOWN]
    assert not unknown
    caught = {
        (trial.instance, result.comment): rules_on(result, trial)
        for trial, result in results
        if result.verdict is Verdict.CAUGHT
    }
    assert caught == told()
    known = Counter(str(comment.category) for instance in instances for comment in instance.with_oracles)
    hit = Counter(str(result.place.category) for _, result in results if result.verdict is Verdict.CAUGHT)
    assert {name: (hit[name], count) for name, count in known.items()} == told_of_categories()
    assert f"catches {len(caught)} of {known.total()} oracles" in (ROOT / "docs/explanation/ruff.md").read_text()
