"""Days as people write them, and which instances were merged since one: what a model cannot have been trained on."""

from __future__ import annotations

from datetime import date

from pytest_crab.types import Instance


def day(text: str) -> date:
    """The day that ``text`` (2024-05-01, or 2024-05 for its first day) names. Raises ValueError."""
    whole = f"{text}-01" if len(text) == len("2024-05") else text
    return date.fromisoformat(whole)


def why_not_since(instance: Instance, since: date) -> str | None:
    """Return why an instance does not count as merged since a day, in a few words; None if it does.

    An instance without a date does not count, since it might be older.
    """
    merged = instance.pull_request.merged_at
    if merged is None:
        return "without a date"
    return f"merged before {since}" if date.fromisoformat(merged) < since else None
