"""Reads what an agent prints beside its work: usage and notes, or just words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pytest_crab.parsing.answers import read_answer, read_usage
from pytest_crab.parsing.findings import LONGEST_TEXT
from pytest_crab.types import Usage


class AgentOutput(NamedTuple):
    """The words of an agent beside its diff."""

    usage: Usage | None = None
    notes: str | None = None
    #: Sentences about a usage that cannot be true.
    problems: tuple[str, ...] = ()


def read_agent_output(text: str) -> AgentOutput:
    """Read {"schema": 1, "usage": {...}, "notes": "..."}; anything else is notes, since the work is the diff.

    Notes are cut to 64 KiB.
    """
    problems: list[str] = []
    answer = read_answer(text, problems)
    if answer is None:
        return AgentOutput(notes=_shorten(text))
    usage = read_usage(answer.get("usage"), problems)
    if problems and isinstance(answer["usage"], Mapping):
        return AgentOutput(problems=tuple(problems))
    notes = answer.get("notes")
    if problems or not (notes is None or isinstance(notes, str)):
        return AgentOutput(notes=_shorten(text))
    return AgentOutput(usage=usage, notes=_shorten(notes or ""))


def _shorten(text: str) -> str | None:
    encoded = text.strip().encode(errors="replace")
    return encoded[:LONGEST_TEXT].decode(errors="ignore") or None
