"""Mutants of a reference fix: small wrong changes on the lines that it wrote, from the syntax tree of any language."""

from __future__ import annotations

import bisect
import difflib
import hashlib
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

from pytest_crab.curation.fault_edits import Edit, fault_edits, is_text, text_of
from pytest_crab.curation.slight_edits import slight_edits
from pytest_crab.ecosystems import behaviour, grammar_of
from pytest_crab.ecosystems.contract import Grammar
from pytest_crab.parsing.node_types import (
    BLOCKS,
    CLASSES,
    DENIED,
    FUNCTIONS,
    NOT_CODE,
    NUMBERS,
    OPERATIONS,
    PLAIN,
    STATEMENTS,
    WRAPPED,
)
from pytest_crab.parsing.syntax_trees import parser_of

if TYPE_CHECKING:
    from tree_sitter import Node


#: Where something begins and ends, in bytes.
Span: TypeAlias = tuple[int, int]

#: The other edge, the opposite, the neighbour: what one sign becomes.
_SWAPS = {
    b"<": b"<=", b"<=": b"<", b">": b">=", b">=": b">", b"==": b"!=", b"!=": b"==", b"===": b"!==", b"!==": b"===",
    b"is": b"is not", b"is not": b"is", b"in": b"not in", b"not in": b"in",
    b"and": b"or", b"or": b"and", b"&&": b"||", b"||": b"&&",
    b"+": b"-", b"-": b"+", b"*": b"/", b"/": b"*", b"+=": b"-=", b"-=": b"+=",
}  # fmt: skip
_WORDS = {b"True": b"False", b"False": b"True", b"true": b"false", b"false": b"true"}
#: Arguments whose texts only people read.
_FOR_PEOPLE = (b"help", b"description", b"epilog", b"metavar", b"doc", b"short_help")
#: The most lines of one statement that belong together.
_LONGEST_STATEMENT = 12

#: The head of a loop that goes on while something holds, or its end where that says so, and the head of one that
#: counts, where only the head can do that.
_WHILE = re.compile(
    r"[\s}]*(?:end\s+)?(?:while\b|loop(?=\s*(?:\{|do\b|$))|until\b(?=\s+[\w!(@])|do\b(?=\s*(?:\{|/[/*]|$))"
    r"|for\b(?!.*(?:\brange\b|\bin\b|\bof\b|;|[^:]:[^:])))|.*[:;{}]\s*do\s*\{\s*$"
)
_COUNTING = re.compile(r"[\s}]*for\b.*;")
_FUNCTION = re.compile(r"\s*(?:async )?def\b")
#: The word that joins a condition to its neighbour.
_JOINT = re.compile(rb"^\s*(?:and\b|or\b|&&|\|\|)\s*|\s*(?:\band|\bor|&&|\|\|)\s*$")
#: A comma goes with what it divides.
_WORD = re.compile(rb"\w+|[^\w\s,]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One changed file."""

    path: str
    #: Counted from 1.
    line: int
    #: The kind of change.
    operator: str
    before: str
    after: str
    #: The whole file.
    content: bytes
    #: The function or class around it; empty: not said.
    scope: str = ""
    #: What it is about (see fault_edits); empty: not said.
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


def distinct(found: Iterable[Mutant], sources: Mapping[str, bytes]) -> Iterator[Mutant]:
    """Yield the drafts that change what a file does, by its source (see ``changes_code``), none the same as an earlier.

    Raises EngineError where the extra is missing.
    """
    seen = set()
    for one in found:
        code = _other_code(one, sources[one.path])
        digest = hashlib.sha256(repr((one.path, code)).encode()).digest()  # the code of many would need much memory
        if code is not None and digest not in seen:
            seen.add(digest)
            yield one


def drafts(path: str, source: bytes, lines: Collection[int], spans: Sequence[Span] | None = None) -> Iterator[Mutant]:
    """Yield the mutants of a file on these lines, from 1; none for a language without a grammar here.

    With ``spans`` only those that leave out a node which touches one of them, or change an expression that does.

    Changed are comparisons (also to the next edge), logic, signs, numbers (by one), truth values, conditions (always,
    never), named arguments (left out), whole statements (left out), and what fault_edits adds. ``distinct`` leaves out
    those that change nothing, which takes longer to tell. Raises EngineError where the extra is missing.
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
        if spans is not None and not _touches(spans, _expression(node) if new else _without_joint(source, start, end)):
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


def changed_spans(before: bytes, after: bytes) -> list[Span]:
    """Return where words and signs of a text are others than they were before."""
    old, new, places = _places(before, after)
    starts = [0, *itertools.accumulate(len(line) + 1 for line in new)]
    found = []
    for first, end, start, stop in places:
        was = [word[0] for word in _WORD.finditer(b"\n".join(old[first:end]))]
        now = [*_WORD.finditer(b"\n".join(new[start:stop]))]
        codes = difflib.SequenceMatcher(None, was, [word[0] for word in now], autojunk=False).get_opcodes()
        for tag, _, _, begin, over in codes:
            if tag != "equal":  # what is gone was between its neighbours
                inside = now[begin:over] or now[max(begin - 1, 0) : begin + 1]
                edges = (inside[0].start(), inside[-1].end()) if inside else (0, 0)
                found.append((starts[start] + edges[0], starts[start] + edges[1]))
    return found


def _touches(spans: Sequence[Span], own: Span) -> bool:
    return any(start < own[1] and own[0] < end for start, end in spans)


def _without_joint(source: bytes, start: int, end: int) -> Span:
    """Return where a part is, without the word that joins it to its neighbour: that may be new because that one is."""
    text = source[start:end]
    inner = _JOINT.sub(b"", text)
    first = start + text.index(inner)
    return first, first + len(inner)


def _expression(node: Node) -> Span:
    """Return where a node is, or what a sign is part of."""
    whole = node if node.is_named or node.parent is None else node.parent
    return whole.start_byte, whole.end_byte


def statement_lines(path: str, source: bytes, lines: Collection[int]) -> set[int]:
    """Return these lines with all lines of the statements that they are part of, of those with a block only the head.

    A statement of very many lines gives no more. Raises EngineError where the extra is missing.
    """
    wanted, found = set(lines), set(lines)
    waiting = [_parser(path)(source)]
    while waiting:
        node = waiting.pop()
        block = next((child for child in node.children if child.type in BLOCKS), None)
        if block is not None or (node.parent is not None and node.parent.type in BLOCKS and not _holds_block(node)):
            # A brace may stand behind the head's last line.
            below = block is not None and not (block.text or b"").startswith(b"{")
            last = node.end_point[0] if block is None else max(node.start_point[0], block.start_point[0] - below)
            own = range(node.start_point[0] + 1, last + 2)
            if len(own) <= _LONGEST_STATEMENT and not wanted.isdisjoint(own):
                found.update(own)
        waiting.extend(node.children)
    return found


def _holds_block(node: Node) -> bool:
    return any(child.type in BLOCKS or _holds_block(child) for child in node.children)


def has_code(path: str) -> bool:
    """Return whether there is a grammar here for a file."""
    return grammar_of(path) is not None


def halves(path: str, before: bytes, after: bytes) -> Iterator[Mutant]:
    """Yield a file as a fix leaves it, without one of the places that it changed; none where no grammar is here.

    Left out are places where it changed no code (see ``changes_code``). Raises EngineError where the extra is missing.
    """
    if not has_code(path):
        return
    old, new, places = _places(before, after)
    for first, end, start, stop in places:
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


def partly(before: bytes, after: bytes, lines: Collection[int]) -> bytes:
    """Return a file as it was before a fix, but for the places of the fix that begin on these lines of the file after.

    They are the lines of ``halves``.
    """
    old, new, places = _places(before, after)
    made = list(old)
    for first, end, start, stop in reversed(places):
        if start + 1 in lines:
            made[first:end] = new[start:stop]
    return b"\n".join(made)


def _places(before: bytes, after: bytes) -> tuple[list[bytes], list[bytes], list[tuple[int, int, int, int]]]:
    """Return the lines of both texts, and each place in which they differ: its lines in the one and in the other."""
    old, new = before.split(b"\n"), after.split(b"\n")
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return old, new, [(first, end, start, stop) for tag, first, end, start, stop in codes if tag != "equal"]


def may_hang(source: str, line: int) -> bool:
    """Return whether a line is in a loop that goes on while something holds, or counts: with a fault it may not end."""
    lines = source.split("\n")
    indent = _indent(lines[line - 1])
    for number in range(line, 0, -1):
        text = lines[number - 1]
        own = _indent(text)
        if text.strip() not in ("", "{") and (own < indent or number == line):
            indent = own
            if _WHILE.match(text) or (number == line and _COUNTING.match(text)):
                return True
            if text.strip() == "begin":  # Ruby's, whose end says whether it is a loop
                ends = (one for one in lines[number:] if _indent(one) == own and one.lstrip().startswith("end"))
                if _WHILE.match(next(ends, "")):
                    return True
            if _FUNCTION.match(text):
                return False
    return False


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def changes_code(mutant: Mutant, source: bytes) -> bool:
    """Return whether a mutant of a source still can be read, and has other code, as far as can be told.

    Raises EngineError where the extra is missing that reads another language.
    """
    return _other_code(mutant, source) is not None


def _other_code(mutant: Mutant, source: bytes) -> object | None:
    """Return the code of a mutant of a source; None where it cannot be read, or is the source's."""
    known = behaviour(mutant.path, source)
    if known is not None:
        made = behaviour(mutant.path, mutant.content)
        return None if made == known else made
    parse = _parser(mutant.path)
    before, after = parse(source), parse(mutant.content)
    words = [*_words(after)]
    return None if (after.has_error and not before.has_error) or words == [*_words(before)] else words


def _words(node: Node) -> Iterator[bytes]:
    """Yield the words of code, without comments, includes and empty statements."""
    if any(word in node.type for word in ("comment", "include")):
        return
    if not node.children:
        yield node.text or b""
    for child in node.children:
        if node.type not in BLOCKS or (child.text or b"").strip(b"; \r\n"):
            yield from _words(child)


def _parser(path: str) -> Callable[[bytes], Node]:
    grammar = grammar_of(path)
    assert grammar is not None
    return parser_of(grammar)


def _edits(node: Node, source: bytes, grammar: Grammar, lines: Sequence[int]) -> Iterator[Edit]:
    """Yield each change below a node that may begin on one of these lines, which are sorted."""
    if any(word in node.type for word in NOT_CODE) and node.type not in STATEMENTS:
        return
    first, last = node.start_point[0] + 1, node.end_point[0] + 1
    at = bisect.bisect_left(lines, first)
    if at == len(lines) or lines[at] > last:
        return
    if node.children:
        yield from _of_part(node, source, grammar)
        yield from fault_edits(node, source)
        if node.type in STATEMENTS and not is_text(node):  # last: a fault edit without all its lines is the same
            yield Edit("statement", node, node.start_byte, node.end_byte, grammar.nothing)
        yield from slight_edits(node)
    else:
        yield from _of_sign(node, source)
    for child in node.children:
        yield from _edits(child, source, grammar, lines)


def _of_sign(node: Node, source: bytes) -> Iterator[Edit]:
    parent = node.parent.type if node.parent is not None else ""
    text = source[node.start_byte : node.end_byte]
    if text in _SWAPS and any(word in parent for word in OPERATIONS):
        yield Edit("operator", node, node.start_byte, node.end_byte, _SWAPS[text], text_of(node.parent))
    elif text in _WORDS:
        yield Edit("truth", node, node.start_byte, node.end_byte, _WORDS[text], text_of(node.parent))
    elif node.type in NUMBERS and text.isdigit():
        yield Edit("number", node, node.start_byte, node.end_byte, str(int(text) + 1).encode(), text_of(node.parent))


def _of_part(node: Node, source: bytes, grammar: Grammar) -> Iterator[Edit]:
    condition = node.child_by_field_name("condition")
    if condition is not None:
        inner = condition.named_children[0] if condition.type in WRAPPED else condition
        for name, word in (("always", grammar.true), ("never", grammar.false)):
            yield Edit(name, inner, inner.start_byte, inner.end_byte, word)
        if inner.type in PLAIN:
            yield Edit("turned", inner, inner.start_byte, inner.start_byte, grammar.denied, text_of(inner))
    if node.type in DENIED and source[node.start_byte : node.start_byte + 1] in b"n!":
        yield Edit("negation", node, node.start_byte, node.children[-1].start_byte, b"", text_of(node))
    if node.type == "keyword_argument" and not _tells_people(node):
        start, end = _with_comma(node, source)
        yield Edit("argument", node, start, end, b"", text_of(node))


def _tells_people(argument: Node) -> bool:
    """Return whether a named argument is a text for people, without which nothing else is done."""
    name, value = (argument.child_by_field_name(part) for part in ("name", "value"))
    return name is not None and name.text in _FOR_PEOPLE and value is not None and "string" in value.type


def _scope(node: Node) -> str:
    """Return the name of the function that a node is in, or else of the class; empty where it is in none."""
    at = node.parent
    while at is not None and at.type not in (*FUNCTIONS, *CLASSES):
        at = at.parent
    named = None if at is None else at.child_by_field_name("name") or at.child_by_field_name("type")
    inside = None if at is None else at.child_by_field_name("declarator")
    while inside is not None:  # a name stands within what it is declared as
        named, inside = inside, inside.child_by_field_name("declarator")
    return text_of(named)


def _with_comma(node: Node, source: bytes) -> tuple[int, int]:
    """Return where an argument and its comma begin and end, so that a call reads well without them.

    The comma is the one behind the argument, else the one before it. With a comma behind it, lines go whole where both
    have them for themselves; else the blanks before it go at the end of a line, and elsewhere those behind the comma.
    """
    before, after = node.prev_sibling, node.next_sibling
    if after is not None and source[after.start_byte : after.end_byte] == b",":
        start = source.rfind(b"\n", 0, node.start_byte) + 1
        end = source.find(b"\n", after.end_byte)
        alone = not source[start : node.start_byte].strip() and not source[after.end_byte : end].strip()
        if alone:
            return start, end + 1
        stop = len(source) - len(source[after.end_byte :].lstrip(b" "))  # a gap would tell of it
        is_first = not source[start : node.start_byte].strip()
        if source[stop:].startswith((b"\n", b"\r")) or (source[stop:].startswith((b"#", b"//")) and not is_first):
            return len(source[: node.start_byte].rstrip(b" ")), after.end_byte
        return node.start_byte, stop
    if before is not None and source[before.start_byte : before.end_byte] == b",":
        return before.start_byte, node.end_byte
    return node.start_byte, node.end_byte


def _text(piece: bytes) -> str:
    return " ".join(piece.decode("utf-8", "replace").split())[:60]
