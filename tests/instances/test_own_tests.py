"""Oracles of tests of the project itself, as files."""

from __future__ import annotations

import json

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.instances.own_tests import dump, load

TEXTS = {"a/b_test.x": "one\r\ntwo\n\n", "c.x": "no end"}


def test_an_oracle_holds_its_files_to_the_byte() -> None:
    own = load(dump(TEXTS, ["b"], ["a:b"]))
    assert own.texts == TEXTS
    assert (own.names, own.tests) == (("b",), ("a:b",))


def test_others_do_not_count_but_for_what_was_not_built() -> None:
    own = load(dump(TEXTS, ["b"], ["a:b"]))
    assert [name for name in ("a:b", "a:c", "a:") if own.counts(name)] == ["a:b", "a:"]
    assert load(dump(TEXTS, ["b"], [])).counts("a:c")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def test_a(): ...", "it is no JSON"),
        ("{}", "files is empty"),
        (json.dumps({"files": {"../a": []}}), "'../a'"),
        (json.dumps({"files": {"/a": []}}), "'/a'"),
        (json.dumps({"files": {".git/config": []}}), "'.git/config'"),
        (json.dumps({"files": {"a": "text"}}), "files"),
        (json.dumps({"files": {"a": []}, "more": 1}), "more"),
    ],
)
def test_what_is_none_is_named(text: str, told: str) -> None:
    with pytest.raises(BadInput, match=r"the oracle: ") as error:
        load(text)
    assert told in str(error.value)
