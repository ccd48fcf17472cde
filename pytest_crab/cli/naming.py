"""How a person names instances on the command line: a path, an id, or the start of one."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

import click

from pytest_crab.errors import BadInput
from pytest_crab.instances import FILE
from pytest_crab.instances import find_instances
from pytest_crab.instances import load_instance
from pytest_crab.types import Instance

_SHOWN = 5


def instance_files(names: Sequence[str]) -> list[Path]:
    """The instance files that are meant, each once: at or below a path, or by id below the current folder.

    Raises click.UsageError for a name that stands for nothing or for several.
    """
    return list(dict.fromkeys(file for name in names for file in _files(name)))


def one_instance(name: str) -> Instance:
    """The one instance that is meant. Raises click's errors for a name that is not one, and for a file with faults."""
    files = instance_files([name])
    if len(files) > 1:
        raise click.UsageError(f"{name} holds {len(files)} instances; name one of them, as in {files[0].parent.name}")
    try:
        return load_instance(files[0])
    except BadInput as error:
        raise click.ClickException(str(error)) from error


def _files(name: str) -> Iterator[Path]:
    path = Path(name)
    if path.exists():
        found = list(find_instances(path))
        if not found:
            raise click.UsageError(f"there is no {FILE} at or below {name}")
        yield from found
        return
    known = list(find_instances(Path())) if "/" not in name else []
    exact = [file for file in known if file.parent.name.lower() == name.lower()]
    starting = [file for file in known if file.parent.name.lower().startswith(name.lower())]
    found = exact or starting
    if len(found) == 1:
        yield found[0]
        return
    if not found:
        raise click.UsageError(f"{name} is neither a path nor the id of an instance below this folder")
    told = ", ".join(str(file.parent) for file in found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")
    raise click.UsageError(f"{name} may be {told}; write more of the id, or the path")
