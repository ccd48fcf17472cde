"""crab.lock: what a set of instances was made of when somebody last looked, by digest."""

from __future__ import annotations

import json
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.instances.files import file_digest
from pytest_crab.instances.files import folder_digest
from pytest_crab.instances.files import replace_text
from pytest_crab.instances.loading import FILE as INSTANCE_FILE
from pytest_crab.types import Instance

#: What the file is called; it lies in the set's folder, beside the instances' folders.
FILE = "crab.lock"

_SCHEMA = 1


def locked(instance: Instance) -> dict[str, str]:
    """Return the digests of what decides an instance: its file, environment, source, and every file that it names.

    Raises BadInput for a tree that cannot be read.
    """
    folder = Path(instance.folder)
    named = {f"file {name}": file_digest(folder / name) for name in named_files(instance)}
    return {
        "instance": file_digest(folder / INSTANCE_FILE),
        "environment": serialization.digest(instance.environment),
        "source": _source_digest(instance),
        **named,
    }


def digest(instance: Instance) -> str:
    """Return one digest of all that decides an instance."""
    return serialization.digest(locked(instance))


def named_files(instance: Instance) -> list[str]:
    """Return every file that an instance names, sorted: diffs and oracles."""
    names = {comment.required_oracle.file for comment in instance.with_oracles}
    return sorted(names | set(named_diffs(instance).values()))


def named_diffs(instance: Instance) -> dict[str, str]:
    """Return every diff that an instance names, by the key that names it."""
    source = instance.source
    authored = source.tree or source.sdist
    key = "source.tree" if source.tree else "source.sdist"
    names = {f"{key}.head": authored.head, f"{key}.reference": authored.reference} if authored else {}
    for number, comment in enumerate(instance.comments):
        at = f"comments[{number}]"
        names |= {f"{at}.reference": comment.reference} if comment.reference is not None else {}
        names |= {f"{at}.accepts[{n}]": name for n, name in enumerate(comment.accepts)}
        names |= {f"{at}.rejects[{n}]": name for n, name in enumerate(comment.rejects)}
    return names


def write_lock(folder: Path, instances: Iterable[Instance]) -> None:
    """Write the lock of the set in ``folder``; the same set gives the same bytes."""
    content = {"schema": _SCHEMA, "instances": {instance.id: locked(instance) for instance in instances}}
    replace_text(folder / FILE, json.dumps(content, indent=1, sort_keys=True) + "\n")


def differences(folder: Path, instances: Iterable[Instance], *, whole: bool) -> Iterator[str]:
    """Yield a sentence for all that is not as the lock of the set in ``folder`` says; nothing where there is no lock.

    ``whole`` is whether ``instances`` are all of the set, so that what is only in the lock is gone. Raises BadInput
    for a lock that cannot be read.
    """
    if not (folder / FILE).exists():
        return
    kept = dict(_read(folder / FILE))
    for instance in instances:
        was = kept.pop(instance.id, None)
        if was is None:
            yield f"{instance.id} is not in the lock; if it is new, run pytest-crab check --lock"
            continue
        now = locked(instance)
        changed = [
            name.removeprefix("file ") for name in sorted(was.keys() | now.keys()) if was.get(name) != now.get(name)
        ]
        if changed:
            yield f"{instance.id} differs in {', '.join(changed)}; if that is meant, run pytest-crab check --lock"
    if whole:
        yield from (
            f"{name} is in the lock and not in the set; if that is meant, run pytest-crab check --lock" for name in kept
        )


def _read(path: Path) -> Mapping[str, Mapping[str, Any]]:
    problem = "the file is not a lock of this version; run pytest-crab check --lock to write it anew"
    try:
        content = serialization.load(path)
    except (OSError, ValueError):
        raise BadInput(str(path), [problem]) from None
    kept = content.get("instances") if isinstance(content, dict) and content.get("schema") == _SCHEMA else None
    if not isinstance(kept, dict) or not all(isinstance(entry, dict) for entry in kept.values()):
        raise BadInput(str(path), [problem])
    return kept


def _source_digest(instance: Instance) -> str:
    tree = instance.source.tree
    if tree is None:
        return serialization.digest(instance.source)
    try:
        return folder_digest(Path(instance.folder, tree.path))
    except OSError as error:
        problem = f"a file of source.tree.path, {tree.path}, cannot be read ({error.strerror})"
        raise BadInput(instance.folder, [problem]) from error
