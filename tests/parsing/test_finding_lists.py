"""Lists of findings under the names that tools and models give them, full and empty alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_crab.parsing.finding_names import LISTS
from pytest_crab.parsing.findings_in_text import read_findings

F = {"path": "a.py", "start": 1, "body": "Wrong."}
#: Shapes with their lists; each is given full and empty.
SHAPES: dict[str, Any] = {
    **{f"under {name}": lambda items, name=name: {"summary": "Looked at it.", name: items} for name in LISTS},
    "in humps": lambda items: {"reviewComments": items},
    "further in": lambda items: {"review": {"result": {"findings": items}}},
    "by severity": lambda items: {"critical": items, "minor": [], "strengths": ["fine tests"]},
    "under findings, by severity": lambda items: {"findings": {"high": items, "low": []}},
    "by file": lambda items: {"a.py": items, "src/b.py": []},
    "groups": lambda items: [{"path": "a.py", "issues": items}, {"path": "b.py", "issues": []}],
    "groups of a linter": lambda items: [{"filePath": "/w/a.py", "messages": items, "errorCount": len(items)}],
    "groups under files": lambda items: {"files": [{"name": "x", "path": "a.py", "comments": items}]},
    "beside a list of texts": lambda items: {"issues": items, "suggestions": ["Add a test."]},
    "under a name of its own": lambda items: {"verdict": "ok", "blockers": items},
}


def read(value: Any) -> Any:
    problems: list[str] = []
    review = read_findings(json.dumps(value), problems, root="/w", files={"a.py"})
    return problems if review is None else [(one.path, one.start, one.body) for one in review.findings]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_that_is_read_when_full_is_read_when_empty(shape: str) -> None:
    make = SHAPES[shape]
    assert read(make([F])) == [("a.py", 1, "Wrong.")]
    assert read(make([])) == []


@pytest.mark.parametrize("shape", ["by file", "groups", "groups of a linter", "groups under files"])
def test_what_is_grouped_by_file_gets_the_path_of_its_group(shape: str) -> None:
    assert read(SHAPES[shape]([{"line": 3, "message": "Odd."}])) == [("a.py", 3, "Odd.")]


@pytest.mark.parametrize(
    "value",
    [
        {"error": "overloaded", "details": []},
        {"name": "grep", "arguments": {"paths": []}},
        {"tool_calls": [{"name": "grep"}], "text": []},
        {"type": "array", "properties": [], "items": {}},
        {"verdict": "fine"},
        {"findings": None},
        {"findings": {}},
        {"findings": ["a.py:1 is wrong"]},
        [1, 2],
    ],
)
def test_what_is_no_list_of_findings_is_no_review(value: Any) -> None:
    (problem, *_) = read(value)
    assert isinstance(problem, str)


def test_a_list_within_a_finding_is_a_part_of_it() -> None:
    item = {"path": "a.py", "line": 1, "message": "Wrong.", "suggestions": [{"text": "b"}], "comments": []}
    assert read([item]) == read(item) == [("a.py", 1, "Wrong.")]


@pytest.mark.parametrize("shape", ["by file", "groups", "groups of a linter", "groups under files"])
def test_a_list_within_an_entry_of_a_group_is_a_part_of_it(shape: str) -> None:
    """As ESLint writes what it could do instead, with places that are offsets."""
    fix = {"desc": "Use ===.", "fix": {"range": [17, 19], "text": "==="}}
    item = {"ruleId": "eqeqeq", "message": "Expected ===.", "line": 2, "column": 7, "endLine": 2, "suggestions": [fix]}
    plain = {"ruleId": "no-undef", "message": "y is unknown.", "line": 3}
    assert read(SHAPES[shape]([item, plain])) == [("a.py", 2, "Expected ===."), ("a.py", 3, "y is unknown.")]


@pytest.mark.parametrize("count", [0, 1])
def test_the_report_of_a_type_checker_is_read_full_and_empty(count: int) -> None:
    """As pyright writes it: lines count from 0, and a summary without words stands beside the list."""
    place = {"start": {"line": 2, "character": 7}, "end": {"line": 2, "character": 9}}
    items = [{"file": "/w/a.py", "severity": "error", "message": "No such name.", "range": place}] * count
    report = {"version": "1.1", "generalDiagnostics": items, "summary": {"filesAnalyzed": 3, "errorCount": count}}
    assert read(report) == [("a.py", 3, "No such name.")] * count


@pytest.mark.parametrize(
    ("after", "count"),
    [
        ('Write it as\n```json\n{"plugins": []}\n```', 1),
        ('Write it as\n```json\n{"results": []}\n```', 1),
        ('and return {"findings": []} there.', 1),
        ('It gives\n```json\n[{"name": "x", "text": "y"}]\n```', 1),
        ('```json\n{"a.py": []}\n```', 1),
        ('None of it holds:\n```json\n{"findings": []}\n```', 0),
        ("[]", 0),
    ],
)
def test_only_a_list_of_findings_undoes_the_one_before_it(after: str, count: int) -> None:
    review = read_findings(f"{json.dumps([F])}\n{after}\n", [], files={"a.py"})
    assert review is not None
    assert len(review.findings) == count
