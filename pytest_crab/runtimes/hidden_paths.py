"""Places that no sandbox of this process shows, wherever they lie: instances, recorded results, stores, scratch."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.errors import EngineError
from pytest_crab.instances.loading import FILE
from pytest_crab.instances.quickstart import quickstart_folder
from pytest_crab.instances.recorded import FOLDER
from pytest_crab.types import Instance

#: What lies in the hidden places of a set.
_OF_A_SET = _INSTANCE, _RECORDED = "an instance", "recorded results"

#: What lies in each hidden place, by its path without links; the package's own set is hidden from the start.
_places: dict[str, str] = {str(quickstart_folder().resolve()): "the quickstart set"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A part of a sandbox's file system."""

    #: The place of the part inside.
    place: str
    #: Bubblewrap's options for it.
    options: tuple[str, ...]
    #: The host's folder that it shows.
    source: Path | None = None
    #: Whether it becomes read-only once all parts are there.
    sealed: bool = False


def bind_mount(option: str, source: Path, place: str) -> Mount:
    """A folder or file of the host at a place inside."""
    return Mount(place=place, options=(option, str(source), place), source=source)


def empty_mount(place: str) -> Mount:
    """A place that looks empty."""
    return Mount(place=place, options=("--perms", "0555", "--size", "4096", "--tmpfs", place), sealed=True)


def hide(place: Path, what: str) -> None:
    """Show ``place`` in no sandbox that this process starts from now on; ``what`` lies there, for the sentences."""
    _places.setdefault(str(place.resolve()), what)


def hide_set(instance: Instance) -> None:
    """Hide an instance, the instances beside it, and the results that are recorded of them."""
    folder = Path(instance.folder)
    hide(folder, _INSTANCE)
    with suppress(OSError):  # what is not there is not seen either
        _places.update(_set_of(folder.parent, folder.parent.stat().st_mtime_ns))


def hidden_places() -> dict[Path, str]:
    """The hidden places, links resolved, and what lies in each."""
    return {Path(place): what for place, what in _places.copy().items()}


@functools.lru_cache(maxsize=256)
def _set_of(folder: Path, _changed: int) -> Mapping[str, str]:
    results = {str((folder / FOLDER).resolve()): _RECORDED}
    return results | {str(path.parent.resolve()): _INSTANCE for path in folder.glob(f"*/{FILE}")}


def order_mounts(mounts: Iterable[Mount], needed: Sequence[str], more: Mapping[str, str]) -> list[Mount]:
    """Mounts with a mask over each hidden place that one of them shows, what contains before what is contained.

    So what is bound below a hidden place is seen, and nothing else of it. ``more`` are further hidden places. Raises
    EngineError where a mount is a hidden place itself, or a place of ``needed`` would be covered.
    """
    every = sorted(mounts, key=_depth)
    sources = [(mount, os.path.realpath(mount.source)) for mount in every if mount.source is not None]
    shown = {source for _, source in sources}
    for hidden_place, what in sorted(_widen({**_places, **more}, shown).items()):
        for mount, source in sources:
            if not hidden_place.startswith(source):
                continue
            if hidden_place == source:
                raise EngineError(f"{source} is needed in a sandbox, and {what} lies there: move one of them")
            inside = mount.place + hidden_place.removeprefix(source)
            if hidden_place.startswith(f"{source}/") and _top(inside, every) is mount and Path(hidden_place).is_dir():
                mask = empty_mount(inside)
                every = sorted([*every, mask], key=_depth)
                _require(needed, every, mask, what)
    return every


def _widen(places: Mapping[str, str], shown: set[str]) -> dict[str, str]:
    """Put the folder of a set in the place of its instances: the mask of an instance alone would tell its name."""
    wide: dict[str, str] = {}
    for place, what in places.items():
        above = place.rpartition("/")[0]
        wide[above if what in _OF_A_SET and not {above, place} & shown else place] = what
    return wide


def seal_options(mounts: Sequence[Mount]) -> list[str]:
    """The options that make read-only what is to be, after all mounts."""
    last = {mount.place: mount for mount in mounts}
    return [part for place, mount in last.items() if mount.sealed for part in ("--remount-ro", place)]


def _require(needed: Sequence[str], mounts: Sequence[Mount], mask: Mount, what: str) -> None:
    for place in needed:
        if any(_top(path, mounts) is mask for path in (place, os.path.realpath(place))):
            raise EngineError(f"{place} is needed in a sandbox and lies in {mask.place}, with {what}: move one of them")


def _depth(mount: Mount) -> tuple[str, ...]:
    return tuple(mount.place.rstrip("/").split("/"))


def _top(path: str, mounts: Sequence[Mount]) -> Mount | None:
    """The mount in which a path inside lies; of all that contain it, the last one in order is the deepest."""
    return next((mount for mount in reversed(mounts) if f"{path}/".startswith(f"{mount.place}/")), None)
