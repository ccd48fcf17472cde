"""Mutants of a reference fix: small wrong changes on the lines that it wrote, from the syntax tree of any language."""

from __future__ import annotations

import ast
import bisect
import difflib
import functools
import hashlib
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import CodeType
from typing import TYPE_CHECKING

from pytest_crab.curation.fault_edits import Edit, fault_edits, text_of
from pytest_crab.ecosystems import grammar_of
from pytest_crab.ecosystems.contract import Grammar
from pytest_crab.parsing.syntax_trees import parser_of

if TYPE_CHECKING:
    from tree_sitter import Node


#: The other edge, the opposite, the neighbour: what one sign becomes.
_SWAPS = {
    b"<": b"<=", b"<=": b"<", b">": b">=", b">=": b">", b"==": b"!=", b"!=": b"==", b"===": b"!==", b"!==": b"===",
    b"is": b"is not", b"is not": b"is", b"in": b"not in", b"not in": b"in",
    b"and": b"or", b"or": b"and", b"&&": b"||", b"||": b"&&",
    b"+": b"-", b"-": b"+", b"*": b"/", b"/": b"*", b"+=": b"-=", b"-=": b"+=",
}  # fmt: skip
_WORDS = {b"True": b"False", b"False": b"True", b"true": b"false", b"false": b"true"}
#: Parents in which a sign is an operator, and not a type's bracket, a star or a part of a loop's head.
_OPERATIONS = (
    "comparison",
    "boolean",
    "binary",
    "augmented_assignment",
    "assignment_expression",
    "operator_assignment",
)
_NUMBERS = ("integer", "number", "int_literal", "integer_literal", "number_literal", "decimal_integer_literal")
_STATEMENTS = (
    "expression_statement", "raise_statement", "throw_statement", "break_statement", "continue_statement",
    "assert_statement",
)  # fmt: skip
#: Conditions that are turned by a word before them.
_PLAIN = (
    "identifier", "attribute", "subscript", "call", "member_expression", "call_expression", "subscript_expression",
    "method_invocation", "selector_expression", "field_expression",
)  # fmt: skip
#: Nodes around a condition that only hold its brackets.
_WRAPPED = ("parenthesized_expression", "condition_clause")
#: The parts of a code that decide what it does, beside its constants.
_DECIDING = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount",
    "co_posonlyargcount", "co_kwonlyargcount",
)  # fmt: skip
_NOT_CODE = ("comment", "string", "type", "import", "decorator", "annotation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One changed file: ``operator`` is the kind of change, ``line`` counts from 1, ``content`` is the whole file.

    ``scope`` is the function or class around it, and ``subject`` what it is about (see fault_edits); empty: not said.
    """

    path: str
    line: int
    operator: str
    before: str
    after: str
    content: bytes
    scope: str = ""
    subject: str = ""

    @property
    def name(self) -> str:
        """A name that stays while the mutated file does."""
        digest = hashlib.sha256(self.path.encode() + b"\0" + self.content).hexdigest()[:8]
        return f"{self.operator}-{PurePosixPath(self.path).stem}-{self.line}-{digest}"

    @property
    def change(self) -> str:
        """The change in words."""
        return f"{self.path}:{self.line}: {self.before!r} becomes {self.after!r}"


def mutants(path: str, source: bytes, lines: Collection[int]) -> Iterator[Mutant]:
    """Yield the mutants of a file on these lines, from 1; none for a language without a grammar here.

    Changed are comparisons (also to the next edge), logic, signs, numbers (by one), truth values, conditions (always,
    never), named arguments (left out), whole statements (left out), and what fault_edits adds. Left out are those that
    change nothing (see ``changes_code``). Raises EngineError where the extra is missing.
    """
    yield from (one for one in drafts(path, source, lines) if changes_code(one, source))


def drafts(path: str, source: bytes, lines: Collection[int]) -> Iterator[Mutant]:
    """Yield the mutants of a file, and those among them that ``changes_code`` leaves out, which takes longer to tell.

    Raises EngineError where the extra is missing.
    """
    grammar = grammar_of(path)
    if grammar is None:
        return
    seen = {source}
    for operator, node, start, end, new, subject in _edits(parser_of(grammar)(source), source, grammar, sorted(lines)):
        line = node.start_point[0] + 1
        content = source[:start] + new + source[end:]
        if line not in lines or content in seen:
            continue
        seen.add(content)
        yield Mutant(
            path=path,
            line=line,
            operator=operator,
            before=_text(source[start:end]),
            after=_text(new),
            content=content,
            scope=_scope(node),
            subject=subject,
        )


def has_code(path: str) -> bool:
    """Return whether there is a grammar here for a file."""
    return grammar_of(path) is not None


def halves(path: str, before: bytes, after: bytes) -> Iterator[Mutant]:
    """Yield a file as a fix leaves it, without one of the places that it changed; none where no grammar is here.

    Left out are places where it changed no code (see ``changes_code``). Raises EngineError where the extra is missing.
    """
    if not has_code(path):
        return
    old, new = before.split(b"\n"), after.split(b"\n")
    for tag, first, end, start, stop in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        one = Mutant(
            path=path,
            line=start + 1,
            operator="half",
            before=_text(b"\n".join(new[start:stop])),
            after=_text(b"\n".join(old[first:end])),
            content=b"\n".join([*new[:start], *old[first:end], *new[stop:]]),
        )
        if changes_code(one, after):
            yield one


def may_hang(source: str, line: int) -> bool:
    """Return whether a line is in a loop that goes on while something holds: with a fault it may never end."""
    above = source.split("\n")[:line]
    indent = len(above[-1]) - len(above[-1].lstrip())
    for text in reversed(above):
        own = len(text) - len(text.lstrip())
        if text.strip() and (own < indent or text is above[-1]):
            indent = own
            if re.match(r"\s*(?:while\b|def\b|async def\b)", text):
                return text.lstrip().startswith("while")
    return False


def changes_code(mutant: Mutant, source: bytes) -> bool:
    """Return whether a mutant of a source still parses, and in Python compiles to other code."""
    grammar = grammar_of(mutant.path)
    assert grammar is not None
    parse = parser_of(grammar)
    if parse(mutant.content).has_error and not parse(source).has_error:
        return False
    return not same_code(mutant.path, source, mutant.content)


def same_code(path: str, one: bytes, other: bytes) -> bool:
    """Return whether two texts of a file do the same: they are equal, or in Python but for words and annotations."""
    if one == other:
        return True
    known, code = _code(path, one), _code(path, other)
    return known is not None and code is not None and _same(code, known)


def _edits(node: Node, source: bytes, grammar: Grammar, lines: Sequence[int]) -> Iterator[Edit]:
    """Yield each change below a node that may begin on one of these lines, which are sorted."""
    if any(word in node.type for word in _NOT_CODE) and node.type not in _STATEMENTS:
        return
    first, last = node.start_point[0] + 1, node.end_point[0] + 1
    at = bisect.bisect_left(lines, first)
    if at == len(lines) or lines[at] > last:
        return
    if node.children:
        yield from _of_part(node, source, grammar)
        yield from fault_edits(node, source)
    else:
        yield from _of_sign(node, source)
    for child in node.children:
        yield from _edits(child, source, grammar, lines)


def _of_sign(node: Node, source: bytes) -> Iterator[Edit]:
    parent = node.parent.type if node.parent is not None else ""
    text = source[node.start_byte : node.end_byte]
    if text in _SWAPS and any(word in parent for word in _OPERATIONS):
        yield Edit("operator", node, node.start_byte, node.end_byte, _SWAPS[text], text_of(node.parent))
    elif text in _WORDS:
        yield Edit("truth", node, node.start_byte, node.end_byte, _WORDS[text], text_of(node.parent))
    elif node.type in _NUMBERS and text.isdigit():
        yield Edit("number", node, node.start_byte, node.end_byte, str(int(text) + 1).encode(), text_of(node.parent))


def _of_part(node: Node, source: bytes, grammar: Grammar) -> Iterator[Edit]:
    condition = node.child_by_field_name("condition")
    if condition is not None:
        inner = condition.named_children[0] if condition.type in _WRAPPED else condition
        for name, word in (("always", grammar.true), ("never", grammar.false)):
            yield Edit(name, inner, inner.start_byte, inner.end_byte, word)
        if inner.type in _PLAIN:
            yield Edit("turned", inner, inner.start_byte, inner.start_byte, grammar.denied, text_of(inner))
    if node.type in ("not_operator", "unary_expression") and source[node.start_byte : node.start_byte + 1] in b"n!":
        yield Edit("negation", node, node.start_byte, node.children[-1].start_byte, b"", text_of(node))
    if node.type == "keyword_argument":
        start, end = _with_comma(node, source)
        yield Edit("argument", node, start, end, b"", text_of(node))
    if node.type in _STATEMENTS and not _is_text(node):
        yield Edit("statement", node, node.start_byte, node.end_byte, grammar.nothing)


def _scope(node: Node) -> str:
    """Return the name of the function that a node is in, or else of the class; empty where it is in none."""
    at = node.parent
    while at is not None and "function" not in at.type and "method" not in at.type and "class" not in at.type:
        at = at.parent
    return "" if at is None else text_of(at.child_by_field_name("name"))


def _with_comma(node: Node, source: bytes) -> tuple[int, int]:
    """Return the bytes of an argument and of the comma that goes with it, with the lines that are theirs alone."""
    before, after = node.prev_sibling, node.next_sibling
    if after is not None and source[after.start_byte : after.end_byte] == b",":
        start = source.rfind(b"\n", 0, node.start_byte) + 1
        end = source.find(b"\n", after.end_byte)
        alone = not source[start : node.start_byte].strip() and not source[after.end_byte : end].strip()
        return (start, end + 1) if alone else (node.start_byte, after.end_byte)
    if before is not None and source[before.start_byte : before.end_byte] == b",":
        return before.start_byte, node.end_byte
    return node.start_byte, node.end_byte


def _is_text(node: Node) -> bool:
    """Return whether a statement is only a text, as docstrings are."""
    return len(node.named_children) == 1 and node.named_children[0].type == "string"


@functools.lru_cache(maxsize=8)
def _code(path: str, source: bytes) -> CodeType | None:
    """Return what a file compiles to without its docstrings and the annotations of its functions."""
    if not path.endswith(".py"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a mutant may compare with "is" what should not be
            return compile(_bare(ast.parse(source)), path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _bare(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and ast.get_docstring(node, clean=False) is not None
        ):
            # Another statement in its place would stand before an import of __future__, which no file may have.
            node.body[:1] = [] if len(node.body) > 1 else [ast.copy_location(ast.Pass(), node.body[0])]
    return tree


def _same(one: CodeType, other: CodeType) -> bool:
    """Return whether two codes do the same, wherever their lines are."""
    if any(getattr(one, name) != getattr(other, name) for name in _DECIDING):
        return False
    if len(one.co_consts) != len(other.co_consts):
        return False
    for left, right in zip(one.co_consts, other.co_consts, strict=True):
        if isinstance(left, CodeType) and isinstance(right, CodeType):
            if not _same(left, right):
                return False
        elif (type(left), left) != (type(right), right):
            return False
    return True


def _text(piece: bytes) -> str:
    return " ".join(piece.decode("utf-8", "replace").split())[:60]
