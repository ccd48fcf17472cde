"""Edits within one expression that leave code nearly right: what someone writes who mends a fault only halfway.

Each asks only for node types; what a grammar has no such node for has none of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_crab.curation.fault_edits import Edit, text_of
from pytest_crab.parsing.node_types import (
    CALLS,
    CHOICES,
    CLASSES,
    COLLECTIONS,
    COMPARISONS,
    FUNCTIONS,
    SUMS,
    called,
    object_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_SUMS = (b"+", b"-", b"*", b"/", b"//", b"%", b"**", b"|", b"&", b"^", b"<<", b">>")
#: The comparisons that agree with a sign on most values.
_NEAR_SIGNS = {
    b"<": (b"!=",), b">": (b"!=",), b"<=": (b"==",), b">=": (b"==",), b"==": (b"<=", b">="), b"!=": (b"<", b">"),
}  # fmt: skip
_CONDITIONS = ("identifier", "attribute", "subscript")
_BRANCHING = ("if_statement", "elif_clause", "while_statement")


def slight_edits(node: Node) -> Iterator[Edit]:
    """Yield the edits of one node, not of those in it."""
    for of in (_part, _sign, _unset, _span, _choice, _entry, _bare, _relative):
        yield from of(node)


def _part(node: Node) -> Iterator[Edit]:
    """Leave out one side of a sum or a product."""
    left, right, sign = (node.child_by_field_name(name) for name in ("left", "right", "operator"))
    if node.type in SUMS and left is not None and right is not None and sign is not None and sign.text in _SUMS:
        yield Edit("part", node, left.end_byte, right.end_byte, b"", text_of(right))
        yield Edit("part", node, left.start_byte, right.start_byte, b"", text_of(left))


def _sign(node: Node) -> Iterator[Edit]:
    """Compare in another way that agrees on most values."""
    if node.type in COMPARISONS:
        for sign in node.children:
            for new in _NEAR_SIGNS.get(sign.text or b"", ()):
                yield Edit("near-sign", node, sign.start_byte, sign.end_byte, new, text_of(node))


def _unset(node: Node) -> Iterator[Edit]:
    """Take what is empty for what is not there, or the other way round."""
    if node.type == "not_operator":
        inner = node.child_by_field_name("argument")
        if inner is not None and inner.type in _CONDITIONS:
            yield Edit("unset", node, node.start_byte, node.end_byte, (inner.text or b"") + b" is None", text_of(node))
    elif node.type == "comparison_operator" and len(node.children) == 3 and node.children[2].type == "none":
        word = {"is": b"not ", "is not": b""}.get(node.children[1].type)
        if word is not None:
            new = word + (node.children[0].text or b"")
            yield Edit("unset", node, node.start_byte, node.end_byte, new, text_of(node))
    branching = node.type in _BRANCHING and any(child.type == ":" for child in node.children)  # Python's alone
    condition = node.child_by_field_name("condition") if branching else None
    joined = node.type == "boolean_operator"
    sides = (node.child_by_field_name(name) if joined else None for name in ("left", "right"))
    for one in (condition, *sides):
        if one is not None and one.type in _CONDITIONS:
            yield Edit("unset", node, one.end_byte, one.end_byte, b" is not None", text_of(one))


def _span(node: Node) -> Iterator[Edit]:
    """Take a part of a sequence without one of its ends."""
    if node.type in ("slice", "slice_expression"):
        for child in node.named_children:
            if child != node.child_by_field_name("operand"):
                yield Edit("span", node, child.start_byte, child.end_byte, b"", text_of(node))


def _choice(node: Node) -> Iterator[Edit]:
    """Take one of two values without asking."""
    if node.type not in CHOICES:
        return
    values = [node.child_by_field_name(name) for name in ("consequence", "alternative")]
    values[0] = values[0] or node.child_by_field_name("body")
    if values == [None, None] and len(node.named_children) == 3:  # Python's has no names
        values = [node.named_children[0], node.named_children[2]]
    for one in filter(None, values):
        yield Edit("choice", node, node.start_byte, node.end_byte, one.text or b"", text_of(node))


def _entry(node: Node) -> Iterator[Edit]:
    """Leave out one of several entries."""
    own = [child for child in node.named_children if "comment" not in child.type]
    if node.type in COLLECTIONS and len(own) > 2:
        for one, other in itertools.pairwise(own):
            yield Edit("entry", node, one.start_byte, other.start_byte, b"", text_of(one))
        yield Edit("entry", node, own[-2].end_byte, own[-1].end_byte, b"", text_of(own[-1]))


def _bare(node: Node) -> Iterator[Edit]:
    """Take a value as it is, where it was made into another one first."""
    name, given = called(node), node.child_by_field_name("arguments")
    if node.type not in CALLS or name is None:
        return
    own = [] if given is None else given.named_children
    if (
        name.type in ("identifier", "name")
        and object_of(node) is None
        and len(own) == 1
        and own[0].type not in ("keyword_argument", "generator_expression")
    ):
        yield Edit("bare", node, node.start_byte, node.end_byte, own[0].text or b"", text_of(node))
    of = object_of(node) or object_of(name)
    if of is not None and not own:
        yield Edit("bare", node, node.start_byte, node.end_byte, of.text or b"", text_of(node))


def _relative(node: Node) -> Iterator[Edit]:
    """Call another method of the same class, whose name has a word in common."""
    function = called(node)
    if node.type not in CALLS or function is None:
        return
    parts = (function.child_by_field_name(part) for part in ("attribute", "property", "field"))
    name = next(filter(None, parts), function if object_of(node) is not None else None)
    if name is None or name.text is None:
        return
    words = set(name.text.strip(b"_").split(b"_"))
    for other in _methods(node):
        if other != name.text and words & set(other.strip(b"_").split(b"_")):
            yield Edit("relative", node, name.start_byte, name.end_byte, other, text_of(node))


def _methods(node: Node) -> list[bytes]:
    """Return the names of the functions of the class that a node is in."""
    at = node.parent
    while at is not None and at.type not in CLASSES:
        at = at.parent
    body = None if at is None else at.child_by_field_name("body")
    inside = [] if body is None else body.named_children
    plain = [one.child_by_field_name("definition") or one for one in inside]
    names = [one.child_by_field_name("name") for one in plain if one.type in FUNCTIONS]
    return [one.text for one in names if one is not None and one.text]
