"""A worker's own disk budget."""

from __future__ import annotations

import os

from pytest_crab.errors import BadInput
from pytest_crab.formats import parse_size

#: A worker's own setting: what --crab-disk-budget is where pytest runs trials itself.
DISK_BUDGET = "CRAB_DISK_BUDGET"


def disk_budget() -> int | None:
    """Return the bytes that environments may take on this worker; None: there is no budget. Raises BadInput."""
    text = os.environ.get(DISK_BUDGET, "").strip()
    try:
        return parse_size(text) if text else None
    except ValueError as error:
        raise BadInput(DISK_BUDGET, [f"it is {text!r}; it should be a size such as 20G"]) from error
