"""Reads the pickles of a cluster without making an object: plain values come out, or an error in words.

Dask pickles results and exceptions. Whoever is a worker, or poses as one, chooses what is in a pickle.
"""

from __future__ import annotations

import builtins
import io
import pickle
from collections.abc import Iterable
from typing import Any

_MOST_LETTERS = 500
#: The errors that a caller may tell apart; any other is a RemoteError.
_KNOWN = (OSError, LookupError, RuntimeError, ValueError, TypeError, AttributeError, ImportError)
_PLAIN = (type(None), bool, int, float, str, bytes, list, tuple, dict, set, frozenset)
#: The classes that are found, since making one does nothing else. Dask names the first ones for what it sends as it is.
_TYPES = {each.__name__: each for each in (bytes, bytearray, memoryview, *_PLAIN[1:])}
#: What a pickle of an exception may begin with, in place of its class, which is then the first argument.
_WRAPPERS = ("unpickle_exception", "unpickle_exception_with_attrs")


class RemoteError(Exception):
    """An error of the cluster, by the name of its class and in words; nothing of it was made here."""

    def __init__(self, name: str, said: str = "") -> None:
        super().__init__(f"{name}: {said}" if said else name)
        self.name = name


class Unread:
    """Stands for an object in a pickle: it keeps what the object was to be made of, and does nothing."""

    module = qualname = ""

    def __init__(self, *args: Any, **_: Any) -> None:
        self.args = args

    def __setstate__(self, state: Any) -> None:
        """Leave the state."""

    def __setitem__(self, key: Any, value: Any) -> None:
        """Leave the item."""

    def append(self, value: Any) -> None:
        """Leave the value."""

    def extend(self, values: Any) -> None:
        """Leave the values."""

    add = append

    def __repr__(self) -> str:
        return self.qualname


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return a class of plain values, or one that stands for whatever a pickle names, functions too."""
        if module == "builtins" and name in _TYPES:
            return _TYPES[name]
        return type("Unread", (Unread,), {"module": module, "qualname": name})

    def persistent_load(self, pid: Any) -> Any:  # noqa: ARG002 - there are none
        return Unread()


def loads(content: Any, *, buffers: Iterable[Any] = ()) -> Any:
    """Return the plain value of a pickle; what is no plain value becomes an error in words, a traceback None."""
    try:
        found = _Reader(io.BytesIO(bytes(content)), buffers=buffers).load()
    except Exception as error:  # noqa: BLE001 - the content is anybody's
        return RemoteError("unreadable", type(error).__name__)
    if isinstance(found, _PLAIN) or found in _TYPES.values():
        return found
    if isinstance(found, Unread):
        return None if found.qualname == "unpickle_traceback" else _error(found)
    return RemoteError("unreadable", type(found).__name__)


def _error(found: Unread) -> Exception:
    kind, args = found, found.args
    if found.qualname in _WRAPPERS and len(args) > 1:
        kind, args = args[0], args[1]
        args = args.get("args", ()) if isinstance(args, dict) else args
    if isinstance(kind, type):
        kind = kind()  # an Unread too, for its names
    name, module = str(getattr(kind, "qualname", "")), str(getattr(kind, "module", ""))
    words = ", ".join(str(part) for part in args if isinstance(part, _PLAIN)) if isinstance(args, tuple) else ""
    said = " ".join(words[:_MOST_LETTERS].split())
    known = getattr(builtins, name, None) if module == "builtins" else None
    if isinstance(known, type) and issubclass(known, _KNOWN):
        try:
            return known(said)
        except TypeError:  # it is made of more than words
            pass
    return RemoteError(name[:80] or "unreadable", said)
