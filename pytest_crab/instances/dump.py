"""Writes an instance as the file that the loader reads: only what differs from a default, texts exactly as they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import yaml

from pytest_crab import serialization
from pytest_crab.types import Instance

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_DUMPER):  # type: ignore[misc]
    """Block texts where a text has lines; anything that a reader could take for another line's end is escaped."""

    def represent_text(self, text: str) -> Any:
        """Choose the style of one text."""
        style = None
        if not all(line.isprintable() for line in text.split("\n")):
            style = '"'
        elif "\n" in text:
            style = "|"
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the library's own signature
        """Write every value out, since the loader takes no aliases."""
        return True


_Dumper.add_representer(str, _Dumper.represent_text)


def instance_yaml(instance: Instance) -> str:
    """Return the text of an instance.yaml; what load_instance makes of it in a folder is ``instance`` again.

    Texts must be encodable: half a surrogate pair raises UnicodeEncodeError.
    """
    content = _record(instance)
    content.pop("folder")
    content |= content.pop("extra", {})
    text = yaml.dump(
        {"schema": instance.schema, **content}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120
    )
    return str(text)


def _record(record: Any) -> dict[str, Any]:
    """The fields of a record that are not their defaults."""
    fields = {field: getattr(record, field.name) for field in dataclasses.fields(record)}
    return {serialization.key_of(field): _value(value) for field, value in fields.items() if value != _default(field)}


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default


def _value(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _record(value)
    if isinstance(value, Mapping):
        return {str(key): _value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value(item) for item in value]
    return serialization.dump(value)
