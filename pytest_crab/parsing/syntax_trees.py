"""Syntax trees of code in any language that has a grammar here.

The grammars are those of tree-sitter, one package for each language (the extra ``mutation``).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pytest_crab.errors import EngineError

if TYPE_CHECKING:
    from tree_sitter import Node


class Grammar(NamedTuple):
    """The place of a grammar, the words of the language, what stands for an empty statement, and what denies."""

    module: str
    function: str = "language"
    true: bytes = b"true"
    false: bytes = b"false"
    nothing: bytes = b";"
    denied: bytes = b"!"


#: By the end of a file's name.
GRAMMARS = {
    ".py": Grammar("tree_sitter_python", true=b"True", false=b"False", nothing=b"pass", denied=b"not "),
    ".js": Grammar("tree_sitter_javascript"),
    ".jsx": Grammar("tree_sitter_javascript"),
    ".mjs": Grammar("tree_sitter_javascript"),
    ".cjs": Grammar("tree_sitter_javascript"),
    ".ts": Grammar("tree_sitter_typescript", "language_typescript"),
    ".tsx": Grammar("tree_sitter_typescript", "language_tsx"),
    ".go": Grammar("tree_sitter_go"),
    ".rs": Grammar("tree_sitter_rust"),
    ".java": Grammar("tree_sitter_java"),
    ".c": Grammar("tree_sitter_c"),
    ".h": Grammar("tree_sitter_c"),
    ".cc": Grammar("tree_sitter_cpp"),
    ".cpp": Grammar("tree_sitter_cpp"),
    ".hpp": Grammar("tree_sitter_cpp"),
    ".cs": Grammar("tree_sitter_c_sharp"),
    ".rb": Grammar("tree_sitter_ruby", nothing=b"nil"),
    ".php": Grammar("tree_sitter_php", "language_php"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A piece of code that has no parts, from its first byte up to ``end``; lines count from 1."""

    start: int
    end: int
    first_line: int
    last_line: int


def parser_of(grammar: Grammar) -> Callable[[bytes], Node]:
    """Return what makes the root node of a source. Raises EngineError where the extra is missing."""
    try:
        import tree_sitter

        module = importlib.import_module(grammar.module)
    except ImportError as error:
        raise EngineError(f"a syntax tree needs {error.name}: install pytest-crab with its extra mutation") from error
    parser = tree_sitter.Parser(tree_sitter.Language(getattr(module, grammar.function)()))
    return lambda text: parser.parse(text).root_node


def leaves(suffix: str, source: bytes) -> Iterator[Leaf]:
    """Yield the leaves of a source in their order, by the grammar of files with this ending.

    Code that does not parse as a whole has leaves too. Raises EngineError where the extra is missing.
    """
    grammar = GRAMMARS[suffix]
    if suffix == ".php" and b"<?" not in source:  # a piece of a file, which would be one text of a page
        grammar = grammar._replace(function="language_php_only")
    waiting = [parser_of(grammar)(source)]
    while waiting:
        node = waiting.pop()
        waiting.extend(reversed(node.children))
        if not node.children and node.end_byte > node.start_byte:
            first, last = node.start_point[0] + 1, node.end_point[0] + 1
            yield Leaf(start=node.start_byte, end=node.end_byte, first_line=first, last_line=last)
