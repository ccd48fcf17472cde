"""Recorded judgements of other benchmarks: Martian's code review benchmark and BC-Bench's code review runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from pytest_crab.errors import BadInput

#: Files that tell the releases apart.
_MARTIAN = ("golden_comments", "evaluations")
_BCBENCH = ("code-review-results.json", "codereview.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """One reviewer's run under one judge, in counts of comments.

    ``expected`` are known issues, ``matched`` those that the judge found in the review, ``incorrect`` the reviewer's
    comments that match none. Comments that count neither for nor against are ``neutral``. ``found`` says of each known
    issue, by pull request and number, whether it was matched; empty where the release has counts only. ``clean`` are
    pull requests without a known issue, ``alarmed`` those of them on which the reviewer commented.
    """

    reviewer: str
    judge: str
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
    """The runs of a release; ``golden`` names the version of its known issues, by count and digest."""

    benchmark: str
    golden: str
    runs: tuple[JudgedRun, ...]


def is_judged(folder: Path) -> bool:
    """Return True if the folder is a release that ``read_judged`` reads."""
    return any(all((folder / name).exists() for name in names) for names in (_MARTIAN, _BCBENCH))


def read_judged(folder: Path) -> JudgedRelease:
    """Read the judgements of a release. Raises BadInput for a file that is missing or of another shape."""
    read = _read_martian if (folder / _MARTIAN[0]).exists() else _read_bcbench
    try:
        return read(folder)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        what = f"{type(error).__name__}: {str(error)[:80]}"
        raise BadInput(str(folder), [f"it is no release of this shape ({what}); fetch it again"]) from error
    except OSError as error:
        raise BadInput(str(error.filename), [f"it cannot be read ({error.strerror})"]) from error


def _read_martian(folder: Path) -> JudgedRelease:
    """Read Martian's release: every known issue against every candidate comment of every tool, by each judge."""
    golden = {
        pull_request["url"]: [comment["comment"] for comment in pull_request["comments"]]
        for path in sorted((folder / "golden_comments").glob("*.json"))
        for pull_request in _load(path)
    }
    runs = []
    for path in sorted((folder / "evaluations").glob("*/evaluations.json")):
        by_tool: dict[str, dict[str, Any]] = {}
        for url, results in _load(path).items():
            for tool, result in results.items():
                by_tool.setdefault(tool, {})[url] = result
        runs += [_martian_run(tool, path.parent.name, golden, by_tool[tool]) for tool in sorted(by_tool)]
    issues = sum(map(len, golden.values()))
    version = _digest(path for path in sorted((folder / "golden_comments").glob("*.json")))
    return JudgedRelease(benchmark="Martian", golden=f"{issues} known issues, sha256 {version}", runs=tuple(runs))


def _martian_run(tool: str, judge: str, golden: Mapping[str, list[str]], results: Mapping[str, Any]) -> JudgedRun:
    found = {}
    for url, texts in golden.items():
        hits = [one["golden_comment"] for one in results[url]["true_positives"]] if url in results else []
        for number, text in enumerate(texts):
            found[url, number] = text in hits
            if text in hits:
                hits.remove(text)
    return JudgedRun(
        reviewer=tool,
        judge=judge,
        pull_requests=len(results),
        expected=len(found),
        matched=sum(found.values()),
        incorrect=sum(len(result["false_positives"]) for result in results.values()),
        found=found,
    )


def _read_bcbench(folder: Path) -> JudgedRelease:
    """Read BC-Bench's runs. The score of a clean case is 1 where the reviewer kept silent, and 0 where it did not."""
    cases = [json.loads(line) for line in (folder / "codereview.jsonl").read_text("utf-8").splitlines() if line]
    known = {case["instance_id"]: case["expected_comments"] for case in cases}
    clean = {name for name, comments in known.items() if not comments}
    runs = []
    for run in _load(folder / "code-review-results.json")["runs"]:
        scores = {name: score for name, score in run["instance_results"].items() if name in clean}
        variant = "" if run["experiment"] is None else " with instructions"
        selection = f"{run['total']} cases of {run['benchmark_version']}"
        runs.append(
            JudgedRun(
                reviewer=f"{run['agent_name']} {run['model']}{variant}, {selection}",
                judge=run["judge_model"],
                pull_requests=run["total"],
                expected=run["expected_comment_count"],
                matched=run["matched_comment_count"],
                incorrect=run["incorrect_comment_count"],
                neutral=run["ignored_matched_comment_count"],
                clean=len(scores),
                alarmed=sum(score < 1 for score in scores.values()),
            )
        )
    version = _digest([folder / "codereview.jsonl"])
    issues = sum(map(len, known.values()))
    golden = f"{issues} known issues in {len(known)} cases, {len(clean)} of them clean, sha256 {version}"
    return JudgedRelease(benchmark="BC-Bench", golden=golden, runs=tuple(runs))


def _load(path: Path) -> Any:
    return json.loads(path.read_bytes())


def _digest(paths: Any) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]
