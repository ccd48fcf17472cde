"""Reads what reviewers and agents print beside their work: the mapping of our schema, and the usage in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_crab import serialization
from pytest_crab.types import SCHEMA, Usage


def read_answer(text: str, problems: list[str]) -> Mapping[str, Any] | None:
    """The mapping that ``text`` is as JSON, if it is one of our schema; what is wrong is appended to ``problems``."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError) as error:
        problems.append(f"it is no JSON ({error})" if text.strip() else "it is empty")
        return None
    if not isinstance(answer, Mapping):
        problems.append(f'it should be one JSON mapping that starts with {{"schema": {SCHEMA}')
        return None
    if type(answer.get("schema")) is not int or answer["schema"] != SCHEMA:
        problems.append(f"schema should be {SCHEMA}")
        return None
    return answer


def read_usage(value: Any, problems: list[str]) -> Usage | None:
    """Return a step's usage from its plain data; None is "not measured"."""
    if value is None:
        return None
    # Other keys are the reviewer's own business.
    return serialization.read(Usage, serialization.without_others(Usage, value), problems, "usage")
