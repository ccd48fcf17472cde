"""Caches that an environment leaves to the next one of the same repository, where the settings ask for that.

Most of what two commits of a repository fetch and compile is the same. A build may write anything there: what is handed
on is as trusted as the repository.
"""

from __future__ import annotations

import time
from pathlib import Path

from pytest_crab import ecosystems, serialization
from pytest_crab.runtimes.run_lock import remove_folder
from pytest_crab.runtimes.slots import one_builder
from pytest_crab.types import Instance

#: The folder of a store's cache in which they wait, and that of an environment in which they lie.
_PLACE, _CACHES = "handed-on", "caches"


def leave(cache: Path, folder: Path, instance: Instance) -> None:
    """Take the caches out of an environment that is about to be removed; they replace those that waited."""
    place, kept = _place(cache, instance), _kept(instance)
    there = [name for name in kept if (folder / _CACHES / name).is_dir()]
    if there:
        with one_builder(place.name, _go_on, cache):
            remove_folder(place)
            place.mkdir(parents=True)
            for name in there:
                (folder / _CACHES / name).rename(place / name)


def take(cache: Path, folder: Path, instance: Instance) -> None:
    """Move the caches that wait for an instance's repository into a new environment, if there are some."""
    place = _place(cache, instance)
    if _kept(instance) and place.is_dir():
        with one_builder(place.name, _go_on, cache):
            if place.is_dir():
                place.rename(folder / _CACHES)


def clear(cache: Path, *, older_than_days: float = 0.0, dry_run: bool = False) -> list[str]:
    """Remove the caches that have waited so long in a store's cache; return a line for each. Raises OSError."""
    before = time.time() - older_than_days * 86400
    found = [place for place in sorted((cache / _PLACE).glob("*")) if place.stat().st_mtime <= before]
    for place in found if not dry_run else ():
        with one_builder(place.name, _go_on, cache):
            remove_folder(place)
    return [f"caches {place.relative_to(cache)}" for place in found]


def _go_on() -> None:
    """The lock is held for a moment, so nothing ends the wait for it."""


def _kept(instance: Instance) -> tuple[str, ...]:
    tools = ecosystems.ecosystem_of(instance.required_environment).tools
    return () if tools is None else tools.handed_on


def _place(cache: Path, instance: Instance) -> Path:
    owner = ecosystems.ecosystem_of(instance.required_environment)
    return cache / _PLACE / serialization.digest([instance.repo, owner.name])[:32]
