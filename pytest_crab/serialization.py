"""Records to plain JSON and back: one reader that names every fault with its key."""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import json
import math
import re
import sys
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pytest_crab.errors import BadInput
from pytest_crab.text import cut

T = TypeVar("T")

#: A number as a person writes it; int and float would take more, such as 1_0, nan and other scripts' digits.
_NUMBERS: dict[type, re.Pattern[str]] = {
    int: re.compile(r"[+-]?[0-9]{1,18}"),
    float: re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"),
}
#: JSON may hold whole numbers that are no float.
_LARGEST = 10**300

#: What plain data has most of; looked at first, since reports are made of millions of these.
_AS_THEY_ARE = frozenset((str, int, float, bool, type(None)))

#: Texts up to so many characters are held once, however many records have them: names and labels repeat.
_SHARED = 64

_TEXTS = frozenset((str,))

#: What a record takes as it is; a float may be none that can be reckoned with.
_EXACT = (str, int, bool)

_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def is_plain(values: Iterable[Any]) -> bool:
    """Return whether all of these are texts, numbers, truth values and None, which JSON has as they are."""
    return _AS_THEY_ARE.issuperset(map(type, values))


def dump(value: Any) -> Any:
    """Return ``value`` as plain JSON data; records become mappings without their None fields."""
    if type(value) in _AS_THEY_ARE:
        return value
    found = unfold(value)
    if type(found) is dict:
        return {name: dump(item) for name, item in found.items()}
    return [dump(item) for item in found] if type(found) is list else found


def unfold(value: Any) -> Any:
    """Return ``value`` as ``dump`` does, but what a mapping or a list holds is as it was."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if isinstance(value, (list, tuple)):
        return list(value)
    if kind is not dict and dataclasses.is_dataclass(value) and not isinstance(value, type):
        pairs = ((name, getattr(value, name)) for name in _fields(type(value)))
        return {name: item for name, item in pairs if item is not None}
    if isinstance(value, enum.Enum):
        return value.value
    if kind is dict or isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    return sorted(map(dump, value)) if isinstance(value, (set, frozenset)) else value


def load(path: Path) -> Any:
    """Return the JSON value of a file that may be anybody's. Raises OSError, and ValueError for what is none.

    A pipe would be waited for and a device read for ever, so neither is opened.
    """
    if path.exists() and not path.is_file():
        raise ValueError("a folder, a pipe or a device holds no JSON")
    try:
        return json.loads(path.read_bytes())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_file(cls: type[T], path: Path) -> T:
    """Return the record that a file holds, which may be anybody's, as JSON. Raises BadInput."""
    problems: list[str] = []
    try:
        record = read(cls, load(path), problems)
    except (OSError, ValueError) as error:
        raise BadInput(str(path), [f"cannot be read: {error}"]) from error
    if record is None:
        raise BadInput(str(path), problems)
    return record


@functools.cache
def _fields(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls))


def canonical(value: Any) -> str:
    """Return the one JSON text of ``value``: sorted keys, no spaces, ASCII. Raises ValueError for what is no number."""
    return json.dumps(dump(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of ``value``'s canonical JSON, in hex."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def read(cls: type[T], value: Any, problems: list[str], at: str = "") -> T | None:
    """Build a record of type ``cls`` from plain data.

    Every fault is appended to ``problems`` as one sentence that starts with its key; then the result is None.
    Strings are accepted where a number or a truth value is meant, since YAML is read without implicit types.
    """
    before = len(problems)
    result = _converter(typing.cast("Any", cls))(value, problems, at)
    return typing.cast("T", result) if len(problems) == before else None


def without_others(kind: Any, value: Any) -> Any:
    """Return plain data for a record of this type with only the keys that it has, at every level.

    Null stands for an absent key.
    """
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        (kind,) = (arg for arg in typing.get_args(kind) if arg is not type(None))
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        kinds = _kinds(typing.cast("Any", kind))
        kept = {key: item for key, item in value.items() if key in kinds and item is not None}
        return {key: without_others(kinds[key], item) for key, item in kept.items()}
    if typing.get_origin(kind) is tuple and isinstance(value, list):
        return [without_others(typing.get_args(kind)[0], item) for item in value]
    return value


@functools.cache
def _kinds(cls: Any) -> dict[str, Any]:
    """Return the type of each key of a record."""
    hints = typing.get_type_hints(cls)
    return {key_of(field): hints[field.name] for field in dataclasses.fields(cls) if field.init}


#: Where a value stands: the place of what holds it, and its key or number there. Named only where something is wrong.
_Place = tuple[Any, "str | int"] | str

#: Turns one value into what a field holds, or appends a sentence to the problems of the place that it is given.
_Converter = typing.Callable[[Any, "list[str]", _Place], Any]

_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


@functools.cache
def _converter(kind: Any) -> _Converter:
    """Return the reader for one type; made once, since ten thousand instances are read with a handful of types."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (arg for arg in typing.get_args(kind) if arg is not type(None))
        return functools.partial(_optional, _converter(inner), inner in _NUMBERS)
    if dataclasses.is_dataclass(kind):
        return functools.partial(_record, kind)
    kinds = typing.get_args(kind)
    if origin is tuple and kinds[-1] is Ellipsis:
        return functools.partial(_list, kinds[0], _converter(kinds[0]))
    if origin is tuple:
        return functools.partial(_tuple, list(kinds), tuple(map(_converter, kinds)))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _words if kinds[1] is str else functools.partial(_mapping, _converter(kinds[1]))
    is_enum = isinstance(kind, enum.EnumMeta)
    return functools.partial(_member, _by_text(kind)) if is_enum else functools.partial(_scalar, kind)


def _optional(convert: _Converter, number: bool, value: Any, problems: list[str], at: _Place) -> Any:  # noqa: FBT001
    """Read what may be left out; where a number is meant, the text null is none, as YAML's readers of texts have it."""
    return None if value is None or (number and value == "null") else convert(value, problems, at)


def key_of(field: dataclasses.Field[Any]) -> str:
    """Return the key that stands for a field in files: its name, or what its metadata says (for Python's own words)."""
    return str(field.metadata.get("key", field.name))


class _Plan(typing.NamedTuple):
    """The plan by which a record is read."""

    #: For each key the field's name, what needs no reader, and its reader.
    fields: Mapping[str, tuple[str, type | None, _Converter]]
    needed: frozenset[str]


@functools.cache
def _plan(cls: Any) -> _Plan:
    hints = typing.get_type_hints(cls)
    fields = [field for field in dataclasses.fields(cls) if field.init]
    readers = {
        key_of(field): (
            field.name,
            next((kind for kind in _EXACT if hints[field.name] in (kind, kind | None)), None),
            _converter(hints[field.name]),
        )
        for field in fields
    }
    given = dataclasses.MISSING
    return _Plan(readers, frozenset(key_of(one) for one in fields if one.default is one.default_factory is given))


def _record(cls: Any, value: Any, problems: list[str], at: _Place) -> Any:
    fields, needed = _plan(cls)
    if not _is_mapping(value):
        problems.append(f"{_name(at)} is {_show(value)}; it should be a mapping with {_commas(fields)}")
        return None
    before = len(problems)
    values: dict[str, Any] = {}
    for key, item in value.items():
        field = fields.get(key)
        if field is None:
            problems.append(f"{_name((at, key))} is not a known key; the keys here are {_commas(fields)}")
            continue
        name, exact, convert = field
        given = type(item)
        if given is not exact:
            values[name] = convert(item, problems, (at, key))
        else:  # most are texts, and a call of _shared for each takes longer
            values[name] = sys.intern(item) if given is str and len(item) <= _SHARED else item
    if not value.keys() >= needed:
        missing = [_name((at, key)) for key in fields if key in needed and key not in value]
        problems.append(f"{_commas(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    if len(problems) > before:
        return None
    try:
        return cls(**values)
    except ValueError as error:
        problems.append(f"{_name(at)}: {error}" if at else str(error))
        return None


def _is_mapping(value: Any) -> bool:
    return type(value) is dict or isinstance(value, Mapping)


def _is_list(value: Any, problems: list[str], at: _Place) -> bool:
    if type(value) is list or (isinstance(value, Sequence) and not isinstance(value, (str, bytes))):
        return True
    problems.append(f"{_name(at)} is {_show(value)}; it should be a list")
    return False


def _list(kind: Any, convert: _Converter, value: Any, problems: list[str], at: _Place) -> Any:
    if not _is_list(value, problems, at):
        return None
    if not value:
        return ()
    if kind is str and _are_texts(value):
        return tuple(map(_shared, value))
    return tuple([convert(item, problems, (at, n)) for n, item in enumerate(value)])


def _tuple(kinds: list[Any], converters: tuple[_Converter, ...], value: Any, problems: list[str], at: _Place) -> Any:
    if not _is_list(value, problems, at):
        return None
    if kinds == list(map(type, value)) and float not in kinds:
        return tuple(map(_shared, value))
    if len(value) != len(converters):
        problems.append(f"{_name(at)} has {len(value)} entries; it should have {len(converters)}")
        return None
    pairs = zip(converters, value, strict=True)
    return tuple([convert(item, problems, (at, n)) for n, (convert, item) in enumerate(pairs)])


def _mapping(convert: _Converter, value: Any, problems: list[str], at: _Place) -> Any:
    if not _is_mapping(value):
        problems.append(f"{_name(at)} is {_show(value)}; it should be a mapping")
        return None
    return {str(key): convert(item, problems, (at, str(key))) for key, item in value.items()}


def _words(value: Any, problems: list[str], at: _Place) -> Any:
    """Read labels and the like; equal ones are held once, as short texts are."""
    if type(value) is not dict or not _are_texts(value.values()):
        value = _mapping(_converter(str), value, problems, at)
    return None if value is None else _same_words(tuple(value.items()))


@functools.lru_cache(4096)
def _same_words(pairs: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return {_shared(str(key)): _shared(word) for key, word in pairs}


def _member(words: Mapping[str, enum.Enum], value: Any, problems: list[str], at: _Place) -> Any:
    found = words.get(value) if isinstance(value, str) else None
    if found is None:
        problems.append(f"{_name(at)} is {_show(value)}; it should be one of {_commas(words)}")
    return found


def _by_text(kind: type[enum.Enum]) -> Mapping[str, enum.Enum]:
    return {str(word.value): word for word in kind}


def _are_texts(values: Iterable[Any]) -> bool:
    return _TEXTS.issuperset(map(type, values))


def _scalar(kind: Any, value: Any, problems: list[str], at: _Place) -> Any:
    if kind is Any:
        return value
    if kind is float and isinstance(value, float):
        fits = math.isfinite(value)
    else:
        fits = isinstance(value, kind) and not (kind is not bool and isinstance(value, bool))
    if fits:
        return _shared(value)
    text = value if isinstance(value, str) else None
    if kind is bool and text is not None and text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    if kind is float and type(value) is int and abs(value) < _LARGEST:
        return float(value)
    if kind in _NUMBERS and text is not None and _NUMBERS[kind].fullmatch(text):
        return kind(text)
    problems.append(f"{_name(at)} is {_show(value)}; it should be {_WORDS.get(kind, kind.__name__)}")
    return None


def _shared(value: Any) -> Any:
    """Return a value; of a short text always the same object."""
    return sys.intern(value) if type(value) is str and len(value) <= _SHARED else value


def _name(at: _Place) -> str:
    if isinstance(at, str):
        return at or "the whole"
    outer, key = at
    before = _name(outer) if outer else ""
    if isinstance(key, int):
        return f"{before}[{key}]"
    return f"{before}.{key}" if before else key


def _show(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = repr(value)
    return cut(text, 60)


def _commas(words: Any) -> str:
    return ", ".join(str(word) for word in words)
