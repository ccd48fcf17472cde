"""Path rules: which folders are instances, sets of them, or data that belongs to them. Imports nothing heavy."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_crab import pytest_files

INSTANCE_FILE = "instance.yaml"
LOCK_FILE = "crab.lock"
RECORDED = b"recorded"  # the folder of a set's recorded results

#: The keys that every instance file has.
_KEYS = (b"provenance", b"pull_request", b"environment", b"comments")

#: Spellings of a letter within YAML quotes. Compiled when it is first used, as the next one is.
_ESCAPED = rb"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))"

#: The first folder on the way to a tree that lies beside its instance.
_SHARED = rb"""\bpath["']?\s*:\s*["']?\.\./([^/"'\n,}]+)"""

#: The names that the instances of a folder share, by folder; each is read once.
_TREES = pytest.StashKey[dict[Path, set[bytes]]]()


def is_file(path: Path | str) -> bool:
    """Return whether a file exists; False, where a Path raises, for a name that is too long or not accessible."""
    return os.path.isfile(path)  # noqa: PTH113


def exists(path: Path) -> bool:
    """Return whether a path exists; False, where a Path raises, as for is_file."""
    return os.path.exists(path)  # noqa: PTH110


def instance_folder(path: Path) -> Path | None:
    """Return the instance folder that ``path`` is or lies in, or None."""
    return next((folder for folder in (path, *path.parents) if is_instance(folder)), None)


def is_instance(folder: Path) -> bool:
    """Return whether a folder's file is an instance's: it has every key. Others use files of that name too."""
    return bool(_instance_text(folder))


def is_meant(folder: Path) -> bool:
    """Return whether a folder's file is meant to be an instance's, however much of it is wrong."""
    text = _unescape(_read(folder))
    return any(key in text for key in _KEYS if key != b"environment")  # which other programs have too


def is_locked(folder: Path, config: pytest.Config) -> bool:
    """Return whether a folder has a lock. The rootdir never counts: it is a project, with tests beside instances."""
    return folder != config.rootpath and is_file(folder / LOCK_FILE)


def is_set(folder: Path, config: pytest.Config, *, named: bool = False) -> bool:
    """Return whether a folder is a set: it has a crab.lock, or instances as children and no tests beside them.

    ``named``: it was named on the command line, so each instance.yaml below counts. In a folder outside the one that
    pytest was called in only the instances are of interest, whatever lies beside them.
    """
    if is_locked(folder, config):
        return True
    if not any(named or is_meant(file.parent) for file in folder.glob(f"*/{INSTANCE_FILE}")):
        return False
    return not folder.is_relative_to(config.invocation_params.dir) or not any(_beside(folder, config))


def holds_instances(folder: Path) -> bool:
    """Return whether a folder has a lock or instances as children."""
    return is_file(folder / LOCK_FILE) or bool(_texts_in(folder))


def is_data(folder: Path, config: pytest.Config) -> bool:
    """Return whether a folder is an instance, a locked set, or a tree that instances beside it share.

    A folder is not data because of the instances that it holds: its tests may lie beside them.
    """
    return is_locked(folder, config) or is_instance(folder) or is_shared(folder, config)


def is_shared(folder: Path, config: pytest.Config) -> bool:
    """Return whether a folder holds trees that instances beside it share, or their recorded results."""
    trees = config.stash.setdefault(_TREES, {})
    beside = folder.parent
    if beside not in trees:
        text = _texts_in(beside)
        trees[beside] = {RECORDED, *(name.strip() for name in re.findall(_SHARED, text))} if text else set()
    return os.fsencode(folder.name) in trees[beside]


def named_paths(config: pytest.Config) -> list[tuple[str, Path]]:
    """Return the arguments of the command line with their paths; testpaths of an ini file are not among them."""
    if config.args_source is not config.ArgsSource.ARGS:
        return []
    return [(argument, named_path(config, argument)) for argument in config.args]


def named_path(config: pytest.Config, argument: object) -> Path:
    """Return the path that an argument of the command line names, without the test behind it."""
    return config.invocation_params.dir / str(argument).split("::", 1)[0]


def is_named_below(folder: Path, config: pytest.Config) -> bool:
    """Return whether an argument of this run is something inside a folder; it is a testpath if none was given."""
    named = (os.path.abspath(named_path(config, argument)) for argument in config.args)  # noqa: PTH100 - as pytest does
    return any(name.startswith(f"{folder}{os.sep}") for name in named)


def _beside(folder: Path, config: pytest.Config) -> Iterator[str]:
    """Yield the names of entries beside the instances of a folder in which pytest might find tests."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir():
                if entry.name.endswith(pytest_files.MODULE):
                    yield entry.name
            elif (
                not entry.name.startswith((".", "__"))
                and not is_file(f"{entry.path}/{INSTANCE_FILE}")  # a Path for each takes longer
                and not is_shared(Path(entry.path), config)
            ):
                yield entry.name


def _instance_text(folder: Path) -> bytes:
    content = _read(folder)
    text = _unescape(content)
    return content if all(key in text for key in _KEYS) else b""


def _texts_in(folder: Path) -> bytes:
    return b"\n".join(filter(None, (_instance_text(file.parent) for file in folder.glob(f"*/{INSTANCE_FILE}"))))


def _read(folder: Path) -> bytes:
    try:
        if not is_file(folder / INSTANCE_FILE):  # a pipe would block
            return b""
        with (folder / INSTANCE_FILE).open("rb") as file:
            return file.read(1 << 20)  # no larger one is read as an instance
    except OSError:
        return b""


def _unescape(text: bytes) -> bytes:
    return re.sub(_ESCAPED, _letter, text) if text else text


def _letter(escape: re.Match[bytes]) -> bytes:
    number = int(next(filter(None, escape.groups())), 16)
    return bytes([number]) if 0 < number < 128 else b""
