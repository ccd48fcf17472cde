"""Edits of whole statements: each leaves code that a person could have written, with one fault of a known kind."""

from __future__ import annotations

import ast
import textwrap

import pytest

pytest.importorskip("tree_sitter", reason="mutants need the extra mutation")

from pytest_crab.curation.mutation import Mutant, distinct, drafts

CASES = {
    "guard": (
        "def f(a):\n    b = 1\n\n    # never less\n    if a < 0:\n        raise ValueError\n\n    return a\n",
        "def f(a):\n    b = 1\n\n    return a\n",
    ),
    "case": (
        "def f(a):\n    if a:\n        return 1\n    elif a is None:\n        return 2\n    return 3\n",
        "def f(a):\n    if a:\n        return 1\n    return 3\n",
    ),
    "member": ("def f(a):\n    return isinstance(a, (int, str))\n", "def f(a):\n    return isinstance(a, (int,))\n"),
    "step": ("def f(a):\n    a.clear()\n    return a\n", "def f(a):\n    return a\n"),
    "resource": (
        "def f(a):\n    with open(a) as file:\n        text = file.read()\n\n        return text\n",
        "def f(a):\n    file = open(a)\n    text = file.read()\n\n    return text\n",
    ),
    "lock": ("def f(s):\n    with s.lock:\n        s.x = 1\n", "def f(s):\n    s.x = 1\n"),
    "swallowed": (
        "def f(a):\n    try:\n        return a()\n    except KeyError as error:\n        raise ValueError from error\n",
        "def f(a):\n    try:\n        return a()\n    except KeyError:\n        return None\n",
    ),
    "operand": ("def f(a):\n    return a and a.b\n", "def f(a):\n    return a\n"),
    "await": ("async def f(a):\n    return await a()\n", "async def f(a):\n    return a()\n"),
    "swapped": ("def f(a, b):\n    return a.g(a, b)\n", "def f(a, b):\n    return a.g(b, a)\n"),
    "handed-on": ("def f(a, **kw):\n    return a(1, **kw)\n", "def f(a, **kw):\n    return a(1)\n"),
    "fallback": ("def f(a):\n    return a.get(1, 2)\n", "def f(a):\n    return a.get(1)\n"),
    "shared": (
        'def f(a=None):\n    """Text."""\n    if a is None:\n        a = []\n    return a\n',
        'def f(a=[]):\n    """Text."""\n    return a\n',
    ),
    "alias": ("def f(a):\n    return a.copy()\n", "def f(a):\n    return a\n"),
    "turned": ("def f(a):\n    if a:\n        return 1\n", "def f(a):\n    if not a:\n        return 1\n"),
}

#: The same in other languages: the lines that are left out begin with a minus.
ELSEWHERE = {
    ("guard", "f.go"): "func f(a int) int {\n-\tif a < 0 {\n-\t\treturn 0\n-\t}\n\treturn a\n}\n",
    ("guard", "f.rs"): "fn f(a: i8) -> i8 {\n-    if a < 0 {\n-        return 0;\n-    }\n    a\n}\n",
    ("guard", "F.java"): "class F { void f(int a) {\n-  if (a < 0) throw new E(a);\n  g(a);\n} }\n",
    ("guard", "f.cc"): "int f(int a) {\n-  if (a < 0)\n-    throw E(a);\n  return a;\n}\n",
    ("guard", "f.ts"): "function f(a: number) {\n-  if (a < 0) {\n-    return 0;\n-  }\n  return a;\n}\n",
    ("guard", "f.php"): "<?php function f($a) {\n-  if ($a < 0) {\n-    throw new E($a);\n-  }\n  return $a;\n}\n",
    ("guard", "f.rb"): "def f(a)\n-  if a < 0\n-    return 0\n-  end\n  a\nend\n",
    ("case", "f.go"): "func f(a int) {\n\tswitch a {\n-\tcase 1:\n-\t\tg()\n\tcase 2:\n\t\th()\n\t}\n}\n",
    ("case", "f.js"): "function f(a) {\n  switch (a) {\n-    case 1: return g();\n    case 2: return h();\n  }\n}\n",
    ("step", "f.go"): "func f(a *A) int {\n-\ta.n++\n\treturn a.n\n}\n",
    ("step", "f.rs"): "fn f(a: &mut A) -> i8 {\n-    a.n += 1;\n    a.n\n}\n",
    ("step", "F.java"): "class F { int f() {\n-  this.a[1] = 2;\n  return 1;\n} }\n",
    ("step", "f.c"): "int f(struct a *b) {\n-  b->n = 1;\n  return b->n;\n}\n",
    ("step", "f.rb"): "def f(a)\n-  a.clear\n  a\nend\n",
    ("resource", "f.c"): "int f(FILE *a) {\n-  fclose(a);\n  return 1;\n}\n",
    ("resource", "f.php"): "<?php function f($a) {\n-  $a->close();\n  return 1;\n}\n",
    ("lock", "f.go"): "func f(a *A) int {\n-\ta.mu.Lock()\n-\tdefer a.mu.Unlock()\n\treturn a.n\n}\n",
    ("lock", "f.cc"): "int f(A& a) {\n-  std::lock_guard<std::mutex> held{a.m};\n  return a.n;\n}\n",
}


def made(operator: str, path: str, source: str) -> list[Mutant]:
    content = source.encode()
    return [one for one in distinct(drafts(path, content, range(1, 100)), {path: content}) if one.operator == operator]


@pytest.mark.parametrize(("operator", "path"), ELSEWHERE)
def test_lines_are_left_out_in_any_language(operator: str, path: str) -> None:
    lines = ELSEWHERE[operator, path].splitlines(keepends=True)
    before, after = ("".join(line.removeprefix("-") for line in kept) for kept in (
        lines, [line for line in lines if not line.startswith("-")],
    ))  # fmt: skip
    found = {one.content.decode(): one for one in made(operator, path, before)}
    assert after in found
    assert found[after].scope == "f"


@pytest.mark.parametrize("operator", CASES)
def test_the_fault_is_the_only_change(operator: str) -> None:
    before, after = CASES[operator]
    found = {one.content.decode(): one for one in made(operator, "f.py", before)}
    assert after in found
    assert found[after].scope == "f"
    assert found[after].subject
    ast.parse(after)


def test_a_guard_goes_with_the_comment_above_it_where_it_comes_first() -> None:
    source = "def f(a):\n    # Nothing is asked of none.\n    if a is None:\n        return 0\n    return a.b\n"
    assert [one.content for one in made("guard", "f.py", source)] == [b"def f(a):\n    return a.b\n"]


def test_what_would_leave_an_empty_block_or_half_a_line_stays() -> None:
    assert not made("guard", "f.py", "def f(a):\n    if a:\n        return\n")
    assert not made("step", "f.py", "def f(a):\n    a.b(); return a\n")


def test_a_default_by_or_is_a_fallback_and_no_condition() -> None:
    source = "def f(a):\n    b = a or 1\n    return b\n"
    assert [one.content for one in made("fallback", "f.py", source)] == [b"def f(a):\n    b = a\n    return b\n"]
    assert not made("operand", "f.py", source)


def test_an_argument_goes_with_its_line() -> None:
    source = "def f(a):\n    return a(\n        1,\n        b=2,\n    )\n"
    (found,) = made("argument", "f.py", source)
    assert found.content.decode() == "def f(a):\n    return a(\n        1,\n    )\n"


def test_a_copy_that_is_explained_stays() -> None:
    assert not made("alias", "f.py", "def f(a):\n    # The copy is ours.\n    return a.copy()\n")


def test_a_text_of_several_lines_keeps_its_indent() -> None:
    source = 'def f(s):\n    with s.lock:\n        s.x = """\n        a\n        """\n'
    assert not made("lock", "f.py", source)


def test_other_languages_with_the_same_nodes_have_them_too() -> None:
    source = textwrap.dedent(
        """\
        async function f(a) {
          if (!a) {
            throw new Error("no");
          }
          try {
            await a.b();
          } catch (error) {
            throw error;
          }
          return a && a.c;
        }
        """
    )
    for operator in ("guard", "swallowed", "await", "operand"):
        assert made(operator, "f.js", source), operator
