"""Records to plain JSON and back: one reader that names every fault with its key."""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import json
import types
import typing
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import TypeVar

T = TypeVar("T")

#: What a plain value may be made of; a mapping's keys are strings.
Plain = typing.Union[None, bool, int, float, str, "list[Any]", "dict[str, Any]"]

_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def dump(value: Any) -> Any:
    """Return ``value`` as plain JSON data; records become mappings without their None fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        pairs = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {name: dump(item) for name, item in pairs if item is not None}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): dump(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [dump(item) for item in value]
        return sorted(items) if isinstance(value, (set, frozenset)) else items
    return value


def canonical(value: Any) -> str:
    """Return the one JSON text of ``value``: sorted keys, no spaces, ASCII."""
    return json.dumps(dump(value), sort_keys=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """Return the SHA-256 of ``value``'s canonical JSON, in hex."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def read(cls: type[T], value: Any, problems: list[str], at: str = "") -> T | None:
    """Build a record of type ``cls`` from plain data.

    Every fault is appended to ``problems`` as one sentence that starts with its key; the result is None if there was any.
    Strings are accepted where a number or a truth value is meant, since YAML is read without implicit types.
    """
    before = len(problems)
    result = _convert(cls, value, problems, at)
    return typing.cast("T", result) if len(problems) == before else None


def _convert(kind: Any, value: Any, problems: list[str], at: str) -> Any:
    origin = typing.get_origin(kind)
    if kind is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        return _optional(kind, value, problems, at)
    if dataclasses.is_dataclass(kind):
        return _record(kind, value, problems, at)
    if origin is tuple:
        return _tuple(typing.get_args(kind), value, problems, at)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(typing.get_args(kind)[1], value, problems, at)
    return _scalar(kind, value, problems, at)


def _optional(kind: Any, value: Any, problems: list[str], at: str) -> Any:
    if value is None:
        return None
    (inner,) = (arg for arg in typing.get_args(kind) if arg is not type(None))
    return _convert(inner, value, problems, at)


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _record(cls: Any, value: Any, problems: list[str], at: str) -> Any:
    if not isinstance(value, Mapping):
        problems.append(f"{_name(at)} is {_show(value)}; it should be a mapping with {_listed(_known(cls))}")
        return None
    before = len(problems)
    known = {key_of(field): field for field in dataclasses.fields(cls) if field.init}
    problems.extend(
        f"{_join(at, key)} is not a known key; the keys here are {_listed(known)}"
        for key in sorted(set(map(str, value)) - set(known))
    )
    values = {}
    for key, field in known.items():
        if key in value:
            values[field.name] = _convert(_hints(cls)[field.name], value[key], problems, _join(at, key))
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            problems.append(f"{_join(at, key)} is missing")
            values[field.name] = None
    return _build(cls, values, problems, at) if len(problems) == before else None


def _build(cls: Any, values: dict[str, Any], problems: list[str], at: str) -> Any:
    try:
        return cls(**values)
    except ValueError as error:
        problems.append(f"{_name(at)}: {error}" if at else str(error))
        return None


def key_of(field: dataclasses.Field[Any]) -> str:
    """Return the key that stands for a field in files: its name, or what its metadata says (for Python's own words)."""
    return str(field.metadata.get("key", field.name))


def _known(cls: Any) -> list[str]:
    return [key_of(field) for field in dataclasses.fields(cls) if field.init]


def _tuple(kinds: tuple[Any, ...], value: Any, problems: list[str], at: str) -> Any:
    if isinstance(value, str) or not isinstance(value, Sequence):
        problems.append(f"{_name(at)} is {_show(value)}; it should be a list")
        return None
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_convert(kinds[0], item, problems, f"{at}[{n}]") for n, item in enumerate(value))
    if len(value) != len(kinds):
        problems.append(f"{_name(at)} has {len(value)} entries; it should have {len(kinds)}")
        return None
    pairs = zip(kinds, value, strict=True)
    return tuple(_convert(kind, item, problems, f"{at}[{n}]") for n, (kind, item) in enumerate(pairs))


def _mapping(kind: Any, value: Any, problems: list[str], at: str) -> Any:
    if not isinstance(value, Mapping):
        problems.append(f"{_name(at)} is {_show(value)}; it should be a mapping")
        return None
    return {str(key): _convert(kind, item, problems, _join(at, str(key))) for key, item in value.items()}


def _scalar(kind: type, value: Any, problems: list[str], at: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        try:
            return kind(value)
        except ValueError:
            problems.append(f"{_name(at)} is {_show(value)}; it should be one of {_listed([w.value for w in kind])}")
            return None
    if isinstance(value, kind) and not (kind is not bool and isinstance(value, bool)):
        return value
    text = value if isinstance(value, str) else None
    if kind is bool and text is not None and text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    if kind in (int, float) and (text is not None or (kind is float and type(value) is int)):
        try:
            return kind(value)
        except ValueError:
            pass
    words = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
    problems.append(f"{_name(at)} is {_show(value)}; it should be {words.get(kind, kind.__name__)}")
    return None


def _join(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _name(at: str) -> str:
    return at or "the whole"


def _show(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _listed(words: Any) -> str:
    return ", ".join(str(word) for word in words)
