"""Near misses within one expression."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pytest

pytest.importorskip("tree_sitter", reason="near misses need the extra mutation")

from pytest_crab.curation.mutation import Mutant, distinct, drafts

CASES = {
    "part": ("return 2 * (a - b)", {"return 2", "return (a - b)", "return 2 * (a)", "return 2 * (b)"}),
    "near-sign": ("return a <= b", {"return a == b"}),
    "unset": ("return a and not b", {"return a is not None and not b", "return a and b is None"}),
    "span": ("return a[b:2]", {"return a[:2]", "return a[b:]"}),
    "choice": ("return a if b else 1", {"return a", "return 1"}),
    "entry": ("return [a, b, 1]", {"return [b, 1]", "return [a, 1]", "return [a, b]"}),
    "bare": ("return str(a.strip())", {"return a.strip()", "return str(a)"}),
}


def mutants(path: str, source: bytes, lines: Collection[int]) -> Iterator[Mutant]:
    return distinct(drafts(path, source, lines), {path: source})


@pytest.mark.parametrize("operator", CASES)
def test_an_expression_becomes_nearly_right(operator: str) -> None:
    line, expected = CASES[operator]
    source = f"def f(a, b):\n    {line}\n".encode()
    made = [one for one in mutants("f.py", source, {2}) if one.operator == operator]
    lines = {one.content.decode().splitlines()[1].strip().replace(" )", ")").replace("( ", "(") for one in made}
    assert lines == expected


def test_a_method_becomes_its_relative_of_the_same_class() -> None:
    source = b"class A:\n    def add(self): ...\n    def add_all(self): ...\n    def f(self):\n        self.add()\n"
    found = {one.after for one in mutants("f.py", source, {5}) if one.operator == "relative"}
    assert found == {"add_all"}


def test_other_languages_have_those_that_their_grammars_have() -> None:
    source = b"function f(a, b) {\n  return a ? b + 1 : [a, b, 2];\n}\n"
    assert {"part", "choice", "entry"} <= {one.operator for one in mutants("f.js", source, {2})}


def test_one_of_two_values_is_taken_and_never_the_condition() -> None:
    source = b"int f(int a) {\n  return a ? 5 : 7;\n}\n"
    for path in ("f.c", "f.cpp", "F.cs"):
        found = [one.content.splitlines()[1] for one in mutants(path, source, {2}) if one.operator == "choice"]
        assert sorted(found) == [b"  return 5;", b"  return 7;"]


def test_only_python_asks_whether_a_value_is_none() -> None:
    source = b"class A { int f(object a) {\n  if (a) { return 5; }\n  return 7; } }\n"
    assert "unset" not in {one.operator for one in mutants("A.cs", source, {2})}
