"""Parts of Python code: by the syntax tree, with the imports that they use, and who imports what is changed."""

from __future__ import annotations

import pytest

from pytest_crab.ecosystems.python.surroundings import enclosing_parts, importers, module_name, signatures_of_tests
from pytest_crab.text import windows

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


@pytest.mark.parametrize("sign", ["\x0c", "\u2028", "\x85"])
def test_signs_that_end_no_line_move_no_lines(sign: str) -> None:
    code = f"import os\nmark = '{sign}'\ndef one():\n    return os\n\n\nlast = 1\n"
    assert enclosing_parts(code, {4}) == ["import os", "def one():\n    return os"]
    assert windows(code, [7], 0) == ["last = 1"]


def test_a_file_of_tests_keeps_its_signatures() -> None:
    source = (
        "import pytest\n\n@pytest.fixture\ndef cart():\n    return 1\n\n\nclass TestCart:\n"
        "    async def test_total(self, cart):\n        value = 3\n        assert cart == value\n"
    )
    assert signatures_of_tests(source).splitlines() == [
        "@pytest.fixture", "def cart():", "class TestCart:", "    async def test_total(self, cart):",
        "        assert cart == value",
    ]  # fmt: skip
