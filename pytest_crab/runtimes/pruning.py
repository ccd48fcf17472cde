"""What nobody needs any more: dead runs' leavings, images of the engine, environments of the cache."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_crab.errors import EngineError
from pytest_crab.runtimes import cgroups
from pytest_crab.runtimes.images import FACTS_LABEL
from pytest_crab.runtimes.runs import Run
from pytest_crab.runtimes.runs import remove_folder
from pytest_crab.runtimes.runs import sweep_folders

#: The folders of the cache that hold environments of the local runtime.
LOCAL_FOLDERS = ("built", "venvs")


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
    """Remove the engine's images that were built for instances so long ago; a line for each. Raises EngineError."""
    from pytest_crab.runtimes.engine import Engine

    engine = Engine(Run(), timeout=120)
    try:
        with engine.calling("listing images") as client:
            found: list[dict[str, Any]] = client.images(filters={"label": FACTS_LABEL})
        for image in found:
            if time.time() - image["Created"] < older_than_days * 86400:
                continue
            name = next(iter(image.get("RepoTags") or ()), image["Id"])
            if not dry_run:
                with engine.calling(f"removing the image {name}") as client:
                    client.remove_image(name)
            yield f"image {name}"
    finally:
        engine.close()


def environments(cache: Path, *, older_than_days: float, dry_run: bool) -> Iterator[str]:
    """Remove environments of the local runtime that were made so long ago; a line for each. Raises OSError."""
    for place in LOCAL_FOLDERS:
        for folder in sorted((cache / place).glob("*")):
            if time.time() - folder.stat().st_mtime < older_than_days * 86400:
                continue
            if not dry_run:
                remove_folder(folder)
            yield f"environment {place}/{folder.name}"
