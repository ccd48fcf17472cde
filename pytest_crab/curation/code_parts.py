"""Parts of files of any language: tests, the file without some, names, wordings, lines that do nothing.

They are read as the language's ecosystem says, else by the syntax tree. All raise ValueError for a file that cannot be
read, and EngineError where the extra is missing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from pytest_crab import ecosystems
from pytest_crab.ecosystems.contract import WORDING, CodeParts, TestLines
from pytest_crab.parsing import syntax_trees
from pytest_crab.parsing.node_types import (
    ASSIGNMENTS,
    CLASSES,
    DECLARATIONS,
    FUNCTIONS,
    NAMELESS,
    TYPES,
    declared,
    names_of,
)
from pytest_crab.text import split_lines, without_lines

if TYPE_CHECKING:
    from tree_sitter import Node

_QUOTES = "\"'`"
#: Words in a name that is written as one.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def of(path: str) -> CodeParts:
    """Return the reader of a file's parts, by the end of its name."""
    owner = ecosystems.of_file(path)
    return (None if owner is None else owner.code_parts) or GrammarParts(path)


def tests_at(path: str, text: str, lines: Collection[int]) -> list[str]:
    """Return the names of the tests that have one of these lines."""
    return [one.name for one in of(path).tests_of(text) if any(one.first <= line <= one.last for line in lines)]


def named_in(run_id: str, path: str, tests: Sequence[TestLines]) -> frozenset[str]:
    """Return the name of the test of a file that the id of a run stands for; none where that is none of them.

    Of several whose titles end alike it is the longest.
    """
    owner = ecosystems.of_file(path)
    found = {one.name for one in tests if owner is not None and owner.is_told(run_id, path, one.name)}
    return frozenset(name for name in found if len(name) == max(map(len, found)))


class GrammarParts(CodeParts):
    """The parts of files of a language that has a grammar and no reader of its own."""

    def __init__(self, path: str) -> None:
        self._path = path

    @override
    def tests_of(self, text: str) -> Sequence[TestLines]:
        lines = text.encode().split(b"\n")
        return [
            TestLines(
                name=".".join(_text(one).strip(_QUOTES) for one in found["name"]),
                first=first.start_point[0] + 1,
                last=test.end_point[0] + 1,
                is_shared=_is_shared(lines, first, test),
            )
            for found in self._matches(text)
            for test in found.get("test", ())
            for first in [syntax_trees.first_with_above(test)]
        ]

    @override
    def without(self, text: str, names: Collection[str]) -> str:
        """Return a file without these tests, and without the imports that only they needed.

        Raises ValueError where one of them shares a line with other code.
        """
        gone = [one for one in self.tests_of(text) if one.name in names]
        shared = next((one.name for one in gone if one.is_shared), None)
        if shared is not None:
            raise ValueError(f"the test {shared} of {self._path} shares a line with other code")
        spans = [(one.first, one.last) for one in gone]
        if not spans:
            return text
        left = without_lines(text, spans)
        unused = [
            (node.start_point[0] + 1, node.end_point[0] + 1)
            for found in self._matches(left)
            for node in found.get("import", ())
            if _uses(text, _bound(node)) and not _uses(left, _bound(node))
        ]
        return without_lines(left, unused) if unused else left

    @override
    def alone(self, text: str, names: Collection[str]) -> str:
        """Return a file with these tests, those that share a line with other code, and what they need of the rest."""
        return self.without(text, {one.name for one in self.tests_of(text) if not one.is_shared} - set(names))

    @override
    def stands_alone(self, text: str) -> bool:
        return False

    @override
    def claims_of(self, text: str) -> list[str]:
        return [_words(one.name) for one in self.tests_of(text)]

    @override
    def added_names(self, before: str, after: str) -> frozenset[str]:
        return self._defined(after) - self._defined(before)

    @override
    def added_texts(self, before: str, after: str) -> frozenset[str]:
        return _wordings(self._nodes(after)) - _wordings(self._nodes(before))

    @override
    def asking(self, text: str, names: Collection[str], wordings: Collection[str]) -> frozenset[str]:
        tests = self.tests_of(text) if names or wordings else []
        nodes = [node for node in self._nodes(text) if not node.children or "string" in node.type]
        found = set()
        for one in tests:
            inside = [node for node in nodes if one.first <= node.start_point[0] + 1 <= one.last]
            said = _wordings(inside)
            if any(_text(node) in names for node in inside) or any(
                mine in each or each in mine for mine in said for each in wordings
            ):
                found.add(one.name)
        return frozenset(found)

    @override
    def comment_lines(self, text: str) -> frozenset[int]:
        return self._whole_lines(text, ("comment",))

    @override
    def idle_lines(self, text: str) -> frozenset[int]:
        try:
            blank = {at for at, line in enumerate(split_lines(text), 1) if not line.strip()}
            return self._whole_lines(text, ("comment", "import", "include", "use_declaration", "package")) | blank
        except ValueError:
            return frozenset()

    @override
    def function_at(self, text: str, line: int) -> str | None:
        try:
            around = [
                node
                for node in self._nodes(text)
                if node.type in (*FUNCTIONS, *CLASSES, *NAMELESS)
                and node.start_point[0] < line <= node.end_point[0] + 1
            ]
        except ValueError:
            return None
        return ".".join(_text(one).replace("::", ".") for node in around for one in _called(node)) or None

    def _root(self, text: str) -> Node:
        return syntax_trees.root_of(self._path, text.encode())

    def _nodes(self, text: str) -> Iterator[Node]:
        """Yield the nodes of a file in their order, each before what is in it."""
        waiting = [self._root(text)]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def _matches(self, text: str) -> list[dict[str, list[Node]]]:
        grammar = ecosystems.grammar_of(self._path)
        root = self._root(text)
        if grammar is None or not grammar.tests or root.has_error:
            raise ValueError(f"the tests of {self._path} cannot be read here")
        return syntax_trees.matches(grammar, grammar.tests, root)

    def _defined(self, text: str) -> frozenset[str]:
        """Return the names of what a file defines; of what is local to a function those of functions and classes."""
        found: set[str] = set()
        waiting = [(self._root(text), False)]
        while waiting:
            node, is_local = waiting.pop()
            kinds = (*FUNCTIONS, *CLASSES, *TYPES, *ASSIGNMENTS, *(() if is_local else DECLARATIONS))
            if node.type in kinds:
                found.update(_text(named).lstrip("$#") for named in names_of(node))
            inside = is_local or node.type in (*FUNCTIONS, *NAMELESS)
            waiting.extend((child, inside) for child in node.children)
        return frozenset(found)

    def _whole_lines(self, text: str, kinds: Sequence[str]) -> frozenset[int]:
        """Return the lines that nodes of these kinds, parts of the names of types, have for themselves."""
        left, found = bytearray(text.encode()), set[int]()
        for node in self._nodes(text):
            if node.is_named and any(kind in node.type for kind in kinds):
                left[node.start_byte : node.end_byte] = re.sub(rb"[^\n]", b" ", left[node.start_byte : node.end_byte])
                found.update(range(node.start_point[0] + 1, node.end_point[0] + 2))
        lines = left.split(b"\n")
        return frozenset(at for at in found if not lines[at - 1].strip(b" \t\r;"))


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _is_shared(lines: Sequence[bytes], first: Node, last: Node) -> bool:
    """Return whether the lines of these nodes, and of what is between them, have other code than a comment."""
    (row, column), (end_row, end) = first.start_point, last.end_point
    after = last.next_sibling
    told = after is not None and "comment" in after.type and after.start_point[0] == end_row
    return bool(lines[row][:column].strip() or (not told and lines[end_row][end:].strip(b" \t\r;,")))


def _bound(node: Node) -> str:
    """Return the word by which an import is used: its own name, else the last part of its path that is no version."""
    named = node.child_by_field_name("name")
    if named is not None:
        return _text(named)
    parts = [part for part in _text(node).strip(_QUOTES).split("/") if not re.fullmatch(r"v\d+", part)]
    return re.sub(r"\.v\d+$|^go-", "", parts[-1] if parts else "")


def _uses(text: str, word: str) -> bool:
    """Return whether what is imported by a word is used."""
    return bool(word) and re.search(rf"(?<![\w\"/.]){re.escape(word)}\.", text) is not None


def _words(name: str) -> str:
    """Return the title of a test, or its name as words."""
    if not re.fullmatch(r"[\w.]+", name):
        return name
    words = [word if word.isupper() and len(word) > 1 else word.lower() for word in _WORD.findall(name)]
    return " ".join(words[1:] if words[:1] == ["test"] else words) or name


def _wordings(nodes: Iterable[Node]) -> frozenset[str]:
    texts = (_text(node).strip(_QUOTES).strip() for node in nodes if "string" in node.type)
    return frozenset(text for text in texts if len(text.split()) >= WORDING)


def _called(node: Node) -> list[Node]:
    """Return the node of the name by which people call a function or class; none where it has no name."""
    if node.type == "impl_item":
        return node.children_by_field_name("type")
    if node.type in NAMELESS:
        parent = node.parent
        return names_of(parent) if parent is not None and parent.type in (*ASSIGNMENTS, *DECLARATIONS) else []
    ends = declared(node)
    return names_of(node) if ends == [node] else ends
