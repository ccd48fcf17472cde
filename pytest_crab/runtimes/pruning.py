"""What nobody needs any more: dead runs' leavings, images of the engine, environments of the cache."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import Protocol

import docker
import docker.errors

from pytest_crab.errors import EngineError
from pytest_crab.runtimes import cgroups
from pytest_crab.runtimes import holding
from pytest_crab.runtimes import venvs
from pytest_crab.runtimes.images import BELOW_LABEL
from pytest_crab.runtimes.images import BUILDER_LABEL
from pytest_crab.runtimes.images import FACTS_LABEL
from pytest_crab.runtimes.images import KEY_LABEL
from pytest_crab.runtimes.images import builder
from pytest_crab.runtimes.runs import Run
from pytest_crab.runtimes.runs import remove_folder
from pytest_crab.runtimes.runs import sweep_folders
from pytest_crab.serialization import digest

#: The folders of the cache that hold environments of the local runtime.
LOCAL_FOLDERS = ("built", "venvs")
_GONE = ".gone"
_NAME = re.compile(rf"[0-9a-f]{{{holding.LENGTH}}}")
#: Half removed, or half built.
_HALF = re.compile(rf"{_NAME.pattern}({re.escape(_GONE)}|{re.escape(venvs.NEW)})")


def leavings() -> list[str]:
    """Remove what dead runs of this user left on this machine; a line for each. No engine, no containers."""
    from pytest_crab.runtimes.engine import Engine

    removed = [f"scratch of run {name}" for name in [*cgroups.sweep(), *sweep_folders()]]
    engine = Engine(Run(), timeout=30)
    try:
        removed += [f"container {name[:12]}" for name in engine.sweep()]
    except EngineError:
        return removed  # prune may be called where there is no engine
    finally:
        engine.close()
    return removed


def images(*, older_than_days: float, dry_run: bool) -> Iterator[str]:
    """Remove the images that this user built on this machine so long ago; a line for each. Raises EngineError.

    They serve all of the user's stores here; those of others who share the engine stay. What a run that began meanwhile
    has taken stays, here and in ``environments``, and so does what a container was made of.
    """
    from pytest_crab.runtimes.engine import Engine

    labels = [FACTS_LABEL, f"{BUILDER_LABEL}={builder()}"]
    engine = Engine(Run(), timeout=120)
    try:
        with engine.calling("listing images") as client:
            found: list[dict[str, Any]] = client.images(filters={"label": labels})
            used = {container["ImageID"] for container in client.containers(all=True)} if dry_run else set()
        for image in found:
            if image["Id"] in used or time.time() - image["Created"] < older_than_days * 86400:
                continue
            name = next(iter(image.get("RepoTags") or ()), image["Id"])
            key = str((image.get("Labels") or {}).get(KEY_LABEL, ""))
            with holding.removing(key) as free:
                if not free:
                    continue
                if not dry_run:
                    with engine.calling(f"removing the image {name}") as client:
                        if not _removed(client, name):
                            continue
            yield f"image {name}"
    finally:
        engine.close()


def environments(cache: Path, *, older_than_days: float, dry_run: bool) -> Iterator[str]:
    """Remove environments of the local runtime that were made so long ago; a line for each. Raises OSError.

    What lies behind a link stays, and so does what is not called as an environment is: a store may be somebody else's.
    """
    for place in LOCAL_FOLDERS:
        for folder in () if (cache / place).is_symlink() else sorted((cache / place).glob("*")):
            if not _NAME.fullmatch(folder.name):
                continue
            try:
                age = time.time() - folder.stat().st_mtime
            except FileNotFoundError:
                continue  # it went with another
            if age < older_than_days * 86400:
                continue
            with holding.removing(folder.name) as free:
                if not free:
                    continue
                if not dry_run:
                    _vanish(folder)
            yield f"environment {place}/{folder.name}"


def halves(cache: Path, *, dry_run: bool) -> Iterator[str]:
    """Remove what killed builds and removals left of environments; a line for each. Raises OSError."""
    for place in LOCAL_FOLDERS:
        for folder in () if (cache / place).is_symlink() else sorted((cache / place).glob("*")):
            if not _HALF.fullmatch(folder.name):
                continue
            with holding.removing(folder.name) as free:
                if not free:
                    continue
                if not dry_run:
                    remove_folder(folder)
            yield f"half an environment {place}/{folder.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One environment on this machine: ``layers`` are bytes by what they are shared under, the base's left out.

    ``used`` is when a run of this user took it last, ``instances`` are those that it was taken for.
    """

    name: str
    key: str
    layers: Mapping[str, int]
    used: float
    instances: frozenset[str]


class Inventory(Protocol):
    """The environments of one runtime that may be removed, since they can be made again."""

    def kept(self) -> list[Kept]:
        """What is there now. Raises EngineError, OSError."""

    def remove(self, kept: Kept) -> bool:
        """Remove one; False: something else still uses it. Raises EngineError, OSError."""

    def close(self) -> None:
        """Give back connections."""


class EngineImages:
    """The images that this user built on this machine, and no base: implements Inventory."""

    def __init__(self) -> None:
        from pytest_crab.runtimes.engine import Engine

        self._engine = Engine(Run(), timeout=120)
        self._layers: dict[str, dict[str, int]] = {}

    def kept(self) -> list[Kept]:
        """See Inventory; one call lists them, one more for each image that was not seen before tells its layers."""
        with self._engine.calling("listing images") as client:
            found: list[dict[str, Any]] = client.images(filters={"label": f"{BUILDER_LABEL}={builder()}"})
        kept: list[Kept] = []
        for image in found:
            try:
                kept += self._read(image)
            except EngineError as error:
                if not isinstance(error.__cause__, docker.errors.NotFound):
                    raise  # else another run has removed it
        return kept

    def remove(self, kept: Kept) -> bool:
        """See Inventory; never forced, so that the engine keeps what any container was made of."""
        with self._engine.calling(f"removing the image {kept.name}") as client:
            return _removed(client, kept.name)

    def close(self) -> None:
        """See Inventory."""
        self._engine.close()

    def _read(self, image: dict[str, Any]) -> Iterator[Kept]:
        """Yield the image under its own name; one that somebody built on it inherits its labels, not its name."""
        key = str(image["Labels"].get(KEY_LABEL, ""))[: holding.LENGTH]
        for name in image.get("RepoTags") or ():
            if key and name.endswith(f":{key}"):
                record = holding.record_of(key) or holding.Record(used=image["Created"], instances=frozenset())
                layers = self._layers_of(image)
                yield Kept(name=name, key=key, layers=layers, used=record.used, instances=record.instances)

    def _layers_of(self, image: dict[str, Any]) -> dict[str, int]:
        if image["Id"] not in self._layers:
            with self._engine.calling("reading the history of an image") as client:
                rows = client.history(image["Id"])  # type: ignore[no-untyped-call]
            self._layers[image["Id"]] = layers(rows, int(image["Labels"][BELOW_LABEL]), int(image["Size"]))
        return self._layers[image["Id"]]


def layers(rows: Sequence[Mapping[str, Any]], below: int, whole: int) -> dict[str, int]:
    """Bytes by layer from an image's history, newest first, without the ``below`` rows of its base.

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


def _removed(client: docker.APIClient, name: str) -> bool:
    try:
        client.remove_image(name)
    except docker.errors.ImageNotFound:
        return True
    except docker.errors.APIError as error:
        if error.status_code == 409:
            return False  # a container was made of it
        raise
    return True


def _vanish(folder: Path) -> None:
    """Remove a folder that is whole or not there at any moment, whenever this is killed."""
    gone = folder.with_name(f"{folder.name}{_GONE}")
    remove_folder(gone)  # of somebody who was killed
    with suppress(FileNotFoundError):
        folder.rename(gone)
    remove_folder(gone)


class LocalFolders:
    """The environments that the local runtime keeps in a store's cache: implements Inventory."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._sizes: dict[Path, int] = {}

    def kept(self) -> list[Kept]:
        """See Inventory; a folder is measured once, since it does not change when it is whole."""
        folders = [folder for place in LOCAL_FOLDERS for folder in sorted((self._cache / place).glob("*"))]
        whole = (folder for folder in folders if (folder / "complete").exists() or (folder / "layout.json").exists())
        kept: list[Kept] = []
        for folder in whole:
            if len(folder.name) == holding.LENGTH:
                with suppress(FileNotFoundError):  # another run has removed it
                    kept.append(self._read(folder))
        return kept

    def remove(self, kept: Kept) -> bool:
        """See Inventory; the folder is not there from one moment to the next."""
        _vanish(self._cache / kept.name)
        return True

    def close(self) -> None:
        """See Inventory."""

    def _read(self, folder: Path) -> Kept:
        taken = self._sizes.get(folder) or size_of(folder)
        name = str(folder.relative_to(self._cache))
        record = holding.record_of(folder.name)
        made = folder.stat().st_mtime  # raises where it went meanwhile, so that its size was none
        self._sizes[folder] = taken
        record = record or holding.Record(used=made, instances=frozenset())
        return Kept(name=name, key=folder.name, layers={name: taken}, used=record.used, instances=record.instances)


def inventory(runtime: str, cache: Path) -> Inventory | None:
    """The environments of a built-in runtime; None for another runtime, of which nothing is known."""
    if runtime == "docker":
        return EngineImages()
    return LocalFolders(cache) if runtime == "local" else None


def size_of(place: Path) -> int:
    """The bytes that a folder or file takes on disk; what is linked twice is counted once, what vanishes is not."""
    seen: dict[tuple[int, int], int] = {}
    inside = (Path(path, name) for path, _, names in os.walk(place) for name in names)
    for file in (place, *inside):
        with suppress(OSError):
            found = file.lstat()
            seen[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(seen.values())
