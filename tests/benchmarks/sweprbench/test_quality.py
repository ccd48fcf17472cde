"""RQS: every component alone, and the command on a repository whose counts are known."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.sweprbench.quality import ReviewedRepository, repository_quality
from pytest_crab.cli import main

IDLE = ReviewedRepository(
    comments=0, substantive_comments=0, merged_in_90_days=0, merged_per_month=0, has_tests=False, has_ci=False,
    has_coverage=False, stars=10**12,
)  # fmt: skip
SUBSTANTIVE = "This should return an error instead of zero, because `price(None)` hides a bug in the caller."


@pytest.mark.parametrize(
    ("changes", "component", "points"),
    [
        ({"comments": 40, "substantive_comments": 30}, "review culture", 22.5),
        ({"merged_in_90_days": 15}, "recency", 12.5),
        ({"has_tests": True, "has_ci": True, "has_coverage": True}, "test quality", 20.0),
        ({"has_ci": True}, "test quality", 20 / 3),
        ({"merged_per_month": 90}, "volume", 15.0),
        ({"stars": 0}, "contamination", 10.0),
        ({"stars": 10_000}, "contamination", 5.0),
    ],
)
def test_each_component_of_a_repository(changes: dict[str, Any], component: str, points: float) -> None:
    found = repository_quality(dataclasses.replace(IDLE, **changes))
    assert found[component] == pytest.approx(points)
    assert sum(found.values()) == pytest.approx(points, abs=1e-6)


class Forge:
    """A repository with a merge for each pull request, and its comments as a forge exports them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.comments = folder / "repository", folder / "comments.jsonl"
        self.folder.mkdir()
        self.comments.touch()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, day: str = "2026-01-01") -> None:
        env = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_COMMITTER_DATE": f"{day}T12:00:00Z"}
        argv = ["git", "-c", "user.name=dev", "-c", "user.email=dev@example.org", *arguments]
        subprocess.run(argv, cwd=self.folder, env=env, check=True, capture_output=True)

    def commit(self, path: str, text: str = "") -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", f"Add {path}")

    def pull(self, number: int, day: str, *remarks: str) -> None:
        self.git("checkout", "--quiet", "-b", f"topic-{number}")
        self.commit(f"{number}.py")
        self.git("update-ref", f"refs/pull/{number}/head", "HEAD")
        self.git("checkout", "--quiet", "main")
        self.git("merge", "--no-ff", f"topic-{number}", "-m", f"Merge pull request #{number} from dev/topic", day=day)
        with self.comments.open("a") as file:
            for remark in remarks:
                row = {"pull": number, "path": f"{number}.py", "body": remark, "user": {"login": "ann"}}
                file.write(f"{json.dumps(row)}\n")

    def quality(self, *options: str) -> str:
        command = ["benchmark", "sweprbench", "quality", str(self.folder), "--comments", str(self.comments)]
        told = CliRunner().invoke(main, [*command, *options])
        assert told.exit_code == 0, told.output
        return told.output


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    """Three pull requests: one of the last 90 days, one of the last six months, and one before."""
    found = Forge(tmp_path)
    found.commit("shop.py")
    found.pull(1, "2026-01-10", SUBSTANTIVE, SUBSTANTIVE)
    found.pull(2, "2026-05-01", "Nice.", "Thanks!")
    found.pull(3, "2026-09-01", SUBSTANTIVE, "Nice.")
    return found


def test_a_repository_is_counted_up_to_a_day(forge: Forge) -> None:
    found = json.loads(forge.quality("--stars", "10000", "--at", "2026-09-30", "--json"))
    counts = found["counts"]
    assert (counts["comments"], counts["substantive_comments"]) == (2, 1)
    assert (counts["merged_in_90_days"], counts["merged_per_month"]) == (1, pytest.approx(2 / 6))
    points = {"review culture": 15, "recency": 25 / 30, "test quality": 0, "volume": 15 / 90, "contamination": 5}
    assert found["points"] == pytest.approx(points)
    assert found["rqs"] == pytest.approx(21)
    early = json.loads(forge.quality("--stars", "0", "--at", "2026-05-02", "--json"))["counts"]
    assert (early["merged_in_90_days"], early["merged_per_month"], early["comments"]) == (1, pytest.approx(2 / 6), 2)


@pytest.mark.parametrize(
    ("path", "text", "sign"),
    [
        ("tests/test_shop.py", "", "has_tests"),
        (".github/workflows/ci.yml", "", "has_ci"),
        (".coveragerc", "", "has_coverage"),
        ("pyproject.toml", "[tool.coverage.run]\n", "has_coverage"),
    ],
)
def test_a_sign_of_test_quality_is_a_file(forge: Forge, path: str, text: str, sign: str) -> None:
    before = json.loads(forge.quality("--stars", "0", "--json"))["counts"]
    forge.commit(path, text)
    after = json.loads(forge.quality("--stars", "0", "--json"))["counts"]
    assert after == {**before, sign: True}


def test_the_table_names_the_threshold_that_is_missed(forge: Forge) -> None:
    told = forge.quality("--stars", "10000", "--at", "2026-09-30")
    assert "RQS               21.0  100" in told
    assert "below 60" in told


def test_a_repository_without_pull_requests_is_one_sentence(tmp_path: Path) -> None:
    bare = Forge(tmp_path)
    bare.commit("shop.py")
    command = ["benchmark", "sweprbench", "quality", str(bare.folder), "--comments", str(bare.comments)]
    told = CliRunner().invoke(main, [*command, "--stars", "1"])
    assert (told.exit_code, "no pull requests as refs" in told.output) == (1, True), told.output
