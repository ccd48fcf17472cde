from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from pytest_crab.parsing.findings_in_text import read_findings

ITEM = {"file": "a.py", "line": "7", "comment": "Wrong."}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([ITEM]),
        json.dumps({"issues": [ITEM]}),
        json.dumps(ITEM),
        f"I found [one] thing {{really}}:\n```json\n{json.dumps([ITEM], indent=2)}\n```\nThat is all.",
        json.dumps({"findings": [{"path": "a.py", "start": 7, "body": "Wrong."}]}),
        json.dumps([{"relevant_file": "a.py\n", "start_line": 7, "issue_content": "Wrong."}]),
    ],
)
def test_the_list_is_found_whatever_is_around_it(text: str) -> None:
    problems: list[str] = []
    review = read_findings(text, problems)
    assert review is not None, problems
    assert [(finding.path, finding.start, finding.body) for finding in review.findings] == [("a.py", 7, "Wrong.")]


@pytest.mark.parametrize("text", ["[]", "```json\n[]\n```", '{"findings": []}', "Nothing to report: []"])
def test_an_empty_list_is_an_empty_review(text: str) -> None:
    review = read_findings(text, [])
    assert review is not None
    assert review.findings == ()


@pytest.mark.parametrize("text", ["", " \n", "LGTM!", "[1, 2]", '{"verdict": "fine"}', '[{"file": "a.py"'])
def test_what_holds_no_list_is_no_review(text: str) -> None:
    problems: list[str] = []
    assert read_findings(text, problems) is None
    assert problems


def test_a_remark_without_words_is_a_fault() -> None:
    problems: list[str] = []
    assert read_findings('[{"file": "a.py", "line": 3}]', problems) is None
    assert "body" in problems[0]


@given(st.text())
def test_no_answer_is_too_odd(text: str) -> None:
    problems: list[str] = []
    assert (read_findings(text, problems) is None) == bool(problems)
