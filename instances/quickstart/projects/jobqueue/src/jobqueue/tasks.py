"""Which function stands behind the name of a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jobqueue.errors import DuplicateTask, UnknownTask

Function = Callable[..., Any]


class Tasks:
    """A table of functions by name."""

    def __init__(self) -> None:
        self._functions: dict[str, Function] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._functions))

    def add(self, function: Function, name: str | None = None) -> None:
        """Register *function* under its own name or *name*; raise DuplicateTask if that is taken."""
        name = name or function.__name__
        if name in self._functions:
            raise DuplicateTask(f"there is a task called {name!r} already")
        self._functions[name] = function

    def task(self, function: Function) -> Function:
        """Decorate a function: register it and leave it as it is."""
        self.add(function)
        return function

    def find(self, name: str) -> Function:
        """The function called *name*; raise UnknownTask if there is none."""
        try:
            return self._functions[name]
        except KeyError:
            raise UnknownTask(f"no task is called {name!r}") from None
