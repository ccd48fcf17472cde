"""BC-Bench's code review runs: recorded judgements in counts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_crab.errors import BadInput
from pytest_crab.instances.archives import digest_of, load, reading
from pytest_crab.results.judged_runs import JudgedRelease, JudgedRun
from pytest_crab.text import split_lines

#: Where a checkout has its runs and its cases with their known issues, and their names in a folder of their own.
RUNS = ("docs/_data/code-review.json", "code-review-results.json")
CASES = ("dataset/codereview.jsonl", "codereview.jsonl")


def find(folder: Path, names: Sequence[str]) -> Path:
    """Return the first of these files that is there, else the last."""
    return next((folder / name for name in names if (folder / name).is_file()), folder / names[-1])


def has_runs(folder: Path) -> bool:
    """Return True if the folder is a release, or a part of one."""
    return any((folder / name).exists() for name in (*RUNS, *CASES))


def names_of(run: Mapping[str, Any]) -> tuple[str, str]:
    """Return a run's reviewer, and the version of the cases that it was on."""
    variant = "" if run["experiment"] is None else " with instructions"
    return f"{run['agent_name']} {run['model']}{variant}", f"{run['total']} cases of {run['benchmark_version']}"


def read_judged(folder: Path) -> JudgedRelease:
    """Read the runs of a release. Raises BadInput for a file that is missing or of another shape.

    The score of a clean case is 1 where the reviewer kept silent, and 0 where it did not.
    """
    with reading(folder):
        return _release(folder)


def _release(folder: Path) -> JudgedRelease:
    file = find(folder, CASES)
    cases = [json.loads(line) for line in split_lines(file.read_text("utf-8")) if line]
    known = {case["instance_id"]: case["expected_comments"] for case in cases}
    clean = {name for name, comments in known.items() if not comments}
    runs, notes = [], []
    results = find(folder, RUNS)
    for number, run in enumerate(load(results)["runs"]):
        _require_sums(results, number, run)
        scores = {name: score for name, score in run["instance_results"].items() if name in clean}
        reviewer, version = names_of(run)
        here = sum(len(known.get(name, ())) for name in run["instance_results"])
        if here != run["expected_comment_count"]:
            counts = f"{run['expected_comment_count']} known issues; {file.name} has {here} for them"
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
    digest = digest_of([file])
    issues = sum(map(len, known.values()))
    golden = f"{issues} known issues in {len(known)} cases, {len(clean)} of them clean, sha256 {digest}"
    return JudgedRelease(benchmark="BC-Bench", golden=golden, runs=tuple(runs), notes=tuple(dict.fromkeys(notes)))


def _require_sums(file: Path, number: int, run: Mapping[str, Any]) -> None:
    """Raise BadInput for a run whose counts do not add up: another version counts other things by these names."""
    matched = run["matched_comment_count"]
    said = matched + run["incorrect_comment_count"] + run["ignored_matched_comment_count"]
    known = matched + run["missed_comment_count"]
    if (said, known) != (run["generated_comment_count"], run["expected_comment_count"]):
        problem = f"run {number} has counts that do not add up to its comments and known issues; fetch it again"
        raise BadInput(str(file), [problem])
