"""Captions are described in tabulate()'s docstring and in the README."""

import ast
import re
from pathlib import Path

WORD = re.compile(r"\bcaptions?\b", re.I)


def described(text):
    """The lines that speak of captions: markup comments and bare examples do not."""
    text = text.replace("<!-- caption -->", "")
    lines = [line.strip() for line in text.splitlines()]
    markup = (">>>", "...", "|", "<", "+")
    return [line for line in lines if WORD.search(line) and not line.startswith(markup)]


def docstring():
    tree = ast.parse(Path("tabulate/__init__.py").read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "tabulate"]
    assert len(found) == 1
    return ast.get_docstring(found[0]) or ""


def test_the_docstring_speaks_of_captions():
    assert described(docstring())


def test_the_readme_speaks_of_captions():
    assert described(Path("README.md").read_text(encoding="utf-8"))


def place(text):
    """Whether what stands near the word says where captions end up."""
    parts = re.split(r"\n\s*\n", text)
    speaking = [number for number, part in enumerate(parts) if described(part)]
    near = " ".join(parts[after] for number in speaking for after in (number, number + 1) if after < len(parts))
    return re.search(r"html|mediawiki|above|before|\btop\b|first line|precede", near, re.I)


def test_the_docstring_says_where_they_end_up():
    assert place(docstring())


def test_the_readme_says_where_they_end_up():
    assert place(Path("README.md").read_text(encoding="utf-8"))


def test_the_rest_of_the_docstring_is_there():
    assert len(docstring()) > 10_000
