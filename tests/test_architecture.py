"""No module of the package imports another in a circle: type-only imports and those within functions count too."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "pytest_crab"


def imports_of(source: str, modules: frozenset[str]) -> Iterator[str]:
    """Yield the modules that a module's text imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield from (found for found in (name if name in modules else node.module,) if found in modules)


def graph(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """Return what each module imports of the others."""
    modules = frozenset(texts)
    return {name: set(imports_of(text, modules)) - {name} for name, text in texts.items()}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def test_no_modules_import_each_other_in_a_circle() -> None:
    imported = graph({module_of(path): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")})
    assert len(imported) > 200
    assert "pytest_crab.plugin.paths" in imported["pytest_crab.plugin.items"]
    TopologicalSorter(imported).prepare()


@pytest.mark.parametrize(
    "back",
    [
        "from a import b",
        "import a.b",
        "from a.b import c",
        "if TYPE_CHECKING:\n    from a.b import c",
        "def f():\n    from a.b import c",
    ],
)
def test_a_circle_is_found_however_it_is_closed(back: str) -> None:
    with pytest.raises(CycleError):
        TopologicalSorter(graph({"a": "", "a.b": "from a.d import e", "a.d": back})).prepare()
