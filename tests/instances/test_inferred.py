from __future__ import annotations

import pytest

from pytest_crab.instances.inferred import category_of, kind_of
from pytest_crab.types import Category, Kind


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import app\napp.run()\n", Kind.BEHAVIORAL),
        ("def test():\n    from app.deep import run\n    assert run()\n", Kind.BEHAVIORAL),
        ("import pytest, os, re\nassert re.match('a', 'a')\n", Kind.STRUCTURAL),
        ("import imp, unittest.mock\n", Kind.STRUCTURAL),
        ("import app\nopen(app.__file__)\n", Kind.STRUCTURAL),
        ("import app, pathlib\npathlib.Path(app.__file__).read_text()\n", Kind.STRUCTURAL),
        ("import app, inspect\ninspect.getsource(app)\n", Kind.STRUCTURAL),
        ("import app\nassert hasattr(app, 'run')\n", Kind.STRUCTURAL),
        ("import app\nassert 'x' in app.run.__doc__\n", Kind.STRUCTURAL),
        ("this is no python", Kind.STRUCTURAL),
        ("\0", Kind.STRUCTURAL),
    ],
)
def test_kinds(source: str, kind: Kind) -> None:
    assert kind_of(source, "pytest") is kind


def test_kinds_of_jest() -> None:
    assert kind_of("const s = fs.readFileSync('x')", "jest") is Kind.STRUCTURAL
    assert kind_of("const { run } = require('../x')", "jest") is Kind.BEHAVIORAL


@pytest.mark.parametrize(
    ("text", "kind", "category"),
    [
        ("This is an injection.", None, Category.SECURITY),
        ("Security: and slow too.", None, Category.SECURITY),
        ("Too slow for large lists.", None, Category.EFFICIENCY),
        ("Breaks Python 2.", None, Category.COMPATIBILITY),
        ("Please add a test.", None, Category.TESTING),
        ("This should raise.", None, Category.ERROR_HANDLING),
        ("Fix the docstring.", None, Category.DOCUMENTATION),
        ("And if it is None?", None, Category.ROBUSTNESS),
        ("Not a good interface.", None, Category.DESIGN),
        ("Rename it.", None, Category.MAINTAINABILITY),
        ("Why?", None, Category.FUNCTIONAL),
        ("Why?", "style", Category.MAINTAINABILITY),
        ("Why?", "structural", Category.DESIGN),
        ("Why?", "unknown", Category.FUNCTIONAL),
        ("So?\n```suggestion\nraise SlowTest\n```\n", None, Category.FUNCTIONAL),
        ("So?\n```suggestion\nraise SlowTest", "documentation", Category.DOCUMENTATION),
    ],
)
def test_categories(text: str, kind: str | None, category: Category) -> None:
    assert category_of(text, kind) is category
