"""Edits of whole statements that leave code as a person would have written it with the fault in it.

A guard, a case, a step, a lock or a file's end is left out with its lines and no ``pass`` in its place, an error is
swallowed, a default is shared. Each asks only for node types; what a grammar has no such node for has none of them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from pytest_crab.parsing.node_types import (
    ARGUMENTS,
    ASSIGNMENTS,
    AWAITS,
    BARE,
    BARE_EXPRESSIONS,
    BLOCKS,
    BRANCHES,
    CALLS,
    CHANGES,
    EXPRESSION_BLOCKS,
    FILES,
    FINALLY,
    FUNCTIONS,
    FURTHER_BRANCHES,
    HANDLERS,
    IFS,
    JOINED,
    LEAVING,
    LOOPS,
    PLACES,
    RAISING,
    SPREAD,
    VALUES,
    WRAPPED,
    called,
    inner,
    outer,
    statements,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_LOCK = re.compile(r"lock|mutex|semaphore", re.IGNORECASE)
_COPIERS = (b"list", b"dict", b"set", b"copy", b"deepcopy", b"copy.copy", b"copy.deepcopy")
#: Calls whose last argument is what they give where nothing is found.
_WITH_DEFAULT = {b"get": 2, b"pop": 2, b"setdefault": 2, b"getattr": 3, b"next": 2}
#: The words that join two conditions, or a value and what stands in for it.
_JOINING = ("and", "or", "&&", "||", "??")
#: The last words of calls that end the use of something.
_CLOSING = (b"close", b"release", b"shutdown", b"fclose", b"free", b"dispose")
#: Calls with two arguments that are not confused.
_ORDERED = (b"isinstance", b"issubclass", b"getattr", b"hasattr", b"super", b"cast")
_SHARED = {b"[]": b"[]", b"{}": b"{}", b"list()": b"[]", b"dict()": b"{}", b"set()": b"set()"}
_FACTORIES = {b"list": b"[]", b"dict": b"{}", b"set": b"set()"}


class Edit(NamedTuple):
    """A change of the bytes from ``start`` to ``end``."""

    operator: str
    node: Node
    start: int
    end: int
    new: bytes
    #: What it is about, for words on it.
    subject: str = ""


def text_of(node: Node | None) -> str:
    """Return the text of a node, on one line."""
    words = "" if node is None or node.text is None else " ".join(node.text.decode("utf-8", "replace").split())
    return re.sub(r"(?<=[(\[{]) | (?=[)\]}])", "", words)


def fault_edits(node: Node, source: bytes) -> Iterator[Edit]:
    """Yield the edits of one node, not of those in it."""
    for of in (_guard, _case, _step, _ending, _locked, _context, _swallowed, _arguments, _shared, _copied):
        yield from of(node, source)
    yield from _operand(node)
    yield from _awaited(node)


def _guard(node: Node, source: bytes) -> Iterator[Edit]:
    """Leave out a check at which the way ends."""
    asked = inner(node)
    consequence = asked.child_by_field_name("consequence") or asked.child_by_field_name("body")
    if asked.type not in IFS or consequence is None or asked.child_by_field_name("alternative") is not None:
        return
    inside = statements(consequence) if consequence.type in BLOCKS else [consequence]
    if (
        outer(node) is node
        and len(inside) == 1
        and inner(inside[0]).type in LEAVING
        and (span := _whole_lines(node, source)) is not None
    ):
        condition = asked.child_by_field_name("condition")
        assert condition is not None
        yield Edit("guard", node, *span, b"", f"{_inner(condition)}\0{text_of(inside[0])}")


def _case(node: Node, source: bytes) -> Iterator[Edit]:
    """Leave out one branch of several, or the last of several types or values that are asked for."""
    if node.type in BRANCHES:
        parent = node.parent
        several = parent is not None and sum(one.type == node.type for one in parent.children) > 1
        if (several or node.type in FURTHER_BRANCHES) and (span := _lines_of(node, source)) is not None:
            yield Edit("case", node, *span, b"", _head(node))
    inside = node.parent
    asked = inside is not None and (inside.type in ARGUMENTS or inside.type == "comparison_operator")
    if node.type == "tuple" and asked and len(node.named_children) > 1 and _asks(inside):
        last, before = node.named_children[-1], node.named_children[-2]
        yield Edit("member", node, before.end_byte, last.end_byte, _comma_of_one(node), text_of(last))


def _comma_of_one(node: Node) -> bytes:
    """A tuple of one needs a comma."""
    trailing = node.children[-2].type == ","
    return b"," if len(node.named_children) == 2 and not trailing else b""


def _asks(node: Node | None) -> bool:
    """Return whether a tuple in this node is one of types or values that something is held against."""
    if node is None:
        return False
    if node.type == "comparison_operator":
        return any(child.type in ("in", "not in") for child in node.children)
    called = node.parent.child_by_field_name("function") if node.parent is not None else None
    return called is not None and called.text in (b"isinstance", b"issubclass")


def _step(node: Node, source: bytes) -> Iterator[Edit]:
    """Leave out a statement that does something."""
    block = node.parent
    bare = node.type in BARE or (
        node.type in BARE_EXPRESSIONS and block is not None and block.type in EXPRESSION_BLOCKS
    )
    if not bare and inner(node) is node:
        return
    done = inner(node)
    done = done.named_children[0] if done.type == "try_expression" else done
    if done.type in ASSIGNMENTS:
        left = done.child_by_field_name("left")
        left = left.named_children[0] if left is not None and left.type == "expression_list" else left
        if left is None or left.type not in PLACES:
            return
    elif done.type not in (*CHANGES, *CALLS, *BARE, "delete_expression"):
        return
    if (span := _whole_lines(node, source)) is not None:
        closes = done.type == "delete_expression" or _last_name(done).lower() in _CLOSING
        yield Edit("resource" if closes else "step", node, *span, b"", text_of(done))


def _ending(node: Node, source: bytes) -> Iterator[Edit]:
    """Leave out the steps that are to be done in any case."""
    handled = node.parent is not None and any(one.type in HANDLERS for one in node.parent.children)
    if node.type in FINALLY and handled and (span := _lines_of(node, source)) is not None:
        yield Edit("resource", node, *span, b"", text_of(node))


def _locked(node: Node, source: bytes) -> Iterator[Edit]:
    """Do without a lock that is held for a block, or to the end of one."""
    body = node.child_by_field_name("body")
    if node.type == "synchronized_statement" and body is not None:
        yield Edit("lock", node, node.start_byte, body.start_byte, b"", text_of(node.named_children[0]))
    held = node.child_by_field_name("type") if node.type == "declaration" else None
    if held is not None and re.search(r"lock", text_of(held)) and (span := _whole_lines(node, source)) is not None:
        yield Edit("lock", node, *span, b"", text_of(held))
    after = node.next_named_sibling
    if after is None or after.type != "defer_statement" or inner(node) is node:
        return
    taken, given = _last_name(inner(node)), _last_name(after.named_children[0])
    spans = _whole_lines(node, source), _whole_lines(after, source)
    if (taken, given) in ((b"Lock", b"Unlock"), (b"RLock", b"RUnlock")) and spans[0] and spans[1]:
        yield Edit("lock", node, spans[0][0], spans[1][1], b"", text_of(inner(node)))


def _context(node: Node, source: bytes) -> Iterator[Edit]:
    """Take a block from under its lock, or from the file that is closed at its end."""
    body = node.child_by_field_name("body")
    clause = next((child for child in node.children if child.type == "with_clause"), None)
    if node.type != "with_statement" or body is None or clause is None or len(clause.named_children) != 1:
        return
    value = clause.named_children[0].child_by_field_name("value")
    if value is None or b"\n" in (value.text or b"\n") or node.end_byte != body.end_byte:
        return
    indent, inner = node.start_point[1], body.start_point[1]
    if body.start_point[0] == node.start_point[0] or inner <= indent or _has_long_text(body):
        return
    lines = source[body.start_byte - inner : body.end_byte].split(b"\n")
    text = b"\n".join(line[inner - indent :] if line.strip() else line for line in lines)[indent:]
    told = text_of(value)
    if value.type != "as_pattern":
        if _LOCK.search(told):
            yield Edit("lock", node, node.start_byte, node.end_byte, text, told)
        return
    target = next((child for child in value.children if child.type == "as_pattern_target"), None)
    opened = value.named_children[0]
    if target is not None and opened.type == "call" and node.children[0].type == "with":
        first = b"%s = %s\n%s" % (target.text, opened.text, b" " * indent)
        yield Edit("resource", node, node.start_byte, node.end_byte, first + text, text_of(opened))


def _swallowed(node: Node, source: bytes) -> Iterator[Edit]:
    """Pass over an error that was raised again, or as another one."""
    parent = outer(node).parent
    if node.type not in RAISING or parent is None:
        return
    block, handler = parent, parent.parent
    if handler is None or handler.type not in HANDLERS:
        return
    about = _head(handler)
    if len(statements(block)) > 1:
        if (span := _whole_lines(outer(node), source)) is not None:
            yield Edit("swallowed", node, *span, b"", f"{about}\0{text_of(node)}")
        return
    if handler.type == "catch_clause":
        whole = outer(node)
        yield Edit("swallowed", node, whole.start_byte, whole.end_byte, b"", f"{about}\0{text_of(node)}")
        return
    start, kept = node.start_byte, b""
    value = handler.child_by_field_name("value")
    if value is not None and value.type == "as_pattern":  # the name would be left without a use
        start, kept = value.named_children[0].end_byte, source[value.end_byte : node.start_byte]
    inside = _within(node, (*LOOPS, *FUNCTIONS))
    new = b"continue" if inside in LOOPS else b"return None" if inside in FUNCTIONS else b"pass"
    yield Edit("swallowed", node, start, node.end_byte, kept + new, f"{about}\0{text_of(node)}")


def _operand(node: Node) -> Iterator[Edit]:
    """Leave out one of two conditions."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sign = node.child_by_field_name("operator")
    both = node.type == "boolean_operator" or (sign is not None and sign.type in _JOINING)
    if node.type not in JOINED or not both or left is None or right is None:
        return
    parent = node.parent.type if node.parent is not None else ""
    if sign is not None and (sign.type == "??" or (sign.type in ("or", "||") and parent in VALUES)):
        yield Edit("fallback", node, left.end_byte, right.end_byte, b"", text_of(right))
        return
    yield Edit("operand", node, left.end_byte, right.end_byte, b"", text_of(right))
    yield Edit("operand", node, left.start_byte, right.start_byte, b"", text_of(left))


def _awaited(node: Node) -> Iterator[Edit]:
    """Only begin a task that has to be waited for."""
    if node.type in AWAITS and node.named_children:
        waited = node.named_children[0]
        yield Edit("await", node, node.start_byte, node.end_byte, waited.text or b"", text_of(waited))


def _arguments(node: Node, source: bytes) -> Iterator[Edit]:
    """Swap two arguments, hand nothing on, or leave out a default."""
    if node.type not in ARGUMENTS or node.parent is None or node.parent.type not in CALLS:
        return
    given = [child for child in node.named_children if "comment" not in child.type]
    called = _last_name(node.parent)
    for one, other in itertools.pairwise(given):
        if _is_name(one) and _is_name(other) and called not in _ORDERED:
            between = source[one.end_byte : other.start_byte]
            new = (other.text or b"") + between + (one.text or b"")
            yield Edit("swapped", node, one.start_byte, other.end_byte, new, text_of(node.parent))
    for one, other in itertools.pairwise(given):
        if other.type in SPREAD:
            yield Edit("handed-on", node, one.end_byte, other.end_byte, b"", text_of(other))
    if given and len(given) == _WITH_DEFAULT.get(called) and given[-1].type not in ("keyword_argument", "none"):
        yield Edit("fallback", node, given[-2].end_byte, given[-1].end_byte, b"", text_of(given[-1]))


def _shared(node: Node, source: bytes) -> Iterator[Edit]:
    """Share one list or mapping between all calls, or all objects."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or value is None:
        return
    if node.type == "keyword_argument":
        new = _FACTORIES.get(value.text or b"")
        if name.text == b"factory" and new is not None:
            yield Edit("shared", node, node.start_byte, node.end_byte, b"default=" + new, text_of(value))
        return
    function = node.parent.parent if node.parent is not None else None
    body = function.child_by_field_name("body") if function is not None else None
    if node.type not in ("default_parameter", "typed_default_parameter") or value.type != "none" or body is None:
        return
    for one in statements(body):
        new = _made_anew(one, name.text or b"")
        if new is not None and (span := _whole_lines(one, source)) is not None:
            kept = source[value.end_byte : span[0]]
            yield Edit("shared", node, value.start_byte, span[1], new + kept, text_of(name))
            return


def _made_anew(node: Node, name: bytes) -> bytes | None:
    """Return the text of what a statement puts in the place of a parameter that is None."""
    condition, inside = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
    if node.type != "if_statement" or condition is None or inside is None:
        return None
    if (condition.text or b"").split() not in ([name, b"is", b"None"], [b"not", name]):
        return None
    found = re.fullmatch(rb"%s = (\S+)" % re.escape(name), (inside.text or b"").strip())
    return None if found is None else _SHARED.get(found[1])


def _copied(node: Node, source: bytes) -> Iterator[Edit]:
    """Take another's value as it is, without the copy."""
    if node.type != "call" or _is_told(node, source):
        return
    called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None or given is None:
        return
    if called.type == "attribute" and (called.text or b"").endswith(b".copy") and not given.named_children:
        of = called.child_by_field_name("object")
        assert of is not None
        if of.text != b"copy":
            yield Edit("alias", node, node.start_byte, node.end_byte, of.text or b"", text_of(of))
    elif called.text in _COPIERS and len(given.named_children) == 1:
        (one,) = given.named_children
        if one.type in ("identifier", "attribute", "subscript"):
            yield Edit("alias", node, node.start_byte, node.end_byte, one.text or b"", text_of(one))


def _is_told(node: Node, source: bytes) -> bool:
    """Return whether the lines above say that there is a copy."""
    above = source[: node.start_byte].split(b"\n")[-6:]
    return any(line.strip().startswith((b"#", b"//")) and b"cop" in line.lower() for line in above)


# --- places -------------------------------------------------------------------------------------------------------


def _whole_lines(node: Node, source: bytes) -> tuple[int, int] | None:
    """The bytes of a statement's lines with the comment above it; None where its block would be empty."""
    block = node.parent
    if block is None or block.type not in BLOCKS:
        return None
    others = [one for one in statements(block) if one.id != node.id and not is_text(one)]
    return _lines_of(node, source) if others or block.type in FILES else None


def _lines_of(node: Node, source: bytes) -> tuple[int, int] | None:
    """The bytes of a node's lines, with the comments right above; None where something else is on them."""
    first = node
    while (
        (before := _above(first)) is not None
        and "comment" in before.type
        and before.end_point[0] == first.start_point[0] - 1
        and not source[source.rfind(b"\n", 0, before.start_byte) + 1 : before.start_byte].strip()
    ):
        first = before
    start = source.rfind(b"\n", 0, first.start_byte) + 1
    last = node.start_byte + len((node.text or b"").rstrip())
    end = source.find(b"\n", last)
    end = len(source) if end < 0 else end + 1
    rest = source[last:end].strip()
    if source[start : first.start_byte].strip() or (rest and not rest.startswith((b"#", b"//"))):
        return None
    open_above = source[:start].endswith((b"\n\n", b":\n", b"{\n"))
    while open_above and source[end : end + 1] == b"\n":
        end += 1
    return start, end


def _above(node: Node) -> Node | None:
    """Return what stands before a node; a comment above the first statement may be no part of its block."""
    block = node.parent
    if node.prev_sibling is None and block is not None and block.type in BLOCKS:
        return block.prev_sibling
    return node.prev_sibling


def is_text(node: Node) -> bool:
    """Return whether a statement is only a text, as docstrings are."""
    return len(node.named_children) == 1 and node.named_children[0].type == "string"


def _has_long_text(node: Node) -> bool:
    """Return whether a text in this node has several lines, which another indent would change."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type in ("string", "template_string") and one.start_point[0] != one.end_point[0]:
            return True
        waiting.extend(one.children)
    return False


def _within(node: Node, types: tuple[str, ...]) -> str:
    """Return the type of the nearest node of these types that this one is in."""
    at = node.parent
    while at is not None and at.type not in types:
        at = at.parent
    return "" if at is None else at.type


def _last_name(call: Node) -> bytes:
    """Return the name of what is called, without what it is of."""
    name = called(call)
    text = b"" if name is None else name.text or b""
    return re.split(rb"\.|->|::", text)[-1]


def _is_name(node: Node) -> bool:
    """Return whether an argument is a name alone."""
    return node.type in ("identifier", "variable_name") or (
        node.type == "argument" and len(node.children) == 1 and node.children[0].type == "variable_name"
    )


def _inner(condition: Node) -> str:
    return text_of(condition.named_children[0] if condition.type in WRAPPED else condition)


def _head(node: Node) -> str:
    """Return the first line of a node, up to its block."""
    return " ".join((node.text or b"").split(b"\n", 1)[0].decode("utf-8", "replace").split()).rstrip(" :{")
