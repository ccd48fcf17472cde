from __future__ import annotations

import os
from pathlib import Path

import pytest

from fake_checkout import FakeCheckout
from pytest_crab.errors import ReviewerError
from pytest_crab.parsing.report_formats import ReportFormat
from pytest_crab.reviewers.replay import BoundReplayReviewer, ReplayReviewer
from pytest_crab.types import Finding, Instance


@pytest.fixture
def reviewer(tmp_path: Path, instance: Instance) -> BoundReplayReviewer:
    return ReplayReviewer(reviews=".", folder=str(tmp_path)).bind(instance)


def test_the_recording_is_the_review(tmp_path: Path, reviewer: BoundReplayReviewer, checkout: FakeCheckout) -> None:
    (tmp_path / "calc-1.json").write_text('{"schema": 1, "findings": [{"body": "B"}], "version": "v7"}')
    review = reviewer.review(checkout.pull_request(), checkout)
    assert review.findings == (Finding(body="B"),)
    assert review.version == "v7"
    assert checkout.openings == []


def test_the_identity_follows_the_recording(tmp_path: Path, reviewer: BoundReplayReviewer) -> None:
    (tmp_path / "calc-1.json").write_text("1")
    before = reviewer.identity()
    (tmp_path / "calc-1.json").write_text("2")
    assert reviewer.identity() != before


def test_a_missing_recording_is_named(tmp_path: Path, reviewer: BoundReplayReviewer, checkout: FakeCheckout) -> None:
    with pytest.raises(ReviewerError, match=r"calc-1\.json: no review is recorded there"):
        reviewer.review(checkout.pull_request(), checkout)
    with pytest.raises(ReviewerError, match=r"calc-1\.json"):
        reviewer.identity()


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a folder", "too long"])
def test_what_has_no_end_is_no_recording(tmp_path: Path, reviewer: BoundReplayReviewer, kind: str) -> None:
    file = tmp_path / "calc-1.json"
    match kind:
        case "a pipe":
            os.mkfifo(file)
        case "a device":
            file.symlink_to("/dev/zero")
        case "a folder":
            file.mkdir()
        case _:
            with file.open("wb") as out:
                out.truncate(1 << 40)
    with pytest.raises(ReviewerError, match=r"calc-1\.json: no review is recorded there \((it is no file|it is too)"):
        reviewer.identity()


def test_a_recording_that_is_no_review_is_named(
    tmp_path: Path, reviewer: BoundReplayReviewer, checkout: FakeCheckout
) -> None:
    (tmp_path / "calc-1.json").write_bytes(b'{"schema": 1, "findings": [{}, {}], "x": "\xff"}')
    with pytest.raises(ReviewerError, match=r"calc-1\.json: findings\[0\].body is missing \(and 1 more\)"):
        reviewer.review(checkout.pull_request(), checkout)


def test_a_number_of_findings_is_a_review_without_text(
    tmp_path: Path, reviewer: BoundReplayReviewer, checkout: FakeCheckout
) -> None:
    (tmp_path / "calc-1.json").write_text('{"schema": 1, "findings": 3, "verdicts": {"c0": true}, "repo": "o/n"}')
    review = reviewer.review(checkout.pull_request(), checkout)
    assert (review.findings, review.count, review.size) == ((), 3, 3)


@pytest.mark.parametrize("findings", ["3", "[]"], ids=["number", "list"])
def test_a_replayed_review_cost_what_its_recording_says(
    tmp_path: Path, reviewer: BoundReplayReviewer, checkout: FakeCheckout, findings: str
) -> None:
    def cost_with(said: str) -> float | None:
        (tmp_path / "calc-1.json").write_text(f'{{"schema": 1, "findings": {findings}{said}}}')
        usage = reviewer.review(checkout.pull_request(), checkout).usage
        return None if usage is None else usage.cost_usd

    assert cost_with(', "usage": {"cost_usd": 0.25}') == 0.25
    assert cost_with("") is None
    with pytest.raises(ReviewerError, match="cost_usd is -1"):
        cost_with(', "usage": {"cost_usd": -1}')


@pytest.mark.parametrize("findings", ["null", "true", "-1", '"3"'])
def test_what_is_no_number_of_findings_is_no_review(
    tmp_path: Path, reviewer: BoundReplayReviewer, checkout: FakeCheckout, findings: str
) -> None:
    (tmp_path / "calc-1.json").write_text(f'{{"schema": 1, "findings": {findings}}}')
    with pytest.raises(ReviewerError, match="no list of findings"):
        reviewer.review(checkout.pull_request(), checkout)


def test_a_name_stands_for_what_the_set_has_recorded(tmp_path: Path, instance: Instance) -> None:
    bound = ReplayReviewer(reviewer="codex").bind(instance)
    assert bound.file == Path(instance.folder).parent / "recorded" / "codex" / "calc-1.json"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "either reviews, a folder, or reviewer"),
        ({"reviews": ".", "reviewer": "codex"}, "either reviews, a folder, or reviewer"),
        ({"reviewer": "../codex"}, "it should be a name in the set's recorded results"),
    ],
)
def test_settings_that_name_no_recording(settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ReplayReviewer(**settings)


@pytest.mark.parametrize("name", ["calc-1.json", "calc-1.xml"])
def test_a_recording_may_be_a_report_of_another_tool(
    name: str, tmp_path: Path, instance: Instance, checkout: FakeCheckout
) -> None:
    report = '<checkstyle><file name="calc.py"><error line="2" message="Wrong."/></file></checkstyle>'
    (tmp_path / name).write_text(report)
    reviewer = ReplayReviewer(reviews=".", folder=str(tmp_path), kind=ReportFormat.CHECKSTYLE).bind(instance)
    review = reviewer.review(checkout.pull_request(), checkout)
    assert review.findings == (Finding(path="calc.py", start=2, body="Wrong."),)
    assert reviewer.identity() != ReplayReviewer(reviews=".", folder=str(tmp_path)).bind(instance)
