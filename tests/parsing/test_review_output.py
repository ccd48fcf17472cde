from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_crab import serialization
from pytest_crab.parsing.finding_places import tree_path
from pytest_crab.parsing.findings import LONGEST_TEXT, MOST_FINDINGS
from pytest_crab.parsing.review_output import read_review
from pytest_crab.types import Finding, Review, Side, Usage


def read(answer: Any, root: str | None = "/tree") -> Review:
    problems: list[str] = []
    review = read_review(json.dumps(answer), problems, root=root)
    assert review is not None, problems
    assert not problems
    return review


def faults(answer: Any) -> list[str]:
    problems: list[str] = []
    text = answer if isinstance(answer, str) else json.dumps(answer)
    assert read_review(text, problems, root="/tree") is None
    assert problems
    return problems


def one(**finding: Any) -> dict[str, Any]:
    return {"schema": 1, "findings": [{"body": "Wrong.", **finding}]}


def test_no_findings_is_a_review() -> None:
    assert read({"schema": 1, "findings": []}) == Review()


def test_every_key_is_read() -> None:
    finding = {
        "path": "a.py",
        "start": 3,
        "end": 4,
        "side": "left",
        "title": "T",
        "body": "B",
        "severity": "low",
        "rule": "R",
    }
    review = read({"schema": 1, "findings": [finding], "usage": {"requests": 2, "cost_usd": 0.5}, "version": "v2"})
    expected = Finding(path="a.py", start=3, end=4, side=Side.LEFT, title="T", body="B", severity="low", rule="R")
    assert review == Review(findings=(expected,), usage=Usage(requests=2, cost_usd=0.5), version="v2")


def test_null_is_an_absent_key_and_foreign_keys_are_ignored() -> None:
    answer = {**one(path=None, start=None, side=None, sureness=0.9), "usage": {"cached": 3}, "model": "x"}
    assert read(answer) == Review(findings=(Finding(body="Wrong."),), usage=Usage())


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a.py", "a.py"), ("./src//a.py", "src/a.py"), ("/tree/src/a.py", "src/a.py"), ("..a/b", "..a/b")],
)
def test_paths_become_relative_to_the_tree(path: str, expected: str) -> None:
    assert read(one(path=path)).findings[0].path == expected


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("", "it is empty"),
        ("Looks good to me!", "no list of findings"),
        ("[" * 100_000, "no list of findings"),
        ("9" * 10_000, "no list of findings"),
        ({"schema": True, "findings": []}, "schema should be 1"),
        ({"schema": 2, "findings": []}, "schema should be 1"),
        ({"schema": 1}, "no list of findings"),
        ("Loaded plugins: []", "stands in words"),
        ({"schema": 1, "findings": {}}, "no list of findings"),
        ({"schema": 1, "findings": ["x"]}, "findings[0]"),
        ({"schema": 1, "findings": [{"path": "a.py"}]}, "findings[0].body is missing"),
        ({"schema": 1, "findings": [{"body": True}]}, "findings[0].body is empty"),
        (one(body="  "), "findings[0].body is empty"),
        (one(path="a.py", begins_on_line=4), "begins_on_line ('4'), which looks like a place"),
        (one(path="/w/../x"), "findings[0].path is '/w/../x'"),
        (one(path="../a.py"), "findings[0].path is '../a.py'"),
        (one(touched_file="a.py"), "touched_file ('a.py'), which looks like a place"),
        (one(spot={"file": "a.py", "line": 3}), "spot"),
        (one(body="\ud800"), "half a surrogate pair"),
        (one(body="x" * (LONGEST_TEXT + 1)), "at most 65536 are read"),
        ({"schema": 1, "findings": [{"body": "x"}] * (MOST_FINDINGS + 1)}, "at most 1000 are read"),
        (
            {"schema": 1, "findings": [], "usage": {"requests": -1}},
            "usage: requests is -1; it should be from 0 to 1000000000",
        ),
        ({"schema": 1, "findings": [], "usage": {"cost_usd": 1e308}}, "usage: cost_usd is 1e+308; it should be from 0"),
        ({"schema": 1, "findings": [], "usage": {"cost_usd": 10**400}}, "usage.cost_usd is 1000"),
        ({"schema": 1, "findings": [], "usage": {"input_tokens": 10**13}}, "usage: input_tokens is 10000000000000; it"),
        ({"schema": 1, "findings": [], "usage": {"cost_usd": float("nan")}}, "usage.cost_usd is nan"),
        ({"schema": 1, "findings": [], "usage": []}, "usage is a list"),
        ({"schema": 1, "findings": [], "version": {}}, "version should be a text"),
    ],
)
def test_a_wrong_shape_is_named(answer: Any, said: str) -> None:
    assert said in faults(answer)[0]


@pytest.mark.parametrize("text", ["[]", '{"findings": []}', '{"schema": 1, "findings": [], "$schema": "https://x/y"}'])
def test_a_schema_is_not_asked_for(text: str) -> None:
    assert read_review(text, []) == Review()


ONE = {"path": "a.py", "start": 3, "body": "Wrong."}
TWO = {"path": "b.py", "start": 4, "body": "Odd."}


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + json.dumps({"schema": 1, "findings": [ONE, TWO]}),
        f"{json.dumps(ONE)}\n{json.dumps(TWO)}\n",
        f"{json.dumps(ONE)}\r\n\r\n{json.dumps(TWO)}",
        json.dumps({"findings": [ONE]})[:-1] + f', "comments": [{json.dumps(TWO)}]}}',
        (
            f"{json.dumps({'file': 'a.py', 'issues': [{'line': 3, 'message': 'Wrong.'}]})}\n"
            f"{json.dumps({'file': 'b.py', 'issues': [{'line': 4, 'message': 'Odd.'}]})}\n"
        ),
        f"Reviewing 2 files...\n```json\n{json.dumps([ONE, TWO], indent=1)}\n```\n",
    ],
)
def test_a_byte_order_mark_lines_of_json_and_words_around_it_are_read(text: str) -> None:
    problems: list[str] = []
    review = read_review(text, problems)
    assert review is not None, problems
    assert [(one.path, one.start, one.body) for one in review.findings] == [("a.py", 3, "Wrong."), ("b.py", 4, "Odd.")]
    assert (review.set_aside, review.unplaced) == ((), ())


def test_the_usage_of_lines_of_json_is_read() -> None:
    text = f'{json.dumps(ONE)}\n{{"usage": {{"requests": 2}}, "version": 7}}\n'
    review = read_review(text, [])
    assert review is not None
    assert (review.usage, review.version, len(review.findings)) == (Usage(requests=2), "7", 1)


def test_an_output_made_to_be_slow_ends() -> None:
    for text in ("[" * 300_000, "[1," * 9_000, "[/*" * 9_000, '{"a": "b, ' * 9_000):
        assert faults(text)


def test_all_faults_are_named_at_once() -> None:
    answer = {"schema": 1, "findings": [{"path": "x"}, "and so on", {"body": " "}], "usage": {"requests": -1}}
    assert len(faults(answer)) == 4


def test_the_largest_review_is_read() -> None:
    body = "é" * (LONGEST_TEXT // 2)
    assert len(read({"schema": 1, "findings": [{"body": body}] * MOST_FINDINGS}).findings) == MOST_FINDINGS


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(str.strip)
lines = st.lists(st.integers(1, 10**6), min_size=2, max_size=2).map(sorted)


@given(st.lists(st.tuples(words, st.sampled_from(["a.py", "src/é b.py"]), lines, st.sampled_from(Side)), max_size=5))
def test_a_review_survives_being_recorded(parts: list[tuple[str, str, list[int], Side]]) -> None:
    findings = tuple(
        Finding(body=body, path=path, start=start, end=end, side=side) for body, path, (start, end), side in parts
    )
    assert read({"schema": 1, **serialization.dump(Review(findings=findings))}).findings == findings


@given(st.text(alphabet="/.ab\\", max_size=12))
def test_no_path_leaves_the_tree(path: str) -> None:
    kept = tree_path(path, "/tree")
    assert kept is None or (not kept.startswith("/") and ".." not in kept.split("/") and tree_path(kept) == kept)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_is_read_or_named(value: Any) -> None:
    for answer in (value, {"schema": 1, "findings": value}, {"schema": 1, "findings": [value], "usage": value}):
        problems: list[str] = []
        assert (read_review(json.dumps(answer), problems) is None) == bool(problems)
