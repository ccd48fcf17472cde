"""Parts of files of any language: tests, the file without some, names, wordings, lines that do nothing.

They are read as the language's ecosystem says, else by the syntax tree. All raise ValueError for a file that cannot be
read, and EngineError where the extra is missing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

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


def _own(path: str) -> CodeParts | None:
    owner = ecosystems.of_file(path)
    return None if owner is None else owner.code_parts


def tests_of(path: str, text: str) -> list[TestLines]:
    """Return the tests of a file."""
    own = _own(path)
    if own is not None:
        return list(own.tests_of(text))
    lines = text.encode().split(b"\n")
    return [
        TestLines(
            name=".".join(_text(one).strip(_QUOTES) for one in found["name"]),
            first=first.start_point[0] + 1,
            last=test.end_point[0] + 1,
            is_shared=_is_shared(lines, first, test),
        )
        for found in _matches(path, text)
        for test in found.get("test", ())
        for first in [syntax_trees.first_with_above(test)]
    ]


def _is_shared(lines: Sequence[bytes], first: Node, last: Node) -> bool:
    """Return whether the lines of these nodes, and of what is between them, have other code than a comment."""
    (row, column), (end_row, end) = first.start_point, last.end_point
    after = last.next_sibling
    told = after is not None and "comment" in after.type and after.start_point[0] == end_row
    return bool(lines[row][:column].strip() or (not told and lines[end_row][end:].strip(b" \t\r;,")))


def _matches(path: str, text: str) -> list[dict[str, list[Node]]]:
    grammar = ecosystems.grammar_of(path)
    root = syntax_trees.root_of(path, text.encode())
    if grammar is None or not grammar.tests or root.has_error:
        raise ValueError(f"the tests of {path} cannot be read here")
    return syntax_trees.matches(grammar, grammar.tests, root)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def tests_at(path: str, text: str, lines: Collection[int]) -> list[str]:
    """Return the names of the tests that have one of these lines."""
    return [one.name for one in tests_of(path, text) if any(one.first <= line <= one.last for line in lines)]


def without(path: str, text: str, names: Collection[str]) -> str:
    """Return a file without these tests, and without the imports that only they needed.

    Raises ValueError where one of them shares a line with other code.
    """
    own = _own(path)
    if own is not None:
        return own.without(text, names)
    gone = [one for one in tests_of(path, text) if one.name in names]
    shared = next((one.name for one in gone if one.is_shared), None)
    if shared is not None:
        raise ValueError(f"the test {shared} of {path} shares a line with other code")
    spans = [(one.first, one.last) for one in gone]
    if not spans:
        return text
    left = without_lines(text, spans)
    unused = [
        (node.start_point[0] + 1, node.end_point[0] + 1)
        for found in _matches(path, left)
        for node in found.get("import", ())
        if _uses(text, _bound(node)) and not _uses(left, _bound(node))
    ]
    return without_lines(left, unused) if unused else left


def alone(path: str, text: str, names: Collection[str]) -> str:
    """Return a file with these of its tests, and those that share a line with other code, and what they need of it."""
    own = _own(path)
    if own is not None:
        return own.alone(text, names)
    return without(path, text, {one.name for one in tests_of(path, text) if not one.is_shared} - set(names))


def stands_alone(path: str, text: str) -> bool:
    """Return whether a file is an oracle as it is, which needs nothing of the project's other tests."""
    own = _own(path)
    return own is not None and own.stands_alone(text)


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


def claims_of(path: str, text: str) -> list[str]:
    """Return what each test of a file says that should hold."""
    own = _own(path)
    if own is not None:
        return own.claims_of(text)
    return [_words(one.name) for one in tests_of(path, text)]


def _words(name: str) -> str:
    """Return the title of a test, or its name as words."""
    if not re.fullmatch(r"[\w.]+", name):
        return name
    words = [word if word.isupper() and len(word) > 1 else word.lower() for word in _WORD.findall(name)]
    return " ".join(words[1:] if words[:1] == ["test"] else words) or name


def named_in(run_id: str, path: str, tests: Sequence[TestLines]) -> frozenset[str]:
    """Return the name of the test of a file that the id of a run stands for; none where that is none of them.

    Of several whose titles end alike it is the longest.
    """
    owner = ecosystems.of_file(path)
    found = {one.name for one in tests if owner is not None and owner.is_told(run_id, path, one.name)}
    return frozenset(name for name in found if len(name) == max(map(len, found)))


def added_names(path: str, before: str, after: str) -> frozenset[str]:
    """Return the names that a file's new text defines and its old one does not."""
    own = _own(path)
    if own is not None:
        return own.added_names(before, after)
    return _defined(path, after) - _defined(path, before)


def _defined(path: str, text: str) -> frozenset[str]:
    """Return the names of what a file defines; of what is local to a function those of functions and classes alone."""
    found: set[str] = set()
    waiting = [(syntax_trees.root_of(path, text.encode()), False)]
    while waiting:
        node, is_local = waiting.pop()
        kinds = (*FUNCTIONS, *CLASSES, *TYPES, *ASSIGNMENTS, *(() if is_local else DECLARATIONS))
        if node.type in kinds:
            found.update(_text(named).lstrip("$#") for named in names_of(node))
        inside = is_local or node.type in (*FUNCTIONS, *NAMELESS)
        waiting.extend((child, inside) for child in node.children)
    return frozenset(found)


def added_texts(path: str, before: str, after: str) -> frozenset[str]:
    """Return the wordings (texts of several words) that a file's new text has and its old one has not."""
    own = _own(path)
    if own is not None:
        return own.added_texts(before, after)
    return _wordings(_nodes(path, after)) - _wordings(_nodes(path, before))


def _wordings(nodes: Iterable[Node]) -> frozenset[str]:
    texts = (_text(node).strip(_QUOTES).strip() for node in nodes if "string" in node.type)
    return frozenset(text for text in texts if len(text.split()) >= WORDING)


def asking(path: str, text: str, names: Collection[str], wordings: Collection[str]) -> frozenset[str]:
    """Return the names of those tests of a file that use one of these names, or hold something against a wording."""
    own = _own(path)
    if own is not None:
        return own.asking(text, names, wordings)
    tests = tests_of(path, text) if names or wordings else []
    nodes = [node for node in _nodes(path, text) if not node.children or "string" in node.type]
    found = set()
    for one in tests:
        inside = [node for node in nodes if one.first <= node.start_point[0] + 1 <= one.last]
        said = _wordings(inside)
        if any(_text(node) in names for node in inside) or any(
            mine in each or each in mine for mine in said for each in wordings
        ):
            found.add(one.name)
    return frozenset(found)


def comment_lines(path: str, text: str) -> frozenset[int]:
    """Return the lines of a file that are comments and nothing else."""
    own = _own(path)
    if own is not None:
        return own.comment_lines(text)
    return _whole_lines(path, text, ("comment",))


def idle_lines(path: str, text: str) -> frozenset[int]:
    """Return the lines of a file that do nothing: comments, imports, blank ones; empty where it cannot be read."""
    own = _own(path)
    if own is not None:
        return own.idle_lines(text)
    try:
        blank = {at for at, line in enumerate(split_lines(text), 1) if not line.strip()}
        return _whole_lines(path, text, ("comment", "import", "include", "use_declaration", "package")) | blank
    except ValueError:
        return frozenset()


def _whole_lines(path: str, text: str, kinds: Sequence[str]) -> frozenset[int]:
    """Return the lines that nodes of these kinds, parts of the names of types, have for themselves."""
    left, found = bytearray(text.encode()), set[int]()
    for node in _nodes(path, text):
        if node.is_named and any(kind in node.type for kind in kinds):
            left[node.start_byte : node.end_byte] = re.sub(rb"[^\n]", b" ", left[node.start_byte : node.end_byte])
            found.update(range(node.start_point[0] + 1, node.end_point[0] + 2))
    lines = left.split(b"\n")
    return frozenset(at for at in found if not lines[at - 1].strip(b" \t\r;"))


def function_at(path: str, text: str, line: int) -> str | None:
    """Return the dotted name of the innermost function or class at a line; None where there is none."""
    own = _own(path)
    if own is not None:
        return own.function_at(text, line)
    try:
        around = [
            node
            for node in _nodes(path, text)
            if node.type in (*FUNCTIONS, *CLASSES, *NAMELESS) and node.start_point[0] < line <= node.end_point[0] + 1
        ]
    except ValueError:
        return None
    return ".".join(_text(one).replace("::", ".") for node in around for one in _called(node)) or None


def _called(node: Node) -> list[Node]:
    """Return the node of the name by which people call a function or class; none where it has no name."""
    if node.type == "impl_item":
        return node.children_by_field_name("type")
    if node.type in NAMELESS:
        parent = node.parent
        return names_of(parent) if parent is not None and parent.type in (*ASSIGNMENTS, *DECLARATIONS) else []
    ends = declared(node)
    return names_of(node) if ends == [node] else ends


def _nodes(path: str, text: str) -> Iterator[Node]:
    """Yield the nodes of a file in their order, each before what is in it."""
    waiting = [syntax_trees.root_of(path, text.encode())]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))
