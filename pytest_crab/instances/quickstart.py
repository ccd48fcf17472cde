"""The quickstart set that the package brings, and a copy of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pytest_crab.atomic import publish_folder
from pytest_crab.errors import BadInput
from pytest_crab.instances.loading import FILE


def quickstart_folder() -> Path:
    """Return the folder of the set: within the installed package, or in the clone that the package is used from."""
    package = Path(__file__).parents[1]
    packed = package / "quickstart"
    return packed if packed.is_dir() else package.parent / "instances" / "quickstart"


def copy_quickstart(target: Path) -> int:
    """Copy the set to ``target``, which must be new or empty, in one step; return the number of its instances.

    Raises BadInput where the set is not there, where something is in the way, and where it cannot be written.
    """
    source = quickstart_folder()
    if not source.is_dir():
        raise BadInput(str(source), ["the quickstart set is not there; install pytest-crab again"])
    aside = target.parent / f".{target.name}.{os.urandom(6).hex()}"
    try:
        if target.is_dir() and not any(target.iterdir()):
            target.rmdir()
        if os.path.lexists(target):
            raise BadInput(str(target), ["it is there and not empty; name a new folder"])
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, aside, ignore=shutil.ignore_patterns("__pycache__", ".[!g]*"))
        if not publish_folder(aside, target):
            raise BadInput(str(target), ["another process has made it meanwhile; name a new folder"])
    except (OSError, shutil.Error) as error:
        reason = getattr(error, "strerror", None) or "some of its files cannot be written"
        raise BadInput(str(target), [f"the set cannot be copied there ({reason}); name another folder"]) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return sum(1 for _ in target.glob(f"*/{FILE}"))
