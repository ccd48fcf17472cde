"""Parts of source code: the syntax tree and the imports of Python, and the fallback for every other language."""

from __future__ import annotations

import pytest

from pytest_crab.parsing.source_code import (
    enclosing_parts,
    environment_bindings,
    importers,
    mentions,
    module_name,
    parts_around,
    signatures_of_tests,
    windows,
)

CODE = '''\
import os
import re
from math import pi

LIMIT = 3


class Cart:
    """A cart."""

    def total(self):
        return sum(self.rows) * pi

    @property
    def path(self):
        def inner():
            return os.sep
        return inner()
'''


def test_the_innermost_function_comes_with_the_imports_that_it_uses() -> None:
    assert enclosing_parts(CODE, {12}) == [
        "from math import pi",
        "    def total(self):\n        return sum(self.rows) * pi",
    ]
    assert enclosing_parts(CODE, {17}) == ["import os", "        def inner():\n            return os.sep"]
    (_, decorated) = enclosing_parts(CODE, {14})
    assert decorated.startswith("    @property\n    def path")
    assert [part.splitlines()[0] for part in enclosing_parts(CODE, {9})] == ["import os", "class Cart:"]


def test_lines_of_no_function_and_code_that_cannot_be_read_have_windows() -> None:
    assert enclosing_parts(CODE, {5}) == ["\n".join(CODE.splitlines()[:11])]
    broken = "def f(:\n" + "x\n" * 20
    assert enclosing_parts(broken, {10}) == windows(broken, {10})


@pytest.mark.parametrize(
    ("path", "source", "first", "last"),
    [
        ("a.go", "package a\n\n// f is one.\nfunc f() int {\n\treturn 1\n}\n\nvar b = 2\n", 3, 6),
        ("a.rs", "impl A {\n    #[inline]\n    fn f() -> i8 {\n        1\n    }\n}\n", 2, 5),
        ("A.java", "class A {\n  int b;\n\n  /** One. */\n  int f() {\n    return 1;\n  }\n}\n", 4, 7),
        ("a.cc", "int b;\nint A::f() {\n  return 1;\n}\n", 2, 4),
        ("a.ts", "class A {\n  f() {\n    return 1;\n  }\n}\n", 2, 4),
    ],
)
def test_functions_of_other_languages_stand_with_what_is_right_above_them(
    path: str, source: str, first: int, last: int
) -> None:
    pytest.importorskip("tree_sitter", reason="syntax trees need the extra mutation")
    at = next(
        line for line, text in enumerate(source.splitlines(), 1) if text.strip() in ("return 1", "return 1;", "1")
    )
    assert parts_around(path, source, {at}) == ["\n".join(source.splitlines()[first - 1 : last])]


def test_what_is_in_no_function_or_has_no_grammar_stands_in_its_window() -> None:
    assert parts_around("a.go", "package a\n\nvar b = 2\n", {3}) == windows("package a\n\nvar b = 2\n", {3})
    assert parts_around("a.f90", "x = 2\n", {1}) == ["x = 2"]


def test_windows_that_touch_are_one() -> None:
    text = "\n".join(str(line) for line in range(1, 101))
    assert [part.split("\n")[0] + " " + part.split("\n")[-1] for part in windows(text, [3, 10, 50, 100])] == [
        "1 16", "44 56", "94 100",
    ]  # fmt: skip
    assert windows(text, [500]) == []


@pytest.mark.parametrize(
    ("path", "name"),
    [("src/shop/cart.py", "shop.cart"), ("shop/__init__.py", "shop"), ("cart.py", "cart"), ("lib/a/b.py", "a.b")],
)
def test_modules_have_the_names_that_they_are_imported_by(path: str, name: str) -> None:
    assert module_name(path) == name


def test_the_import_graph_finds_who_imports_what_is_changed() -> None:
    files = {
        "src/shop/cart.py": "def total(): ...\n",
        "src/shop/page.py": "from .cart import total\n\n\ndef show():\n    return total()\n\n\ndef other(): ...\n",
        "src/shop/api.py": "from shop import cart\n\nVALUE = 1\n",
        "src/shop/sub/deep.py": "from ..cart import total as t\n\n\ndef f():\n    return t()\n",
        "src/far.py": "import shop.cart as c\n\n\nclass Far:\n    x = c.total()\n",
        "src/no.py": "import cartoon\ncart = 1\n",
        "src/broken.py": "import shop.cart (\n",
        "notes.md": "import shop.cart",
    }
    found = dict(importers(files, ["src/shop/cart.py"]))
    assert found.keys() == {"src/shop/page.py", "src/shop/api.py", "src/shop/sub/deep.py", "src/far.py"}
    assert found["src/shop/page.py"] == ["from .cart import total", "def show():\n    return total()"]
    assert found["src/shop/api.py"] == ["from shop import cart"]
    assert found["src/far.py"][1].startswith("class Far")


def test_other_languages_are_found_by_the_name_where_they_import() -> None:
    files = {
        "cart.ts": "export const total = 1",
        "page.ts": 'import { total } from "./cart"\nconst a = total',
        "note.ts": "// the cart\nconst b = 1",
        "index.ts": 'import "./other"',
    }
    assert dict(mentions(files, ["cart.ts"])) == {"page.ts": [files["page.ts"]]}
    assert dict(mentions(files, ["index.ts"])) == {}


def test_tests_keep_their_signatures() -> None:
    source = (
        "import pytest\n\n@pytest.fixture\ndef cart():\n    return 1\n\n\nclass TestCart:\n"
        "    async def test_total(self, cart):\n        value = 3\n        assert cart == value\n"
    )
    assert signatures_of_tests(source, python=True).splitlines() == [
        "@pytest.fixture", "def cart():", "class TestCart:", "    async def test_total(self, cart):",
        "        assert cart == value",
    ]  # fmt: skip
    other = (
        'func TestTotal(t *testing.T) {\n  x := 1\n  t.Run("a", nil)\n}\nit("adds", () => {\n  let y = 2\n  expect(y)\n'
    )
    assert len(signatures_of_tests(other, python=False).splitlines()) == 4


def test_settings_are_mapped_to_the_places_that_read_them() -> None:
    files = {
        "a.ts": "const x = process.env.PORT\nconst y = 1",
        "b.go": 'p := os.Getenv("PORT")\nq := os.LookupEnv("HOST")',
    }
    assert dict(environment_bindings(files)) == {
        "PORT": ["a.ts:1: const x = process.env.PORT", 'b.go:1: p := os.Getenv("PORT")'],
        "HOST": ['b.go:2: q := os.LookupEnv("HOST")'],
    }


@pytest.mark.parametrize("sign", ["\x0c", "\u2028", "\x85"])
def test_signs_that_end_no_line_move_no_lines(sign: str) -> None:
    code = f"import os\nmark = '{sign}'\ndef one():\n    return os\n\n\nlast = 1\n"
    assert enclosing_parts(code, {4}) == ["import os", "def one():\n    return os"]
    assert windows(code, [7], 0) == ["last = 1"]
