"""Instance sets from outside the folder of the call: their images and installs run here, so each must be trusted."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_crab import pytest_files, serialization
from pytest_crab.atomic import write_atomically
from pytest_crab.errors import BadInput
from pytest_crab.instances import find_instances, load_instance
from pytest_crab.instances.lock import content_digests
from pytest_crab.plugin.items import InstanceFile
from pytest_crab.plugin.paths import INSTANCE_FILE, exists, is_file, is_instance, is_set, named_path
from pytest_crab.store.files import sentence

#: The file in the store that remembers which sets were trusted, by digest.
TRUSTED = "trusted.json"


def require_trust(config: pytest.Config, store: Path, *, trust: bool) -> None:
    """Require that every set outside the folder of the call is trusted in its present state; ask at a terminal.

    What lies below that folder is the user's own, as its conftest.py is. Raises pytest.UsageError.
    """
    known = _load_trusted(store)
    for folder in _foreign_sets(config):
        digest = _digest(folder)
        if digest in known:
            continue
        if not trust and not _ask(config, folder):
            raise pytest.UsageError(
                f"{folder} comes from outside this folder, and its installs and oracles would run here: look at it, "
                "then add --crab-trust once"
            )
        known[digest] = str(folder)
        try:
            store.mkdir(parents=True, exist_ok=True)
            write_atomically(store / TRUSTED, json.dumps(known, indent=1, sort_keys=True).encode())
        except OSError as error:
            raise pytest.UsageError(sentence("cannot be written", store / TRUSTED, error)) from error


def settings_places(config: pytest.Config) -> Iterator[Path]:
    """Yield the folders in which crab.yaml is looked for: the current one, the rootdir, and beside the named sets.

    What it says runs commands of this user, so a set from outside the folder of the call has no part in it: its trust
    is asked later, and is about what runs in sandboxes.
    """
    here = config.invocation_params.dir
    yield from (here, config.rootpath)
    for argument in config.args:
        path = named_path(config, argument)
        folder = path.parent if path.name == INSTANCE_FILE else path
        for place in (folder.parent, folder.parent.parent) if is_instance(folder) else (folder, folder.parent):
            if exists(place) and place.resolve().is_relative_to(here.resolve()):
                yield place


def refuse_code(config: pytest.Config, arguments: Sequence[str]) -> None:
    """Refuse code and settings in a set from outside the folder of the call: pytest reads them before trust is asked.

    Raises pytest.UsageError that names the file.
    """
    here = config.invocation_params.dir.resolve()
    own = {here, *here.parents}
    for argument, path in _from_outside(config, arguments):
        folder = path if path.is_dir() else path.parent
        found = next((file for file in _read_by_pytest(config, folder) if file.parent.resolve() not in own), None)
        if found is not None and _instances(path):
            top = folder if folder in found.parents else found.parent
            raise pytest.UsageError(
                f"{found} would be run or heeded by pytest before {argument} is trusted, which comes from outside this "
                f"folder: remove it, or look at it and call pytest in {top}"
            )


def _from_outside(config: pytest.Config, arguments: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield the arguments that name paths outside the folder in which pytest was called, with the paths."""
    here = config.invocation_params.dir.resolve()
    for argument in arguments:
        path = named_path(config, argument)
        if exists(path) and not path.resolve().is_relative_to(here):
            yield str(argument), path


def _read_by_pytest(config: pytest.Config, folder: Path) -> Iterator[Path]:
    """Yield the files that pytest reads because a folder is named: settings, and modules here, above and in test*."""
    if config.inipath is not None and folder.is_relative_to(config.inipath.parent):
        yield config.inipath
    known = config.known_args_namespace
    if known.rootdir is None and folder.is_relative_to(config.rootpath):
        # It makes its folder the rootdir, whose crab.yaml and store are believed.
        yield config.rootpath / pytest_files.SETUP
    cut = config.invocation_params.dir / known.confcutdir
    for place in (folder, *folder.parents):
        if place not in cut.parents:
            yield from _modules(place, config)
    if not known.noconftest:
        yield from folder.glob(pytest_files.CONFTESTS_BELOW)


def _modules(folder: Path, config: pytest.Config) -> Iterator[Path]:
    """Yield the modules that pytest runs of a folder that it collects; a package only if it holds instances."""
    conftest, package = folder / pytest_files.CONFTEST, folder / pytest_files.PACKAGE
    if conftest.is_file() and not config.known_args_namespace.noconftest:
        yield conftest
    is_ours = is_file(folder / INSTANCE_FILE) or is_set(folder, config)
    if package.is_file() and not is_ours and _instances(folder):
        yield package


class SetsOnly:
    """Lets pytest run nothing but instances of a foreign folder that holds some: only these were trusted."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        here = config.invocation_params.dir.resolve()
        named = {path.resolve() for _, path in _from_outside(config, config.args)}
        self._folders = [path for path in named if path.is_dir() and path not in here.parents and _instances(path)]

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_directory(self, path: Path) -> Generator[None, Any, Any]:
        """Refuse a folder whose modules pytest would run."""
        found = yield
        if isinstance(found, pytest.Directory):
            self._refuse(path, _modules(path, self._config))
        return found

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, Any, Any]:
        """Refuse a file from which anything but instances would be loaded."""
        found = yield
        if any(not isinstance(one, InstanceFile) for one in found):
            self._refuse(file_path, [file_path])
        return found

    def _refuse(self, path: Path, files: Iterable[Path]) -> None:
        folder = next((folder for folder in self._folders if folder in path.resolve().parents), None)
        for file in files if folder is not None else ():
            raise pytest.Collector.CollectError(
                f"{file} would be run by pytest, on this machine and in no sandbox, and {folder} comes from outside "
                f"this folder: name its sets alone, or look at it and call pytest in {folder}"
            )


def _foreign_sets(config: pytest.Config) -> Iterator[Path]:
    paths = (path.resolve() for _, path in _from_outside(config, config.args))
    yield from dict.fromkeys(file.parent.parent for path in paths for file in _instances(path))


def _instances(path: Path) -> Sequence[Path]:
    return [path] if path.is_file() else list(find_instances(path))


def _digest(folder: Path) -> str:
    files = find_instances(folder)
    return serialization.digest({file.parent.relative_to(folder).as_posix(): _state(file) for file in files})


def _state(file: Path) -> dict[str, str]:
    """Return what decides an instance; of one that cannot be read, and is never run, the fault."""
    try:
        return content_digests(load_instance(file))
    except (BadInput, OSError) as error:
        return {"fault": str(error)}


def _load_trusted(store: Path) -> dict[str, str]:
    try:
        known = json.loads((store / TRUSTED).read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return {str(key): str(value) for key, value in known.items()} if isinstance(known, dict) else {}


def _ask(config: pytest.Config, folder: Path) -> bool:
    """Ask at the terminal; False where there is none, and where it ends (Ctrl-D) without an answer."""
    manager = config.pluginmanager.get_plugin("capturemanager")
    if manager is not None:
        manager.suspend_global_capture(in_=True)
    try:
        if not sys.stdin.isatty():
            return False
        answer = input(f"{folder} comes from outside this folder. Run its installs and oracles here? [y/N] ")
        return answer.strip().lower() in ("y", "yes")
    except EOFError:
        return False
    finally:
        if manager is not None:
            manager.resume_global_capture()
