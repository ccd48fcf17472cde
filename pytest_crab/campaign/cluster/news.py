"""What a person is told of the workers: sentences while trials run, and a count in the end."""

from __future__ import annotations

import queue
from collections.abc import Sequence

#: How many workers are named.
_NAMED = 3


class News:
    """Sentences on their way to the terminal, each once; told by any thread, taken by the one that writes there."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._said: set[str] = set()
        self._lost = 0
        self._again = 0

    def say(self, sentence: str) -> None:
        """Pass on a sentence that was not said before."""
        if sentence not in self._said:
            self._said.add(sentence)
            self._lines.put(sentence)

    def lost(self, names: Sequence[str], trials: int) -> None:
        """Say that workers are gone which ran so many trials."""
        self._lost += len(names)
        self._lines.put(f"lost {workers(names)} ({_counted(trials, 'trial')} under way)")

    def again(self) -> None:
        """Note that a trial was given to another worker."""
        self._again += 1

    def take(self) -> list[str]:
        """The sentences that nobody has taken."""
        return [self._lines.get() for _ in range(self._lines.qsize())]

    def total(self) -> str | None:
        """How many workers were lost and trials given again; None: none of either."""
        if not self._lost and not self._again:
            return None
        was, were = ("was" if count == 1 else "were" for count in (self._lost, self._again))
        return f"{_counted(self._lost, 'worker')} {was} lost, {_counted(self._again, 'trial')} {were} given again"


def workers(names: Sequence[str]) -> str:
    """Name workers, at most a few of them."""
    named = ", ".join(names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"worker{'s' * (len(names) > 1)} {named}{more}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
