"""Telling which key signed a value takes no comparison that stops at the first byte that differs."""

import ast
from pathlib import Path

import pytest

from itsdangerous import BadSignature
from itsdangerous import signer
from itsdangerous.signer import HMACAlgorithm, Signer


class Watched(bytes):
    """Bytes that remember that ``==`` or ``!=`` looked at them, or that they were read byte by byte."""

    compared = 0

    def __eq__(self, other):
        Watched.compared += 1
        return bytes.__eq__(self, other)

    def __ne__(self, other):
        Watched.compared += 1
        return bytes.__ne__(self, other)

    def __iter__(self):
        Watched.compared += 1
        return bytes.__iter__(self)

    def __getitem__(self, place):
        Watched.compared += 1
        return bytes.__getitem__(self, place)

    __hash__ = bytes.__hash__


def watch(name):
    def watched(self, *args, **options):
        Watched.compared += 1
        return getattr(bytes, name)(self, *args, **options)

    setattr(Watched, name, watched)


for method in ("__lt__", "__le__", "__gt__", "__ge__", "__contains__", "__hash__", "decode", "hex", "startswith", "endswith", "find", "index", "count", "removeprefix", "removesuffix", "partition", "translate"):
    watch(method)


class WatchedAlgorithm(HMACAlgorithm):
    def get_signature(self, key, value):
        return Watched(super().get_signature(key, value))


class WatchedSigner(Signer):
    def get_signature(self, value):
        return Watched(super().get_signature(value))


def make(keys):
    return WatchedSigner(keys, algorithm=WatchedAlgorithm())


@pytest.fixture(autouse=True)
def fresh_count():
    Watched.compared = 0


@pytest.mark.parametrize("key, expected", [("old", True), ("new", False)])
def test_signature_is_never_compared_with_an_operator(key, expected):
    signed = bytes(make(key).sign("text"))
    answer = make(["old", "new"]).needs_rotation(signed)
    assert answer is expected
    assert Watched.compared == 0, "a signature was compared with an operator or byte by byte"


def test_unknown_keys_are_still_refused():
    signed = bytes(make("foreign").sign("text"))
    with pytest.raises(BadSignature):
        make(["old", "new"]).needs_rotation(signed)


HARMLESS = {"self", "secret", "key", "keys", "last", "index", "number", "position", "i", "n", "len", "sep", "none", ""}


def words(node):
    """The words of all names in *node*."""
    for part in ast.walk(node):
        yield from (getattr(part, "id", None) or getattr(part, "attr", None) or "").lower().split("_")


def may_tell(node):
    """Whether *node* compares two computed values of which one may be a signature: no separator, key or number."""
    sides = [node.left, *node.comparators]
    if all(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
        sides = sides[:1]
    return not any(isinstance(side, ast.Constant) or set(words(side)) <= HARMLESS for side in sides)


def test_the_source_compares_no_signatures():
    tree = ast.parse(Path(signer.__file__).read_text(encoding="utf-8"))
    [function] = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "needs_rotation"]
    signs = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
    compared = [node for node in ast.walk(function) if isinstance(node, ast.Compare) and any(isinstance(op, signs) for op in node.ops)]
    assert [node.lineno for node in compared if may_tell(node)] == []


@pytest.mark.parametrize(("key", "expected"), [("oldest", True), ("old", True), ("new", False)])
@pytest.mark.parametrize("text", ["text", "", "a.b.c", "caf\u00e9"])
def test_three_keys_and_any_value(key, expected, text):
    signed = Signer(key).sign(text)
    many = Signer(["oldest", "old", "new"])
    assert many.needs_rotation(signed) is expected
    assert many.needs_rotation(signed.decode()) is expected
    for changed in (signed[:-1], signed + b"x", signed[:-1] + b"\xff", b"x" + signed):
        with pytest.raises(BadSignature):
            many.needs_rotation(changed)


def test_plain_signer_gives_the_same_answers():
    both = Signer(["old", "new"])
    assert both.needs_rotation(Signer("old").sign("text")) is True
    assert both.needs_rotation(Signer("new").sign("text")) is False
