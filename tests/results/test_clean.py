"""False alarms per clean pull request, from the rule of an instance to every report."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pytest_crab.results.summary import summarise
from pytest_crab.show.junit import write_junit
from pytest_crab.show.page.headline import run_facts
from pytest_crab.show.terminal import summary_lines
from pytest_crab.types import Instance, Provenance, PullRequestFacts, Reason, Source, TreeSource, Trial

INSTANCE = {
    "id": "clean-1", "folder": ".", "provenance": Provenance.AUTHORED, "repo": "o/r", "license": "MIT",
    "pull_request": PullRequestFacts(number=1, title="T"),
    "source": Source(tree=TreeSource(path="tree", head="h.diff", reference="r.diff")),
}  # fmt: skip


@pytest.fixture
def trials(make_trial: Callable[..., Trial]) -> list[Trial]:
    """Four clean pull requests, of which one has no review, and one with an oracle."""
    clean = [make_trial("loud", f"clean-{at}", findings=count, clean=True) for at, count in enumerate((0, 2, 1))]
    lost = make_trial("loud", "clean-9", findings=None, clean=True, error="reviewer loud: no")
    return [*clean, lost, make_trial("loud", "one", Reason.GREEN, findings=5), make_trial("calm", "one", Reason.GREEN)]


def test_false_alarms_are_counted_by_reviewed_clean_pull_request(trials: list[Trial]) -> None:
    loud, calm = sorted(summarise(trials).reviewers, key=lambda one: one.reviewer, reverse=True)
    assert loud.clean is not None
    assert (loud.clean.reviews, loud.clean.alarmed, loud.clean.findings) == (3, 2, 3)
    assert loud.clean.per_pull_request == 1.0
    assert calm.clean is None
    assert (loud.overall.oracles, loud.overall.micro) == (1, 1.0)


def test_every_report_has_them(trials: list[Trial], tmp_path: Path) -> None:
    summary = summarise(trials)
    shown = [" ".join(line.text.split()) for line in summary_lines(summary, 200)]
    assert {"False alarms per clean PR 1.00 -", "Clean PRs with a finding 2/3 -"} <= set(shown)
    assert dict(run_facts(summary))["False alarms"].startswith("loud 1.00 false alarms per clean")
    write_junit(tmp_path / "crab.xml", trials, summary)
    values = {one.get("name"): one.get("value") for one in ElementTree.parse(tmp_path / "crab.xml").iter("property")}
    assert values["crab.false_alarms_per_clean_pull_request"] == "1"


def test_only_a_clean_instance_has_no_comments() -> None:
    assert Instance(**INSTANCE, comments=(), clean=True).clean  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is clean"):
        Instance(**INSTANCE, comments=())  # type: ignore[arg-type]


def test_runs_without_clean_pull_requests_say_nothing(trials: list[Trial]) -> None:
    summary = summarise([dataclasses.replace(trial, clean=False) for trial in trials])
    assert not any("clean" in line.text for line in summary_lines(summary))
    assert "False alarms" not in dict(run_facts(summary))
