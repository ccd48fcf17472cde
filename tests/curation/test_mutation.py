"""Mutants: small wrong changes on the lines of a fix, in any language, without those that change nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("tree_sitter", reason="mutants need the extra mutation")

from pytest_crab.curation.mutation import (
    Mutant,
    changed_spans,
    distinct,
    drafts,
    halves,
    may_hang,
    partly,
    statement_lines,
)
from pytest_crab.curation.same_code import same_code
from pytest_crab.ecosystems import grammar_of

PYTHON = b'''\
def due(jobs, limit=10, *, strict=True):
    """The jobs that are due."""
    found = []
    for job in jobs:
        if job.due <= now() and not job.done:
            found.append(job)
    if len(found) > limit:
        raise ValueError("too many")
    return sorted(found, key=str, reverse=True)[: limit - 1]
'''
ALL = range(1, 100)


def mutants(path: str, source: bytes, *chosen: Any) -> Iterator[Mutant]:
    return distinct(drafts(path, source, *chosen), {path: source})


def changes(path: str, source: bytes, lines: range | set[int] = ALL) -> dict[tuple[str, int], set[tuple[str, str]]]:
    found: dict[tuple[str, int], set[tuple[str, str]]] = {}
    for one in mutants(path, source, lines):
        found.setdefault((one.operator, one.line), set()).add((one.before, one.after))
    return found


def test_the_kinds_of_mistakes_that_a_near_miss_makes() -> None:
    found = changes("due.py", PYTHON)
    assert ("<=", "<") in found["operator", 5]
    assert ("and", "or") in found["operator", 5]
    assert ("not", "") in {(before.split()[0], after) for before, after in found["negation", 5]}
    assert found["statement", 6] == {("found.append(job)", "pass")}
    assert found["statement", 8] == {('raise ValueError("too many")', "pass")}
    assert found["always", 7] == {("len(found) > limit", "True")}
    assert found["never", 7] == {("len(found) > limit", "False")}
    assert found["number", 9] == {("1", "2")}
    assert found["argument", 9] == {("key=str,", ""), (", reverse=True", "")}
    assert found["truth", 1] == {("True", "False")}


def test_a_text_for_people_is_no_argument_that_is_left_out() -> None:
    found = changes("cli.py", b'add("--file", help="a file", default=None)\nadd("--file", help=told)\n')
    assert found["argument", 1] == {(", default=None", "")}
    assert found["argument", 2] == {(", help=told", "")}


def test_an_argument_that_is_left_out_leaves_no_gap() -> None:
    source = b"f(a, x=1, b=2)\nf(\n    x=1, b=2,\n    c=3, x=1,\n    d=4)\n"
    made = {one.content.decode() for one in mutants("f.py", source, ALL) if one.operator == "argument"}
    text = source.decode()
    assert text.replace("a, x=1, b", "a, b") in made
    assert text.replace("    x=1, b", "    b") in made
    assert text.replace("c=3, x=1,", "c=3,") in made


@pytest.mark.parametrize(
    ("source", "made"),
    [
        (b"f(a=1,  # why\n  b)\n", b"f(  # why\n  b)\n"),
        (b"f(\n  a, x=1,  # noqa\n  b)\n", b"f(\n  a,  # noqa\n  b)\n"),
        (b"f(a, x=1,\r\n  b)\r\n", b"f(a,\r\n  b)\r\n"),
    ],
)
def test_an_argument_goes_and_the_comment_behind_it_stays_as_it_stands(source: bytes, made: bytes) -> None:
    assert [one.content for one in mutants("f.py", source, ALL) if one.operator == "argument"] == [made]


def test_what_a_fix_left_as_it_was_is_not_changed() -> None:
    before = b"def f(a):\n    if a.b == 1 and a in (1, 2, 3):\n        return g(a)\n    return h(a, 1)\n"
    after = before.replace(b"3)", b"3, 4)").replace(b"== 1", b"== 2").replace(b"h(a, 1)", b"h(a)")
    made = list(mutants("f.py", after, {2, 3, 4}, changed_spans(before, after)))
    found = {(one.before, one.after) for one in made}
    assert {("==", "!="), (", 4", ""), ("a.b == 2 and", "")} <= found
    assert not {"1,", "2,", "3,", "3", "g(a)"} & {one.before for one in made}
    assert {one.line for one in made} == {2, 4}
    more = after.replace(b"if a.b", b"if a.c and a.b")
    left_out = {one.before for one in mutants("f.py", more, {2}, changed_spans(after, more)) if not one.after}
    assert {"a.c and", "a.b == 2 and"} & left_out == {"a.c and"}
    assert list(mutants("f.py", after, {2, 3, 4}, [])) == []


def test_only_the_lines_that_were_asked_for() -> None:
    assert {line for _, line in changes("due.py", PYTHON, {5})} == {5}


def test_every_mutant_parses_and_is_another_program() -> None:
    made = list(mutants("due.py", PYTHON, ALL))
    assert len({one.name for one in made}) == len(made)
    assert len({ast.dump(ast.parse(one.content)) for one in made} - {ast.dump(ast.parse(PYTHON))}) == len(made)


def test_what_compiles_to_the_same_code_is_left_out() -> None:
    assert ("+", "-") not in changes("f.py", b"LIMIT = 60 + 0\n").get(("operator", 1), set())
    assert changes("f.py", b"LIMIT = 60 + 1\n")["operator", 1] == {("+", "-")}


def test_words_are_no_code_where_an_import_of_the_future_follows_them() -> None:
    source = b'"""Limits."""\n\nfrom __future__ import annotations\n\nLIMIT = 60 + 0\n'
    assert same_code("f.py", source, source.replace(b"Limits", b"The limits"))
    assert not same_code("f.py", source, source.replace(b"60", b"61"))
    assert ("+", "-") not in changes("f.py", source).get(("operator", 5), set())


def test_a_docstring_may_be_all_that_a_function_has() -> None:
    source = b'def f():\n    """Do it."""\n'
    assert same_code("f.py", source, source.replace(b"Do", b"Leave"))


def test_how_arguments_may_be_given_is_code() -> None:
    source = b"def f(a, *, b):\n    return a\n"
    assert not same_code("f.py", source, source.replace(b"*, ", b""))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.js", b"function f(a) {\n  if (a <= 3 && !a.done) {\n    go(a);\n  }\n  return a + 1;\n}\n"),
        ("a.ts", b"function f(a: number): number {\n  if (a <= 3) {\n    go(a);\n  }\n  return a + 1;\n}\n"),
        ("a.go", b"package a\n\nfunc f(a int) int {\n\tif a <= 3 {\n\t\tgo_(a)\n\t}\n\treturn a + 1\n}\n"),
        ("a.rs", b"fn f(a: i32) -> i32 {\n    if a <= 3 {\n        go(a);\n    }\n    a + 1\n}\n"),
        ("A.java", b"class A {\n  int f(int a) {\n    if (a <= 3) {\n      go(a);\n    }\n    return a + 1;\n  }\n}\n"),
        ("a.c", b"int f(int a) {\n  if (a <= 3) {\n    go(a);\n  }\n  return a + 1;\n}\n"),
        ("a.cpp", b"int f(int a) {\n  if (a <= 3) {\n    go(a);\n  }\n  return a + 1;\n}\n"),
        ("a.cs", b"class A {\n  int F(int a) {\n    if (a <= 3) {\n      Go(a);\n    }\n    return a + 1;\n  }\n}\n"),
        ("a.rb", b"def f(a)\n  if a <= 3\n    go(a)\n  end\n  a + 1\nend\n"),
        ("a.php", b"<?php\nfunction f($a) {\n  if ($a <= 3) {\n    go($a);\n  }\n  return $a + 1;\n}\n"),
    ],
)
def test_every_language_has_edges_conditions_and_numbers(path: str, source: bytes) -> None:
    found = changes(path, source)
    every = set().union(*found.values())
    assert {("<=", "<"), ("+", "-"), ("3", "4"), ("1", "2")} <= every
    assert {"always", "never"} <= {operator for operator, _ in found}


@pytest.mark.parametrize(
    ("path", "source", "line"),
    [
        ("a.py", b"def f(a):\n    a.add(1)\n    a.go(2)\n    return a\n", 2),
        ("a.go", b"package a\n\nfunc f(a int) {\n\t// One more.\n\ta++\n\tgo_(a)\n}\n", 5),
        ("a.rs", b"fn f(a: i32) {\n    if a > 3 {\n        return;\n    }\n    go(a);\n}\n", 2),
        ("A.java", b"class A {\n  void f(int a) {\n    // One more.\n    one.add(a);\n    go(a);\n  }\n}\n", 4),
        ("a.php", b"<?php\nfunction f($a) {\n  $one->add($a);\n  go($a);\n}\n", 3),
    ],
)
def test_a_statement_is_left_out_once(path: str, source: bytes, line: int) -> None:
    kinds = ("statement", "step", "guard")
    assert len([one for one in drafts(path, source, {line}) if one.operator in kinds]) == 2
    assert len([one for one in mutants(path, source, {line}) if one.operator in kinds]) == 1


def test_a_file_of_no_known_language_has_none() -> None:
    assert list(mutants("README.md", b"1 < 2\n", ALL)) == []
    assert grammar_of("a.md") is None


def test_what_python_would_warn_of_is_not_printed(recwarn: pytest.WarningsRecorder) -> None:
    assert list(mutants("f.py", b"def f(a):\n    return a is 1 and a\n", ALL))
    assert not recwarn.list


@pytest.mark.parametrize(("line", "hangs"), [(2, False), (3, True), (4, True), (5, True), (6, False)])
def test_a_loop_that_may_never_end_is_left_as_it_is(line: int, hangs: bool) -> None:  # noqa: FBT001
    source = "def f(a):\n    b = a\n    while a:\n        if b:\n            a = b\n    return a\n"
    assert may_hang(source, line) is hangs


@pytest.mark.parametrize(
    ("source", "line", "hangs"),
    [
        ("do {\n  a--;\n} while (a > 0);\n", 2, True),
        ("do {\n  a--;\n} while (a > 0);\n", 3, True),
        ("here: do {\n  a--;\n} while (a > 0);\n", 2, True),
        ("do\n{\n  a--;\n}\nwhile (a > 0);\n", 3, True),
        ("begin\n  a -= 1\nend while a > 0\n", 2, True),
        ("begin\n  a -= 1\nend while a > 0\n", 3, True),
        ("begin\n  a -= 1\nrescue\n  a = 0\nend\n", 2, False),
        ("loop do\n  a -= 1\nend\n", 2, True),
        ("loop {\n    a -= 1;\n}\n", 2, True),
        ("until a == 0\n  a -= 1\nend\n", 2, True),
        ("3.times do\n  a -= 1\nend\n", 2, False),
        ("loop = get()\n", 1, False),
        ("loop.run()\n", 1, False),
        ("f(\n    loop=loop)\n", 2, False),
        ("until = 3\n", 1, False),
        ("do = 3\n", 1, False),
    ],
)
def test_loops_of_other_languages_and_names_that_are_none(source: str, line: int, hangs: bool) -> None:  # noqa: FBT001
    assert may_hang(source, line) is hangs


def test_a_half_is_a_fix_without_one_of_its_places() -> None:
    before = PYTHON.replace(b"<= now()", b"< now()").replace(b"key=str", b"key=id")
    before = before.replace(b"The jobs that are due.", b"Jobs.")
    found = list(halves("due.py", before, PYTHON))
    assert [one.line for one in found] == [5, 9]  # words are no code
    assert [b"<= now()" in one.content for one in found] == [False, True]
    assert [b"key=str" in one.content for one in found] == [True, False]
    assert not list(halves("due.txt", before, PYTHON))


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.go", "package a\n\n// One.\nvar b = 1\n", "package a\n\n// Two, or\n// three.\nvar b = 1\n"),
        ("a.c", "int b;\n", "#include <string.h>\nint b;\n"),
    ],
)
def test_comments_and_includes_are_no_code_in_any_language(path: str, before: str, after: str) -> None:
    assert not list(halves(path, before.encode(), after.encode()))


def test_a_fix_is_partly_there_by_the_lines_of_its_places() -> None:
    before = PYTHON.replace(b"<= now()", b"< now()").replace(b"key=str", b"key=id")
    first, second = halves("due.py", before, PYTHON)
    assert partly(before, PYTHON, {first.line, second.line}) == PYTHON
    assert partly(before, PYTHON, set()) == before
    assert partly(before, PYTHON, {first.line}) == second.content


def test_a_statement_has_all_its_lines_and_one_with_a_block_those_of_its_head() -> None:
    source = b"def f(a):\n    if (\n        a\n    ):\n        b = [\n            a,\n        ]\n    return b\n"
    assert statement_lines("f.py", source, {6}) == {5, 6, 7}
    assert statement_lines("f.py", source, {3}) == {2, 3, 4}
    assert statement_lines("f.py", source, {1, 8}) == {1, 8}
    decorated = b"class A:\n    @property\n    def f(self):\n        self.a = 1\n        return 2\n"
    assert statement_lines("f.py", decorated, {4}) == {4}
    braced = b"function f(a) {\n  if (\n    a &&\n    b) {\n    return 1;\n  }\n}\n"
    assert statement_lines("f.js", braced, {3}) == {2, 3, 4}
    assert statement_lines("f.js", braced, {5}) == {5}
