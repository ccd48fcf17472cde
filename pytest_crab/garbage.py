"""The cyclic garbage collector, which is spared what is no garbage: imported modules, and records without circles."""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Let the collector rest; afterwards it works again if it did before."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@functools.cache
def freeze_once() -> None:
    """Let no collection look again at what there is by now, once in a process.

    Those at the end of a process look at all objects: a fifth of a short command's time, for modules that end with it.
    Once is enough for them, and another time there may be garbage, which would stay.
    """
    gc.freeze()
