"""Remove leftovers of dead runs: scratch folders, control groups, containers and half-built environments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pytest_crab.errors import EngineError
from pytest_crab.runtimes import cgroups, environment_use, venvs
from pytest_crab.runtimes.inventory import GONE, folders
from pytest_crab.runtimes.run_lock import RunFolder, remove_folder, sweep_folders

#: The name of an environment's folder that is half removed or half built.
_HALF = re.compile(rf"[0-9a-f]{{{environment_use.LENGTH}}}({re.escape(GONE)}|{re.escape(venvs.NEW)})")


def sweep() -> list[str]:
    """Remove what dead runs of this user left on this machine, and return a line for each; an engine may be absent."""
    from pytest_crab.runtimes.engine import Engine

    removed = [f"scratch of run {name}" for name in [*cgroups.sweep(), *sweep_folders()]]
    engine = Engine(RunFolder(), timeout=30)
    try:
        removed += [f"container {name[:12]}" for name in engine.sweep()]
    except EngineError:
        return removed
    finally:
        engine.close()
    return removed


def remove_halves(cache: Path, *, dry_run: bool) -> Iterator[str]:
    """Remove what killed builds and removals left of environments; yield a line for each. Raises OSError."""
    for folder in folders(cache, _HALF):
        with environment_use.removing(folder.name) as free:
            if free and not dry_run:
                remove_folder(folder)
        if free:
            yield f"half an environment {folder.relative_to(cache)}"
