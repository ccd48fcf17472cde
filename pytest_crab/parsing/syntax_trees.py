"""Syntax trees of code in any language that has a grammar here.

The grammars are those of tree-sitter, one package for each language (the extra ``mutation``).
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_crab.ecosystems import grammar_of
from pytest_crab.ecosystems.contract import Grammar
from pytest_crab.errors import EngineError
from pytest_crab.parsing.node_types import CLASSES, FUNCTIONS, TYPES

if TYPE_CHECKING:
    from tree_sitter import Language, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A piece of code that has no parts; lines count from 1."""

    #: The first byte.
    start: int
    #: The byte up to which it goes.
    end: int
    first_line: int
    last_line: int


def are_installed() -> bool:
    """Return whether the extra is installed."""
    return importlib.util.find_spec("tree_sitter") is not None


def parser_of(grammar: Grammar) -> Callable[[bytes], Node]:
    """Return what makes the root node of a source. Raises EngineError where the extra is missing."""
    language = _language(grammar)
    import tree_sitter

    parser = tree_sitter.Parser(language)
    return lambda text: parser.parse(text).root_node


def _language(grammar: Grammar) -> Language:
    try:
        import tree_sitter

        module = importlib.import_module(grammar.module)
    except ImportError as error:
        raise EngineError(f"a syntax tree needs {error.name}: install pytest-crab with its extra mutation") from error
    return tree_sitter.Language(getattr(module, grammar.function)())


def root_of(path: str, source: bytes) -> Node:
    """Return the root of a source's tree, by the grammar of files with this name.

    Raises EngineError where the extra is missing, ValueError where there is no such grammar.
    """
    grammar = grammar_of(path)
    if grammar is None:
        raise ValueError(f"there is no grammar for {path}")
    if grammar.piece is not None and grammar.piece[1] not in source:
        grammar = grammar._replace(function=grammar.piece[0])
    return parser_of(grammar)(source)


def spans_around(path: str, source: bytes, lines: Collection[int]) -> dict[int, tuple[int, int]]:
    """Return by line the first and the last line of the innermost function, class or type around it.

    What stands right above one, a comment or an attribute, is part of it. Lines that are in none are left out. Raises
    as ``root_of`` does.
    """
    found: dict[int, tuple[int, int]] = {}
    waiting = [root_of(path, source)]
    while waiting:
        node = waiting.pop()
        if node.type in (*FUNCTIONS, *CLASSES, *TYPES):
            start, end = lines_with_above(node)
            found.update((line, (start, end)) for line in lines if start <= line <= end)
        waiting.extend(node.named_children)
    return found


def lines_with_above(node: Node) -> tuple[int, int]:
    """Return the first and the last line of a node with what stands right above it, as in ``spans_around``."""
    return first_with_above(node).start_point[0] + 1, node.end_point[0] + 1


def first_with_above(node: Node) -> Node:
    """Return the first of the comments and attributes that stand right above a node, else the node itself."""
    first = node
    while (above := first.prev_sibling) is not None and _belongs(above, first):
        first = above
    return first


def matches(grammar: Grammar, query: str, root: Node) -> list[dict[str, list[Node]]]:
    """Return the nodes of each match of a query, by the names of its captures; the root is of this grammar."""
    import tree_sitter

    return [found for _, found in tree_sitter.QueryCursor(tree_sitter.Query(_language(grammar), query)).matches(root)]


def _belongs(above: Node, node: Node) -> bool:
    words = ("comment", "attribute", "decorator")
    if not any(word in above.type for word in words) or node.start_point[0] - above.end_point[0] > 1:
        return False
    before = above.prev_sibling  # a comment beside code is of that
    return "comment" not in above.type or before is None or before.end_point <= (above.start_point[0], 0)


def leaves(path: str, source: bytes) -> Iterator[Leaf]:
    """Yield the leaves of a source in their order, by the grammar of files with this name.

    Code that does not parse as a whole has leaves too. Raises EngineError where the extra is missing, ValueError where
    there is no such grammar.
    """
    waiting = [root_of(path, source)]
    while waiting:
        node = waiting.pop()
        waiting.extend(reversed(node.children))
        if not node.children and node.end_byte > node.start_byte:
            first, last = node.start_point[0] + 1, node.end_point[0] + 1
            yield Leaf(start=node.start_byte, end=node.end_byte, first_line=first, last_line=last)
