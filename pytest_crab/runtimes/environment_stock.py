"""The environments on this machine before a run begins, and the free disk for more; nothing is pulled."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab.ecosystems import ecosystem_of
from pytest_crab.runtimes import venvs
from pytest_crab.runtimes.environments import pins_nothing
from pytest_crab.types import Environment, Instance

_MB = 1024**2

#: What an environment takes above its base, in bytes, where none like it was measured and ``Tools.takes`` says nothing.
READY, DOCKERFILE, SYSTEM, PACKAGES, BARE = 1500 * _MB, 500 * _MB, 300 * _MB, 150 * _MB, 40 * _MB
#: What a base image of interpreters alone takes, and a tree of the local runtime.
BASE, TREE = 150 * _MB, 5 * _MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """The environments that are there, and the disk for further ones."""

    #: Bytes above the base of each instance's image; None where it is not known, no entry if there is none.
    there: Mapping[str, int | None]
    #: About what each base takes that is missing, in bytes.
    pulled: Mapping[str, int]
    #: What is free where environments are kept; None: not known.
    free: int | None
    place: str


def engine_stock(instances: Iterable[Instance], base: str) -> Stock:
    """Return the engine's images for these instances, and the free disk where it keeps them. Raises EngineError."""
    from pytest_crab.runtimes.engine import Engine
    from pytest_crab.runtimes.images import repository_of, wanted_bases
    from pytest_crab.runtimes.run_lock import RunFolder

    engine = Engine(RunFolder(), timeout=10)
    try:
        with engine.calling("listing images") as client:
            found: list[dict[str, Any]] = client.images()
            root = str(client.info()["DockerRootDir"])
            here = str(client.base_url).startswith("http+docker")
    finally:
        engine.close()
    sizes = {name: int(image["Size"]) for image in found for name in image.get("RepoTags") or ()}
    sizes |= {name: int(image["Size"]) for image in found for name in image.get("RepoDigests") or ()}
    built = {name.rpartition(":")[0]: size for name, size in sizes.items()}
    there: dict[str, int | None] = {}
    missing: dict[str, int] = {}
    for instance in instances:
        names = wanted_bases(instance.required_environment, base)
        below = next((sizes[name] for name in map(_with_tag, names) if name in sizes), None)
        if below is None:
            tools = ecosystem_of(instance.required_environment).tools
            missing[names[0]] = BASE if tools is None else tools.base_takes * _MB
        size = built.get(repository_of(instance.id))
        if size is not None:
            there[instance.id] = None if below is None else max(size - below, 0)
    return Stock(
        there=there,
        pulled=missing,
        free=free_at(Path(root)) if here and _is_seen(Path(root)) else None,
        place=root,
    )


def folder_stock(cache: Path) -> Stock:
    """Return the local runtime's environments in a store's cache; each names the instances that took it."""
    there = {name: None for folder in (cache / "built").glob("*") for name in venvs.instances_of(folder)}
    return Stock(there=there, pulled={}, free=free_at(cache), place=str(cache.parent))


def typical(environment: Environment, runtime: str) -> int:
    """Return the typical size of an environment of this kind in bytes, for where none like it was measured."""
    ecosystem = ecosystem_of(environment)
    if runtime != "local":
        if environment.image is not None:
            return READY
        if environment.dockerfile != ecosystem.name:
            return DOCKERFILE
        if environment.system:
            return SYSTEM
    if ecosystem.tools is not None:
        return ecosystem.tools.takes * _MB
    if not pins_nothing(environment):
        return PACKAGES
    return TREE if runtime == "local" else BARE


def _is_seen(folder: Path) -> bool:
    """Return whether a folder is there for this user, who may not look into the one that it lies in."""
    try:
        return folder.is_dir()
    except PermissionError:
        return False


def free_at(folder: Path) -> int | None:
    """The bytes that are free where a folder lies or will lie; None if that is not on this machine."""
    place = next((each for each in (folder, *folder.parents) if each.exists()), None)
    if place is None or (place != folder and place == Path(folder.anchor)):
        return None
    facts = os.statvfs(place)
    return facts.f_bavail * facts.f_frsize


def _with_tag(name: str) -> str:
    return name if ":" in name.rpartition("/")[2] or "@" in name else f"{name}:latest"
