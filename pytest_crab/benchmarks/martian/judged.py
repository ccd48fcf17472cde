"""Recorded judgements of other benchmarks: Martian's code review benchmark and BC-Bench's code review runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab.benchmarks.martian.reader import (
    MartianRelease,
    MartianResult,
    digest_of,
    has_martian,
    load,
    read_martian,
    reading,
)
from pytest_crab.errors import BadInput
from pytest_crab.text import split_lines

#: The files of BC-Bench's release.
_BCBENCH = ("code-review-results.json", "codereview.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """One reviewer's run under one judge, in counts of comments.

    ``golden`` names the version of the known issues. ``expected`` are known issues, ``matched`` those that the judge
    found in the review, ``incorrect`` the reviewer's comments that match none. Comments that count neither for nor
    against are ``neutral``. ``found`` says of each known issue, by pull request and number, whether it was matched;
    empty where the release has counts only. ``clean`` are pull requests without a known issue, ``alarmed`` those of
    them on which the reviewer commented.
    """

    reviewer: str
    judge: str
    golden: str
    pull_requests: int
    expected: int
    matched: int
    incorrect: int
    neutral: int = 0
    clean: int = 0
    alarmed: int = 0
    found: Mapping[tuple[str, int], bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRelease:
    """The runs of a release; ``golden`` names the version of its known issues, by count and digest.

    ``notes`` say which runs counted other known issues than these.
    """

    benchmark: str
    golden: str
    runs: tuple[JudgedRun, ...]
    notes: tuple[str, ...] = ()


def is_judged(folder: Path) -> bool:
    """Return True if the folder is a release that ``read_judged`` reads."""
    return has_martian(folder) or any((folder / name).exists() for name in _BCBENCH)


def read_judged(folder: Path) -> JudgedRelease:
    """Read the judgements of a release. Raises BadInput for a file that is missing or of another shape."""
    with reading(folder):
        return _read_martian(folder) if has_martian(folder) else _read_bcbench(folder)


def _read_martian(folder: Path) -> JudgedRelease:
    """Read Martian's release: every known issue against every candidate comment of every tool, by each judge."""
    release = read_martian(folder)
    return JudgedRelease(
        benchmark="Martian",
        golden=release.golden,
        runs=tuple(
            _martian_run(tool, judge, release, results)
            for judge, by_tool in release.judged.items()
            for tool, results in by_tool.items()
        ),
    )


def _martian_run(tool: str, judge: str, release: MartianRelease, results: Mapping[str, MartianResult]) -> JudgedRun:
    found = {
        (url, number): hit is not None
        for url, pull in release.pulls.items()
        for number, hit in enumerate(results[url].matched if url in results else [None] * len(pull.issues))
    }
    return JudgedRun(
        reviewer=tool,
        judge=judge,
        golden=release.golden,
        pull_requests=len(results),
        expected=len(found),
        matched=sum(found.values()),
        incorrect=sum(result.incorrect for result in results.values()),
        found=found,
    )


def _read_bcbench(folder: Path) -> JudgedRelease:
    """Read BC-Bench's runs. The score of a clean case is 1 where the reviewer kept silent, and 0 where it did not."""
    cases = [json.loads(line) for line in split_lines((folder / "codereview.jsonl").read_text("utf-8")) if line]
    known = {case["instance_id"]: case["expected_comments"] for case in cases}
    clean = {name for name, comments in known.items() if not comments}
    runs, notes = [], []
    for number, run in enumerate(load(folder / "code-review-results.json")["runs"]):
        _require_sums(folder, number, run)
        scores = {name: score for name, score in run["instance_results"].items() if name in clean}
        variant = "" if run["experiment"] is None else " with instructions"
        reviewer, version = (
            f"{run['agent_name']} {run['model']}{variant}",
            f"{run['total']} cases of {run['benchmark_version']}",
        )
        here = sum(len(known.get(name, ())) for name in run["instance_results"])
        if here != run["expected_comment_count"]:
            counts = f"{run['expected_comment_count']} known issues; codereview.jsonl has {here} for them"
            notes.append(f"runs on {version} counted {counts}")
        runs.append(
            JudgedRun(
                reviewer=reviewer,
                judge=run["judge_model"],
                golden=version,
                pull_requests=run["total"],
                expected=run["expected_comment_count"],
                matched=run["matched_comment_count"],
                incorrect=run["incorrect_comment_count"],
                neutral=run["ignored_matched_comment_count"],
                clean=len(scores),
                alarmed=sum(score < 1 for score in scores.values()),
            )
        )
    digest = digest_of([folder / "codereview.jsonl"])
    issues = sum(map(len, known.values()))
    golden = f"{issues} known issues in {len(known)} cases, {len(clean)} of them clean, sha256 {digest}"
    return JudgedRelease(benchmark="BC-Bench", golden=golden, runs=tuple(runs), notes=tuple(dict.fromkeys(notes)))


def _require_sums(folder: Path, number: int, run: Mapping[str, Any]) -> None:
    """Raise BadInput for a run whose counts do not add up: another version counts other things by these names."""
    matched = run["matched_comment_count"]
    said = matched + run["incorrect_comment_count"] + run["ignored_matched_comment_count"]
    known = matched + run["missed_comment_count"]
    if (said, known) != (run["generated_comment_count"], run["expected_comment_count"]):
        problem = f"run {number} has counts that do not add up to its comments and known issues; fetch it again"
        raise BadInput(str(folder / "code-review-results.json"), [problem])
