"""The JSON files of a set beside its instances: crab.lock, resolved.json, proofs.json and curated.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.instances.files import replace_text

_SCHEMA = 1


def read_set_file(path: Path, problem: str) -> dict[str, Any]:
    """Return the content of a set's file, empty if there is no file.

    Raises BadInput with ``problem`` where the file is no JSON object of this version.
    """
    if not path.exists():
        return {}
    try:
        content = serialization.load(path)
    except (OSError, ValueError):
        content = None
    if not isinstance(content, dict) or content.get("schema") != _SCHEMA:
        raise BadInput(str(path), [problem])
    return content


def read_set_table(path: Path, key: str, problem: str, depth: int = 1) -> dict[str, Any]:
    """Return the mapping under a key of a set's file, empty if there is no file.

    Raises BadInput with ``problem`` as ``read_set_file`` does, and where it is not so many mappings deep.
    """
    content = read_set_file(path, problem)
    found: Any = content.get(key) if content else {}
    if not _is_nested(found, depth):
        raise BadInput(str(path), [problem])
    table: dict[str, Any] = found
    return table


def _is_nested(value: Any, depth: int) -> bool:
    return depth == 0 or (isinstance(value, dict) and all(_is_nested(one, depth - 1) for one in value.values()))


def write_set_file(path: Path, content: Mapping[str, Any]) -> None:
    """Write a set's file in one step; the same content gives the same bytes. Raises BadInput."""
    text = json.dumps({"schema": _SCHEMA, **content}, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    try:
        replace_text(path, f"{text}\n")
    except OSError as error:
        raise BadInput(str(path), [f"it cannot be written ({error.strerror}); make the folder writable"]) from error
