"""Oracles of tests of the project itself, as files."""

from __future__ import annotations

import json

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.instances.own_tests import dump, load

TEXTS = {"a/b_test.go": "one\r\ntwo\n\n", "c_test.go": "no end"}
WHERE = ("go-tests", "shop-1: oracle.file (oracles/test_c0.json)")


def test_an_oracle_holds_its_files_to_the_byte() -> None:
    own = load(dump(TEXTS, ["b"], ["a:b"]), *WHERE)
    assert own.texts == TEXTS
    assert (own.names, own.tests) == (("b",), ("a:b",))


def test_others_do_not_count_but_for_what_was_not_built() -> None:
    own = load(dump(TEXTS, ["b"], ["a:b"]), *WHERE)
    told = {"a:b": "passed", "a:c": "failed", "a:": "error", "a:is told:": "passed"}
    assert [name for name, outcome in told.items() if own.counts(name, outcome)] == ["a:b", "a:"]
    assert load(dump(TEXTS, ["b"], []), *WHERE).counts("a:c", "failed")


def text(path: str, names: tuple[str, ...] = ("b",), **more: int) -> str:
    return json.dumps({"files": {path: []}, "names": names, **more})


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("def test_a(): ...", "it is no JSON"),
        ("{}", "files is empty"),
        (text("a_test.go", ()), "names is empty"),
        *((text(path), repr(path)) for path in ("../a_test.go", "/a_test.go", ".GIT/a_test.go", ".", "a_test.go\0")),
        *((text(path), repr(path)) for path in ("./a_test.go", "a//a_test.go", "a.go", "a_test.py")),
        (json.dumps({"files": {"a": "text"}}), "files"),
        (text("a_test.go", more=1), "more"),
    ],
)
def test_what_is_none_is_named(said: str, told: str) -> None:
    with pytest.raises(BadInput, match=r"shop-1: oracle.file \(oracles/test_c0.json\): ") as error:
        load(said, *WHERE)
    assert told in str(error.value)
