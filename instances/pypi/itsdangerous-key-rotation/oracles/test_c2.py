"""The new public methods say since when they exist, and the change log names them."""

import ast
import re
from pathlib import Path

import pytest

NEW = ["needs_rotation", "rotate"]


def docstrings_of(name):
    found = []
    for path in sorted(Path("src/itsdangerous").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                found.append(ast.get_docstring(node) or "")
    return found


@pytest.mark.parametrize("name", NEW)
def test_docstring_names_the_version(name):
    texts = docstrings_of(name)
    assert texts, f"{name} is gone"
    assert any(re.search(r"^\.\. versionadded:: 2\.3(\.0)?$", t, re.M) for t in texts)


@pytest.mark.parametrize("name", NEW)
def test_change_log_names_the_method(name):
    text = Path("CHANGES.rst").read_text(encoding="utf-8")
    newest = text.split("Version 2.2.0", 1)[0]
    assert re.search(r"^Version 2\.3\.0\n-+$", newest, re.M), "no section for the next version"
    newest = re.split(r"^Version 2\.3\.0\n", newest, flags=re.M)[1]
    assert re.search(rf"\b{name}\b", newest), f"{name} is not in the change log"
