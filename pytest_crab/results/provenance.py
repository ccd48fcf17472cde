"""Injected faults and comments of people are never in one rate: no run measures both."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count
from pytest_crab.types import Provenance

#: What is said beside every rate on injected faults.
INJECTED_NOTE = "on injected faults, not on comments of people"

_RANK = "pytest-crab compare-sets says how far they rank alike"


def require_one_kind(where: str, origins: Mapping[str, Provenance]) -> None:
    """Raise BadInput, which names ``where``, if some instances are injected and others are not.

    ``origins`` are by instance. A rate over both would say nothing of either, and would move with their shares.
    """
    injected = sum(origin is Provenance.INJECTED for origin in origins.values())
    others = len(origins) - injected
    if injected and others:
        counts = f"{format_count(injected, 'instance')} with injected faults and {others} without"
        apart = "name one set, or select with -m 'crab(provenance=\"injected\")'"
        raise BadInput(where, [f"{counts} have no rate in common, so measure them apart: {apart}; {_RANK}"])
