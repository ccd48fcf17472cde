"""Measure whether the findings of AI code reviewers lead to the changes that human reviewers asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_crab.api import compare, load_frame, load_instances, load_report, load_trials, run, run_trial

__all__ = ["compare", "load_frame", "load_instances", "load_report", "load_trials", "run", "run_trial"]


def __getattr__(name: str) -> Any:
    """Import what callers use when they use it: pytest imports this package in every run."""
    if name in __all__:
        from pytest_crab import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
