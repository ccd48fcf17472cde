"""No modules import each other in a circle, and none outside ``ecosystems/`` names a language."""

from __future__ import annotations

import ast
import functools
import re
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


#: Languages and their tools, as words of identifiers and texts.
LANGUAGES = re.compile(
    r"\b(?:javascript|typescript|nodejs|npm|npx|pnpm|jest|mocha|vitest|eslint|golang|goroutine|gofmt|rust|rustc|cargo|crate"
    r"|java|javac|maven|gradle|kotlin|csharp|dotnet|ruby|gemfile|rspec|php|phpunit|composer|cmake|ctest|gtest"
    r"|cpp|clang|gcc)\b|\.(?:[cm]?jsx?|[cm]?tsx?|go|rs|java|kt|cs|cc|cpp|hpp|rb|php)\b|\A(?:node|go|js|ts|rs)\Z|\bnode\.js"
)
PYTHON = re.compile(r"\bpython\b|\bpip\b|\.pyi?\b")

#: The modules that name Python, which is also what the harness and its programs are written in. Fewer is better.
NAMING_PYTHON = {
    "types/instances.py": "a key of environments that were written before others came",
    "pytest_files.py": "files that pytest reads, of which this package is a plugin",
    "option_table.py": "the image with the harness's own interpreter",
    "runtimes/venvs.py": "virtual environments, of which the harness's own is one",
    "reviewers/ruff.py": "a reviewer that is one program, with its rules as settings",
    "curation/pinning.py": "requirements are pinned as of a day",
    "curation/environment_search.py": "environments of such pins are tried one after the other",
    "curation/environment_probe.py": "what is tried in them: imports, and a test command",
    "curation/environments.py": "the search, and a model's proposal where it finds none",
}

#: Read as data, or the programs that it installs are written in them.
APART = ("ecosystems", "benchmarks", "clients")


def words_of(source: str) -> Iterator[str]:
    """Yield the identifiers of a module as words, and its texts but for docstrings, all in lower case."""
    tree = ast.parse(source)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value.lower()
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name.lower() != "node":
                yield re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).lower()
        if isinstance(node, ast.Attribute) and node.attr == "node" and "environment" in ast.unparse(node.value):
            yield "node"


@functools.cache
def said() -> dict[str, set[str]]:
    """The words of each module, by its path."""
    places = ((path, path.relative_to(PACKAGE)) for path in sorted(PACKAGE.rglob("*.py")))
    return {str(at): {*words_of(path.read_text("utf-8"))} for path, at in places if at.parts[0] not in APART}


def naming(words: re.Pattern[str]) -> dict[str, set[str]]:
    """Return what modules say that has these words, by their path."""
    pages = {path.name for path in (PACKAGE / "show" / "page").iterdir()}
    found = {at: {word for word in of - pages if words.search(word)} for at, of in said().items()}
    return {at: hits for at, hits in found.items() if hits}


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


def test_no_module_outside_its_ecosystem_names_a_language() -> None:
    found = naming(LANGUAGES)
    assert found.pop("types/instances.py") == {"node"}  # the key of environments that were written before others came
    assert found == {}
    found = naming(PYTHON)
    assert found.keys() == NAMING_PYTHON.keys()
    assert found["types/instances.py"] == {"python"}


@pytest.mark.parametrize(
    "said",
    [
        "jest = 1",
        "x = run(NPM)",
        "def readJavaScript(): ...",
        "x = path.endswith('.ts')",
        "x = 'node'",
        "x = a.environment.node",
        "from a.go import b",
        "x = f'{y} needs npm'",
    ],
)
def test_a_name_of_a_language_is_found_wherever_it_stands(said: str) -> None:
    assert any(map(LANGUAGES.search, words_of(said)))


@pytest.mark.parametrize("said", ["node = ast.parse(a)", "'In Go and npm.'", "x = 'let it go on'", "x = a.node.path"])
def test_other_words_are_no_languages(said: str) -> None:
    assert not any(map(LANGUAGES.search, words_of(said)))
