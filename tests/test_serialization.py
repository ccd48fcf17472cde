"""Records to plain JSON and back."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_crab import serialization
from pytest_crab.types import Category, Finding, Review, Side, Usage


def test_a_file_is_waited_for_by_nobody_and_nested_as_one_likes(tmp_path: Path) -> None:
    file, pipe, device = (tmp_path / name for name in ("file", "pipe", "device"))
    file.write_text("[" * 100_000)
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for path in (file, pipe, device):
        with pytest.raises(ValueError, match=r"too deeply|no JSON"):
            serialization.load(path)
    file.write_text('{"a": 1}')
    assert serialization.load(file) == {"a": 1}
    with pytest.raises(FileNotFoundError):
        serialization.load(tmp_path / "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    pair: tuple[int, int]

    def __post_init__(self) -> None:
        if self.pair[0] > self.pair[1]:
            raise ValueError("pair should rise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    name: str
    count: int = 0
    share: float = 0.0
    truth: bool = False
    category: Category | None = None
    inner: Inner | None = None
    inners: tuple[Inner, ...] = ()
    env: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    anything: Any = None
    from_: str | None = field(default=None, metadata={"key": "from"})
    derived: int = field(default=0, init=False)


def faults(value: Any) -> list[str]:
    problems: list[str] = []
    assert serialization.read(Outer, value, problems, "at") is None
    return problems


def read(value: Any) -> Outer:
    problems: list[str] = []
    outer = serialization.read(Outer, value, problems)
    assert outer is not None, problems
    assert not problems
    return outer


def test_equal_labels_are_held_once_and_others_are_not_mixed_up() -> None:
    one, same, other = (read({"name": "x", "labels": dict(pairs)}).labels for pairs in (["ab"], ["ab"], ["ba"]))
    assert one is same
    assert (one, other) == ({"a": "b"}, {"b": "a"})


def test_texts_become_what_the_field_is() -> None:
    outer = read(
        {
            "name": "x",
            "count": "-12",
            "share": ".5",
            "truth": "Yes",
            "category": "error-handling",
            "inner": {"pair": ["1", 2]},
            "inners": [{"pair": ["1", "2"]}],
            "env": {"a": "1"},
            "anything": {"kept": ["as", "it is"]},
            "from": "key",
        }
    )
    assert outer == Outer(
        name="x",
        count=-12,
        share=0.5,
        truth=True,
        category=Category.ERROR_HANDLING,
        inner=Inner(pair=(1, 2)),
        inners=(Inner(pair=(1, 2)),),
        env={"a": 1},
        anything={"kept": ["as", "it is"]},
        from_="key",
    )


def test_a_whole_number_is_a_number_and_stays_float() -> None:
    assert isinstance(read({"name": "x", "share": 1}).share, float)


def test_none_is_allowed_where_a_field_may_be_none() -> None:
    assert read({"name": "x", "inner": None, "category": None}) == Outer(name="x")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"name": 1}, "at.name is 1; it should be a text"),
        ({"name": None}, "at.name is None; it should be a text"),
        ({"count": "1_0"}, "at.count is '1_0'; it should be a whole number"),
        ({"count": "٣"}, "at.count is '٣'; it should be a whole number"),
        ({"count": "1.0"}, "at.count is '1.0'; it should be a whole number"),
        ({"count": 1.0}, "at.count is 1.0; it should be a whole number"),
        ({"count": True}, "at.count is True; it should be a whole number"),
        ({"count": "9" * 30}, f"at.count is '{'9' * 30}'; it should be a whole number"),
        ({"share": "nan"}, "at.share is 'nan'; it should be a number"),
        ({"share": "inf"}, "at.share is 'inf'; it should be a number"),
        ({"share": float("inf")}, "at.share is inf; it should be a number"),
        ({"share": 10**400}, "at.share is 1000"),
        ({"truth": 1}, "at.truth is 1; it should be true or false"),
        ({"truth": "maybe"}, "at.truth is 'maybe'; it should be true or false"),
        ({"inner": []}, "at.inner is a list; it should be a mapping with pair"),
        ({"inner": {"pair": [1]}}, "at.inner.pair has 1 entries; it should have 2"),
        ({"inner": {"pair": "12"}}, "at.inner.pair is '12'; it should be a list"),
        ({"inner": {"pair": [2, 1]}}, "at.inner: pair should rise"),
        ({"inners": [{"pair": [1, 2]}, {}]}, "at.inners[1].pair is missing"),
        ({"env": {"a": "b"}}, "at.env.a is 'b'; it should be a whole number"),
        ({"env": ["a"]}, "at.env is a list; it should be a mapping"),
        ({"from_": "x"}, "at.from_ is not a known key; the keys here are name, count, share, truth, category, inner,"),
        ({"derived": 1}, "at.derived is not a known key"),
        ({"category": "beauty"}, "at.category is 'beauty'; it should be one of functional, testing,"),
    ],
)
def test_a_fault_starts_with_its_key(changed: dict[str, Any], sentence: str) -> None:
    (problem,) = faults({"name": "x", **changed})
    assert problem.startswith(sentence)


def test_every_fault_is_told() -> None:
    assert len(faults({"count": "x", "share": "y", "inner": {"pair": ["a", "b"]}, "other": 1})) == 6


def test_a_long_value_is_cut() -> None:
    assert len(faults({"name": "x", "count": "y" * 10_000})[0]) < 130


def test_what_is_no_number_is_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        serialization.canonical({"share": float("inf")})


def test_a_name_that_many_records_have_is_held_once() -> None:
    read = [serialization.read(Finding, json.loads('{"body": "b", "path": "src/one.py"}'), []) for _ in range(2)]
    one, other = (finding.path for finding in read if finding is not None)
    assert one is other


def test_none_is_left_out_and_zero_is_not() -> None:
    assert serialization.dump(Usage(input_tokens=0)) == {"input_tokens": 0}


def test_the_canonical_text_does_not_depend_on_order() -> None:
    assert serialization.canonical({"b": {2, 1}, "a": "é"}) == '{"a":"\\u00e9","b":[1,2]}'
    assert serialization.digest({"a": 1, "b": 2}) == serialization.digest({"b": 2, "a": 1})
    assert serialization.digest({"a": 1}) != serialization.digest({"a": "1"})


LINES = st.integers(1, 10**6)
TEXTS = st.text(max_size=10)
FINDINGS = st.builds(
    Finding,
    body=TEXTS,
    path=st.none() | TEXTS,
    start=st.none() | LINES,
    side=st.sampled_from(Side),
    title=st.none() | TEXTS,
)
USAGES = st.builds(Usage, input_tokens=st.none() | LINES, cost_usd=st.none() | st.floats(0, 1e6))
REVIEWS = st.builds(
    Review, findings=st.lists(FINDINGS, max_size=3).map(tuple), usage=st.none() | USAGES, version=st.none() | TEXTS
)


@given(review=REVIEWS)
def test_records_survive_json(review: Review) -> None:
    problems: list[str] = []
    assert serialization.read(Review, json.loads(serialization.canonical(review)), problems) == review
    assert not problems


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
KEYS = [serialization.key_of(each) for each in dataclasses.fields(Outer)]


@given(value=PLAIN | st.dictionaries(st.sampled_from(KEYS), PLAIN))
def test_anything_is_a_record_or_a_list_of_faults(value: Any) -> None:
    problems: list[str] = []
    result = serialization.read(Outer, value, problems)
    assert isinstance(result, Outer) is not bool(problems)
