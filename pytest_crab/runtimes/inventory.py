"""The environments that a user has on this machine: listed by label or folder, removed when no run uses them.

A disk budget and ``pytest-crab prune`` both remove by ``remove_unused``.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import docker
import docker.errors
from typing_extensions import override

from pytest_crab.errors import EngineError
from pytest_crab.runtimes import environment_use
from pytest_crab.runtimes.images import BELOW_LABEL, BUILDER_LABEL, KEY_LABEL, builder
from pytest_crab.runtimes.run_lock import RunFolder, remove_folder
from pytest_crab.serialization import digest

#: The folders of the cache that hold environments of the local runtime.
LOCAL_FOLDERS = ("built", "venvs")
#: The ending of a folder that is being removed.
GONE = ".gone"
#: The name of an environment's folder.
_NAME = re.compile(rf"[0-9a-f]{{{environment_use.LENGTH}}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEnvironment:
    """One environment on this machine."""

    name: str
    key: str
    #: Bytes by the name under which environments share them, without the base's.
    layers: Mapping[str, int]
    #: When a run of this user took it last.
    used: float
    #: The ids of the instances for which it was taken.
    instances: frozenset[str]


class Inventory(Protocol):
    """The environments of one runtime, all of which can be made again."""

    #: What one of them is called.
    noun: str

    def environments(self) -> list[StoredEnvironment]:
        """Return the environments that are there now. Raises EngineError, OSError."""

    def is_pinned(self, kept: StoredEnvironment) -> bool:
        """Return whether something other than a run keeps one from being removed. Raises EngineError."""

    def remove(self, kept: StoredEnvironment) -> bool:
        """Remove one; return False if something else still uses it. Raises EngineError, OSError."""

    def close(self) -> None:
        """Give back connections."""


def remove_unused(inventory: Inventory, kept: StoredEnvironment) -> bool:
    """Remove an environment unless a living run or something else uses it; return whether it is gone.

    Raises EngineError, OSError.
    """
    with environment_use.removing(kept.key) as free:
        if not free or not inventory.remove(kept):
            return False
        environment_use.forget(kept.key)
    return True


def discard(inventory: Inventory, instance: str, names: Mapping[str, str]) -> None:
    """Remove these environments (keys by name) if no living run uses them and no other instance ever took them.

    Raises EngineError, OSError.
    """
    for name, key in names.items():
        record = environment_use.record_of(key)
        if record is None or record.instances <= {instance}:
            kept = StoredEnvironment(name=name, key=key, layers={}, used=0.0, instances=frozenset({instance}))
            remove_unused(inventory, kept)


def prune(inventory: Inventory, *, older_than_days: float, dry_run: bool) -> Iterator[str]:
    """Remove the environments that no run has used for so long; yield a line for each. Raises EngineError, OSError."""
    for kept in inventory.environments():
        if time.time() - kept.used < older_than_days * 86400:
            continue
        if _is_removable(inventory, kept) if dry_run else remove_unused(inventory, kept):
            yield f"{inventory.noun} {kept.name}"


def _is_removable(inventory: Inventory, kept: StoredEnvironment) -> bool:
    with environment_use.removing(kept.key) as free:
        return free and not inventory.is_pinned(kept)


class EngineImages(Inventory):
    """The images that this user built on this machine, and no base: implements Inventory.

    Images of other users of the engine, and of those whose locks lie in another folder for temporary files, stay.
    """

    noun = "image"

    def __init__(self) -> None:
        from pytest_crab.runtimes.engine import Engine

        self._engine = Engine(RunFolder(), timeout=120)
        self._layers: dict[str, dict[str, int]] = {}

    @override
    def environments(self) -> list[StoredEnvironment]:
        """One call lists them, one more for each image that was not seen before tells its layers."""
        with self._engine.calling("listing images") as client:
            found: list[dict[str, Any]] = client.images(filters={"label": f"{BUILDER_LABEL}={builder()}"})
        kept: list[StoredEnvironment] = []
        for image in found:
            try:
                kept += self._read(image)
            except EngineError as error:
                if not isinstance(error.__cause__, docker.errors.NotFound):
                    raise  # else another run has removed it
        return kept

    @override
    def is_pinned(self, kept: StoredEnvironment) -> bool:
        """A container was made of it."""
        with self._engine.calling("listing containers") as client:
            return bool(client.containers(all=True, filters={"ancestor": kept.name}))

    @override
    def remove(self, kept: StoredEnvironment) -> bool:
        """Never forced, so that the engine keeps what any container was made of."""
        with self._engine.calling(f"removing the image {kept.name}") as client:
            return _remove_image(client, kept.name)

    @override
    def close(self) -> None:
        self._engine.close()

    def _read(self, image: dict[str, Any]) -> Iterator[StoredEnvironment]:
        """Yield the image under its own name; one that was built on it inherits its labels, not its name."""
        key = str(image["Labels"].get(KEY_LABEL, ""))[: environment_use.LENGTH]
        for name in image.get("RepoTags") or ():
            if key and name.endswith(f":{key}"):
                record = environment_use.record_of(key) or environment_use.Record(
                    used=image["Created"], instances=frozenset()
                )
                layers = self._layers_of(image)
                yield StoredEnvironment(name=name, key=key, layers=layers, used=record.used, instances=record.instances)

    def _layers_of(self, image: dict[str, Any]) -> dict[str, int]:
        if image["Id"] not in self._layers:
            with self._engine.calling("reading the history of an image") as client:
                rows = client.history(image["Id"])  # type: ignore[no-untyped-call]
            self._layers[image["Id"]] = layers(rows, int(image["Labels"].get(BELOW_LABEL, 0)), int(image["Size"]))
        return self._layers[image["Id"]]


def layers(rows: Sequence[Mapping[str, Any]], below: int, whole: int) -> dict[str, int]:
    """Return the bytes by layer of an image's history, newest first, without the ``below`` rows of its base.

    A layer's name is the digest of all rows up to it: only images that were built on the same layer share its name.
    ``whole`` is the image's size. Where an engine keeps layers packed beside unpacked, only that tells, and each layer
    gets its share.
    """
    found: dict[str, int] = {}
    name = ""
    unpacked = sum(row["Size"] for row in rows)
    for number, row in enumerate(reversed(rows)):
        name = digest([name, row["Created"], row["CreatedBy"], row["Size"]])
        if number >= below and row["Size"]:
            found[name] = int(row["Size"]) * max(whole, unpacked) // unpacked
    return found


def _remove_image(client: docker.APIClient, name: str) -> bool:
    try:
        client.remove_image(name)
    except docker.errors.ImageNotFound:
        return True
    except docker.errors.APIError as error:
        if error.status_code == 409:
            return False  # a container was made of it
        raise
    return True


def _vanish(folder: Path, leave: Callable[[Path], None]) -> None:
    """Remove a folder that is whole or not there at any moment, whenever this is killed.

    What ``leave`` cannot keep of it goes with it.
    """
    gone = folder.with_name(f"{folder.name}{GONE}")
    remove_folder(gone)  # of a killed process
    with suppress(FileNotFoundError):
        folder.rename(gone)
    with suppress(OSError):
        leave(gone)
    remove_folder(gone)


class LocalFolders(Inventory):
    """The environments that the local runtime keeps in a store's cache: implements Inventory."""

    noun = "environment"

    def __init__(self, cache: Path, leave: Callable[[Path], None] = lambda _: None) -> None:
        """``leave`` is called with the folder of an environment that is half removed."""
        self._cache = cache
        self._leave = leave
        self._sizes: dict[Path, int] = {}

    @override
    def environments(self) -> list[StoredEnvironment]:
        """A whole folder is measured once, since it does not change."""
        kept: list[StoredEnvironment] = []
        for folder in folders(self._cache, _NAME):
            with suppress(FileNotFoundError):  # another run has removed it
                kept.append(self._read(folder))
        return kept

    @override
    def is_pinned(self, kept: StoredEnvironment) -> bool:
        return False

    @override
    def remove(self, kept: StoredEnvironment) -> bool:
        """The folder is not there from one moment to the next."""
        _vanish(self._cache / kept.name, self._leave)
        return True

    @override
    def close(self) -> None:
        pass

    def _read(self, folder: Path) -> StoredEnvironment:
        taken = self._sizes.get(folder) or size_of(folder)
        name = str(folder.relative_to(self._cache))
        record = environment_use.record_of(folder.name)
        made = folder.stat().st_mtime  # raises where it went meanwhile, so that its size was none
        if (folder / "complete").exists() or (folder / "layout.json").exists():
            self._sizes[folder] = taken
        record = record or environment_use.Record(used=made, instances=frozenset())
        return StoredEnvironment(
            name=name, key=folder.name, layers={name: taken}, used=record.used, instances=record.instances
        )


def folders(cache: Path, name: re.Pattern[str]) -> Iterator[Path]:
    """Yield the folders for environments in a store's cache whose names match.

    What lies behind a link is left out, and so is what has another name: a store may belong to another user.
    """
    for place in LOCAL_FOLDERS:
        if not (cache / place).is_symlink():
            yield from (folder for folder in sorted((cache / place).glob("*")) if name.fullmatch(folder.name))


def inventory(runtime: str, cache: Path) -> Inventory | None:
    """Return the environments of a built-in runtime; None for another runtime, of which nothing is known."""
    if runtime == "docker":
        return EngineImages()
    return LocalFolders(cache) if runtime == "local" else None


def size_of(place: Path) -> int:
    """Return the bytes that a folder or file takes on disk; what is linked twice is counted once."""
    seen: dict[tuple[int, int], int] = {}
    inside = (Path(path, name) for path, _, names in os.walk(place) for name in names)
    for file in (place, *inside):
        with suppress(OSError):
            found = file.lstat()
            seen[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(seen.values())
