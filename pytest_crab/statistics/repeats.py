"""Repeats of one trial: how stable an oracle is, and the chance that one of k catches."""

from __future__ import annotations

import math


def pass_at(k: int, caught: int, runs: int) -> float:
    """pass@k: the chance that at least one of ``k`` of these runs, drawn without return, caught (Chen et al. 2021)."""
    if not 1 <= k <= runs or not 0 <= caught <= runs:
        raise ValueError("k lies between 1 and the number of runs, and no more are caught than were run")
    return 1 - math.comb(runs - caught, k) / math.comb(runs, k)


def flips(caught: int, runs: int) -> float | None:
    """The chance that two different ones of these runs disagree; None of a single run."""
    return None if runs < 2 else 2 * caught * (runs - caught) / (runs * (runs - 1))
