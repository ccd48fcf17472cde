"""Attributes that are made on first access and kept, one lock for each object and attribute."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - it is read as functools.cached_property is
    """Make an attribute on first access, once for each object, whichever threads ask for it.

    ``functools.cached_property`` holds one lock for all objects of a class before CPython 3.12, so that no two trials
    prepare at a time, and none from 3.12 on, so that two threads make an attribute twice. As there, ``del`` forgets the
    value, and ``vars`` has it once it is made.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self._lock = f"lock of {make.__name__}"
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> lazy[T] | T:
        if instance is None:
            return self
        kept = vars(instance)
        with kept.setdefault(self._lock, threading.RLock()):
            if self._name not in kept:
                kept[self._name] = self._make(instance)
            value: T = kept[self._name]
            kept.pop(self._lock, None)  # an object that holds a lock can be neither copied nor pickled
            return value
