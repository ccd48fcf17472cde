"""A made-up release of c-CRAB's shape: four pull requests, five comments, two tools, and all of it can be counted."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SHA = {name: name * 40 for name in "0abcdef"}

A, B, C, D = "one__app-1@aaaaaaa", "one__app-2@bbbbbbb", "two__lib-3@ccccccc", "two__lib-4@ddddddd"
REPOS = {A: "one/app", B: "one/app", C: "two/lib", D: "two/lib"}
BEHAVIORAL = "import app\n\n\ndef test_it():\n    assert app.total([1]) == 1\n"
STRUCTURAL = 'def test_it():\n    assert "total" in open("/workspace/app.py").read()\n'
DIFF = "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-one\n+two"


def text(words: str) -> str:
    return f"@user1:\n{words}\n\n@author:\nDone."


def row(name: str, *comments: str, **changes: Any) -> dict[str, Any]:
    number = int(name.partition("-")[2].partition("@")[0])
    return {
        "instance_id": name,
        "repo": REPOS[name],
        "language": "Python",
        "pull_number": number,
        "title": None,
        "body": None,
        "resolved_issues": [],
        "base_commit": SHA["0"],
        "commit_to_review": {
            "head_commit": SHA[name[-1]],
            "head_commit_message": "Count better\n\nMuch better.",
            "patch_to_review": DIFF,
        },
        "reference_review_comments": [
            {"text": text(words), "path": "app.py", "diff_hunk": None, "line": None, "original_line": None}
            for words in comments
        ],
        "merged_commit": SHA["e"],
        "merged_patch": DIFF,
        "metadata": {"problem_domain": None, "difficulty": "low", "estimated_review_effort": 2},
    } | changes


def generated(words: str, code: str = BEHAVIORAL, **changes: Any) -> dict[str, Any]:
    return {
        "comment_index": 7,
        "comment_text": text(words),
        "comment_type": "functional",
        "language": "python",
        "test_file": "x/test_review_comment_7.py",
        "test_code": code,
        "success": True,
        "before_output": "x",
    } | changes


def resolved(words: str, *, ok: bool = True, diff: str = DIFF) -> dict[str, Any]:
    return {"comment_index": 0, "comment_text": text(words), "resolved": ok, "agent_diff": diff, "error": None}


def judged(words: str, ok: object) -> dict[str, Any]:
    return {"comment_index": 3, "comment_text": text(words), "test_passed": ok, "test_output": "", "error": None}


def tool_file(name: str, findings: int, *results: dict[str, Any], diff: str = DIFF) -> dict[str, Any]:
    return {
        "instance_id": name,
        "repo": REPOS[name],
        "num_findings": findings,
        "agent_diff": diff,
        "results": list(results),
    }


def some_file(name: str, *results: dict[str, Any]) -> dict[str, Any]:
    return {"instance_id": name, "repo": REPOS[name], "model": "m", "results": list(results)}


class Made:
    """The parts of the release as data, to be changed by a test before they are written."""

    generated = staticmethod(generated)
    resolved = staticmethod(resolved)
    judged = staticmethod(judged)
    tool_file = staticmethod(tool_file)
    some_file = staticmethod(some_file)
    row = staticmethod(row)
    text = staticmethod(text)
    names = (A, B, C, D)
    sha = SHA

    def __init__(self) -> None:
        self.rows = [row(A, "a0", "a1"), row(B, "b0")]
        self.archives: dict[str, list[dict[str, Any]]] = {
            "testgen_combined": [
                some_file(A, generated("zz"), generated("a1", STRUCTURAL), generated("a0")),
                some_file(B, generated("b0", STRUCTURAL)),
                some_file(C, generated("c0")),
                some_file(D, generated("d0", success=False)),
            ],
            "agent_resolution_combined": [
                some_file(A, resolved("a1"), resolved("a0")),
                some_file(B, resolved("b0")),
                some_file(C, resolved("c0")),
                some_file(D, resolved("d0", ok=False)),
            ],
            "results_eval_alpha": [
                tool_file(A, 3, judged("zz", True), judged("a0", True), judged("a1", False)),
                tool_file(B, 2, judged("b0", True)),
                tool_file(D, 9, judged("d0", True)),
            ],
            "results_eval_beta": [
                tool_file(A, 1, judged("a1", True), judged("a0", True)),
                tool_file(B, 0, judged("b0", False)),
                tool_file(C, 4, judged("c0", True)),
            ],
        }

    def write(self, folder: Path, *, zipped: bool = True) -> Path:
        (folder / "results_pipeline_funnel").mkdir(parents=True)
        (folder / "raw_results_compressed").mkdir()
        lines = "".join(json.dumps(one) + "\n" for one in self.rows)
        (folder / "results_pipeline_funnel" / "stage4_agent_resolved.jsonl").write_text(lines)
        for archive, files in self.archives.items():
            for place, content in self._members(archive, files):
                path = folder / "raw_results_compressed" / archive
                if zipped:
                    with zipfile.ZipFile(path.with_name(f"{archive}.zip"), "a") as target:
                        target.writestr(f"{archive}/{place}", content)
                else:
                    (path / place).parent.mkdir(parents=True, exist_ok=True)
                    (path / place).write_text(content)
        return folder

    @staticmethod
    def _members(archive: str, files: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
        for one in files:
            yield f"{one['instance_id']}/result.json", json.dumps(one)
        if archive.startswith("results_eval_"):
            yield "summary.json", json.dumps({"total_tests": 99})


@pytest.fixture
def made() -> Made:
    return Made()
