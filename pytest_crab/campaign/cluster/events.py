"""Sentences on workers for the terminal while trials run, and a count in the end."""

from __future__ import annotations

import queue
from collections.abc import Sequence

from pytest_crab.formats import format_count, format_names

#: How many workers are named.
_NAMED = 3


class WorkerEvents:
    """Sentences on their way to the terminal, each once; added by any thread, taken by the one that writes there."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._known: set[str] = set()
        self._lost = 0
        self._again = 0

    def add(self, sentence: str) -> None:
        """Pass on a sentence that was not passed on before."""
        if sentence not in self._known:
            self._known.add(sentence)
            self._lines.put(sentence)

    def add_lost(self, names: Sequence[str], trials: int) -> None:
        """Say that workers are gone which ran so many trials, which others are given."""
        self._lost += len(names)
        self._again += trials
        self._lines.put(f"lost {name_workers(names)} ({format_count(trials, 'trial')} under way)")

    def take(self) -> list[str]:
        """Return the sentences that were not taken before."""
        return [self._lines.get() for _ in range(self._lines.qsize())]

    def summary(self) -> str | None:
        """Return how many workers were lost and trials given again; None: none of either."""
        if not self._lost and not self._again:
            return None
        was, were = ("was" if count == 1 else "were" for count in (self._lost, self._again))
        return (
            f"{format_count(self._lost, 'worker')} {was} lost, {format_count(self._again, 'trial')} {were} given again"
        )


def name_workers(names: Sequence[str]) -> str:
    """Name workers, at most a few of them."""
    return f"worker{'s' * (len(names) > 1)} {format_names(names, _NAMED)}"
