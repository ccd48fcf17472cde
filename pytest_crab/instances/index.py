"""An index of a set's loaded files, so that a large set is not read as YAML in every run."""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import inspect
import io
import pickle
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_crab import ecosystems, registry, serialization, types, yaml_reader
from pytest_crab.ecosystems import contract
from pytest_crab.instances import loading, validation
from pytest_crab.types import Instance

#: The code whose reading is kept: once any of it says something else, nothing that was kept counts.
_READERS = (
    *(serialization, types.instances, types.enums, yaml_reader, loading, validation, registry),
    *(ecosystems, contract, *(sys.modules[type(one).__module__] for one in ecosystems.ECOSYSTEMS)),
)

_MADE_BY = "pytest-crab"

#: How many bytes before the records say whether these are whole.
_CHECKSUM = 4


class Index:
    """The instances of one set by folder, each with the digest of the very bytes that it was read from.

    An instance is taken from here only if its file holds these bytes now and every file that it names is still
    there, so it is always what ``load_instance`` would return. ``data`` is what ``dump`` returned; anything else is as
    good as none.
    """

    def __init__(self, data: bytes = b"") -> None:
        self._kept: dict[str, tuple[bytes, Instance]] = _read_index(data) if data else {}
        self._seen: dict[str, tuple[bytes, Instance]] = {}
        self._read = 0

    @property
    def changed(self) -> bool:
        """True if an instance was read anew or is gone, so that the index must be written."""
        return self._read > 0 or len(self._seen) != len(self._kept)

    def load(self, path: Path) -> Instance:
        """As ``load_instance``, for an instance.yaml by its absolute path. Raises BadInput."""
        name = str(path)
        content = yaml_reader.read_content(path)
        digest = hashlib.sha256(content).digest()
        kept = self._kept.get(name)
        if kept is None or kept[0] != digest or not loading.has_its_files(kept[1]):
            kept = digest, loading.load_instance(path, content)
            if kept[1].extra or not _is_own(kept[1]):  # code of others has judged it, which this index does not watch
                return kept[1]
            self._read += 1
        self._seen[name] = kept
        return kept[1]

    def dump(self) -> bytes:
        """Return the index as bytes, with a checksum first."""
        stream = io.BytesIO()
        _Pickler(stream, protocol=5).dump((_MADE_BY, _readers(), self._seen))
        content = stream.getvalue()
        return _checksum(content) + content


def _is_own(instance: Instance) -> bool:
    """Return whether an instance is for an ecosystem of this package."""
    environment = instance.environment
    return environment is None or any(one.owns(environment) for one in ecosystems.ECOSYSTEMS)


class _Pickler(pickle.Pickler):
    """Writes a record as its type and values: as dataclasses are pickled, reading takes several times as long."""

    def reducer_override(self, record: Any) -> Any:
        if dataclasses.is_dataclass(record) and not isinstance(record, type):
            return _record, (type(record), *(getattr(record, field.name) for field in dataclasses.fields(record)))
        if isinstance(record, enum.Enum):  # CPython before 3.11.4 would name getattr, which is no record
            return type(record), (record.value,)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    """Makes records of this package and nothing else, whatever a file says."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (__name__, _record.__name__):
            return _record
        if module.startswith(f"{types.__name__}.") and isinstance(found := getattr(types, name, None), type):
            return found
        raise pickle.UnpicklingError(f"{module}.{name} is no record")


def _record(cls: Any, *values: Any) -> Any:
    """A record as it was, its values neither converted nor judged again."""
    made = object.__new__(cls)
    for write, value in zip(_slots(cls), values, strict=True):
        write(made, value)
    return made


@functools.cache
def _slots(cls: Any) -> tuple[Callable[[Any, Any], None], ...]:
    """Return the setters of a frozen record's fields, in order."""
    return tuple(vars(cls)[field.name].__set__ for field in dataclasses.fields(cls))


def _checksum(content: bytes | memoryview) -> bytes:
    return zlib.crc32(content).to_bytes(_CHECKSUM, "big")


def _read_index(data: bytes) -> dict[str, tuple[bytes, Instance]]:
    if data[:_CHECKSUM] != _checksum(memoryview(data)[_CHECKSUM:]):
        return {}  # a disk may turn a letter of a comment, and it would still be an index
    stream = io.BytesIO(data)
    stream.seek(_CHECKSUM)
    try:
        made_by, readers, kept = _Unpickler(stream).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, TypeError, ValueError, IndexError, KeyError):
        return {}
    return kept if (made_by, readers) == (_MADE_BY, _readers()) and isinstance(kept, dict) else {}


@functools.cache
def _readers() -> str:
    """The digest of the code that reads instances, and the Python that runs it."""
    modules = (*_READERS, sys.modules[__name__])
    sources = [Path(inspect.getfile(module)).read_bytes() for module in modules]
    return hashlib.sha256(b"\0".join([sys.version.encode(), *sources])).hexdigest()
