"""The page on architecture and CONTRIBUTING name what is there; the picture is that of the import contract."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
WALK = re.findall(r"\| `(pytest_crab/[\w/.]+)` \| `([\w.]+)` \|$", PAGE, re.MULTILINE)


def names_of(path: Path) -> set[str]:
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{one.name}"
                for one in node.body
                if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return found


def test_the_table_of_plugins_has_each_that_is_registered() -> None:
    section = PAGE.partition("## The plugin")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    registration = (ROOT / "pytest_crab" / "plugin" / "registration.py").read_text("utf-8")
    made = set(re.findall(r"(?<![.\w])([A-Z]\w+)\(", registration)) | {"Inert"}
    assert "Runner" in made
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == made


@pytest.mark.parametrize(("file", "name"), WALK)
def test_every_function_of_the_walk_exists(file: str, name: str) -> None:
    assert name in names_of(ROOT / file)


@pytest.mark.parametrize("file", sorted(set(re.findall(r"`((?:pytest_crab|tests)/[\w/]+\.py)`", PAGE + CONTRIBUTING))))
def test_every_file_that_is_named_exists(file: str) -> None:
    assert (ROOT / file).is_file()


@pytest.mark.parametrize(("name", "file"), re.findall(r"`([A-Z]\w+)` in `(pytest_crab/[\w/]+\.py)`", CONTRIBUTING))
def test_every_table_to_name_an_adapter_in_exists(name: str, file: str) -> None:
    assert re.search(rf"^(class )?{name}\b", (ROOT / file).read_text("utf-8"), re.MULTILINE)


def test_the_picture_is_that_of_the_import_contract() -> None:
    spec = importlib.util.spec_from_file_location("docs_layers", Path(__file__).with_name("layers.py"))
    assert spec is not None
    assert spec.loader is not None
    layers = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = layers
    spec.loader.exec_module(layers)
    assert layers.PICTURE.read_text("utf-8") == layers.picture()
    drawn = set(re.findall(r">([\w.]+)</text>", layers.picture()))
    folders = {path.parent.name for path in (ROOT / "pytest_crab").glob("*/__init__.py")} - {"dockerfiles"}
    assert folders <= drawn
