"""The entry point: registers the options, and the rest of the plugin only when a reviewer is named."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_crab.plugin import options
from pytest_crab.plugin.fixtures import crab_instance
from pytest_crab.plugin.fixtures import crab_trial
from pytest_crab.plugin.fixtures import pytest_generate_tests

__all__ = ["crab_instance", "crab_trial", "pytest_generate_tests"]

INSTANCE_FILE = "instance.yaml"
LOCK_FILE = "crab.lock"
RECORDED = b"recorded"  # the folder of a set's recorded results

#: What every instance's file has in it.
_WORDS = (b"provenance", b"pull_request", b"environment", b"comments")

#: How YAML lets a letter be spelled in quotes.
_ESCAPED = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")

#: What the working part is registered as.
SESSION = "pytest_crab.session"

#: Where an instance names a tree that lies beside it, by the first folder on the way there.
_SHARED = re.compile(rb"""\bpath["']?\s*:\s*["']?\.\./([^/"'\n,}]+)""")

#: The folders that the instances of a folder share, by folder; each is read once.
_TREES = pytest.StashKey[dict[Path, set[bytes]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options under the names that only this plugin uses."""
    options.register(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the hooks of this plugin, which a conftest.py may implement whether or not a reviewer is named."""
    from pytest_crab.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: Sequence[str]
) -> Generator[None, None, None]:
    """Refuse to read instances' and foreign sets' files before any conftest.py is imported; then claim the short names.

    They come last, since any other plugin or conftest.py may own them.
    """
    _refuse_configuration(early_config)
    named = early_config.known_args_namespace.file_or_dir or ()
    for argument in named:
        _refuse_foreign(named_path(early_config, argument))
    if named and options.names_reviewers(early_config, args):
        from pytest_crab.plugin.trust import refuse_code

        refuse_code(early_config, named)
    yield
    options.register_short(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the working part when a reviewer is named; else see that no instance was."""
    config.addinivalue_line(
        "markers",
        "crab(category, kind, comment, repo, language, provenance): one for each comment of an instance",
    )
    config.addinivalue_line("markers", "crab_instances(path, ...): what crab_instance stands for")
    if options.named_reviewers(config):
        from pytest_crab.plugin.session import CrabSession

        config.pluginmanager.register(CrabSession(config), SESSION)
        return
    for argument, path in _named_paths(config):
        if instance_folder(path) is not None or is_locked(path, config):
            raise _no_reviewer(argument)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave instances' trees alone, and instances and sets when no reviewer is named: they are data, not tests."""
    if not os.path.isdir(collection_path):  # noqa: PTH112 - a Path may raise
        return None
    measured = config.pluginmanager.has_plugin(SESSION)
    is_data = is_shared(collection_path, config) if measured else _is_data(collection_path, config)
    return True if is_data else None


@pytest.hookimpl(tryfirst=True)
def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The same for a folder that testpaths names, which pytest asks nobody whether to ignore."""
    if parent.config.pluginmanager.has_plugin(SESSION) or not _is_data(path, parent.config):
        return None
    return Unread.from_parent(parent, path=path, name=path.name)


class Unread(pytest.Collector):
    """A folder of data."""

    def collect(self) -> Sequence[pytest.Item]:
        """Yield nothing."""
        return ()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Where nothing but folders of sets was named and no reviewer, say so; no test is there to be run or deselected."""
    if items or session.testsfailed or session.config.pluginmanager.has_plugin(SESSION):
        return
    for argument, path in _named_paths(session.config):
        if _holds_set(path) or any(_holds_set(folder) for folder in path.glob("*/")):
            raise _no_reviewer(argument)


def instance_folder(path: Path) -> Path | None:
    """The instance folder that ``path`` is or lies in, or None."""
    return next((folder for folder in (path, *path.parents) if _instance_file(folder)), None)


def is_locked(folder: Path, config: pytest.Config) -> bool:
    """Whether a folder is a set by its lock. The rootdir is none: it is a project, whose tests lie beside instances."""
    return folder != config.rootpath and _is_file(folder / LOCK_FILE)


def _is_file(path: Path) -> bool:
    """Whether a file is there; False, where a Path raises, for what may not be looked at and for too long a name."""
    return os.path.isfile(path)  # noqa: PTH113


def _holds_set(folder: Path) -> bool:
    return _is_file(folder / LOCK_FILE) or bool(_instances_in(folder))


def _instance_file(folder: Path) -> bytes:
    """The file that makes a folder an instance; nothing if it has none, or another program's file of that name."""
    content = _read(folder)
    said = _ESCAPED.sub(_unescaped, content)
    return content if all(word in said for word in _WORDS) else b""


def is_meant(folder: Path) -> bool:
    """Whether somebody meant a folder's file to be an instance's, however much of it is wrong."""
    said = _ESCAPED.sub(_unescaped, _read(folder))
    return any(word in said for word in _WORDS if word != b"environment")  # which other programs have too


def _read(folder: Path) -> bytes:
    try:
        if not _is_file(folder / INSTANCE_FILE):  # a pipe would be waited for
            return b""
        with (folder / INSTANCE_FILE).open("rb") as file:
            return file.read(1 << 20)  # no larger one is read as an instance
    except OSError:
        return b""


def _unescaped(escape: re.Match[bytes]) -> bytes:
    number = int(next(filter(None, escape.groups())), 16)
    return bytes([number]) if 0 < number < 128 else b""


def _instances_in(folder: Path) -> bytes:
    """What the instances say that a folder holds."""
    return b"\n".join(filter(None, (_instance_file(file.parent) for file in folder.glob(f"*/{INSTANCE_FILE}"))))


def _is_data(folder: Path, config: pytest.Config) -> bool:
    """Whether a folder is an instance, a set with its lock, or a tree that instances beside it share.

    A folder is none because of the instances that it holds: its tests may lie beside them.
    """
    return is_locked(folder, config) or bool(_instance_file(folder)) or is_shared(folder, config)


def is_shared(folder: Path, config: pytest.Config) -> bool:
    """Whether a folder holds trees that instances beside it share, or results that were recorded of them."""
    trees = config.stash.setdefault(_TREES, {})
    beside = folder.parent
    if beside not in trees:
        said = _instances_in(beside)
        trees[beside] = {name.strip() for name in _SHARED.findall(said)} | ({RECORDED} if said else set())
    return os.fsencode(folder.name) in trees[beside]


def _named_paths(config: pytest.Config) -> list[tuple[str, Path]]:
    """The paths of the command line; what an ini file names as testpaths is not asked for by anyone."""
    if config.args_source is not config.ArgsSource.ARGS:
        return []
    return [(argument, named_path(config, argument)) for argument in config.args]


def named_path(config: pytest.Config, argument: object) -> Path:
    """The path that an argument of the command line names, without the test behind it."""
    return config.invocation_params.dir / str(argument).split("::", 1)[0]


def _no_reviewer(argument: str) -> pytest.UsageError:
    return pytest.UsageError(
        f"{argument} holds instances, and no reviewer is named: add --reviewer=NAME, as in --reviewer=ruff"
    )


def _refuse_configuration(config: pytest.Config) -> None:
    folder = config.inipath and instance_folder(config.inipath)
    if folder:
        raise pytest.UsageError(
            f"{config.inipath} would configure pytest, and it belongs to the instance {folder.name}: "
            "remove it, or name your own file with -c"
        )


def _refuse_foreign(path: Path) -> None:
    folder = instance_folder(path)
    if folder is not None and path not in (folder, folder / INSTANCE_FILE):
        raise pytest.UsageError(
            f"{path} lies inside the instance {folder.name}, whose files are data: name the instance's folder instead"
        )
    # pytest imports conftest.py from a folder that is named, and from those below it that are called test*
    found_below = path.glob("test*/conftest.py") if os.path.isdir(path) else ()  # noqa: PTH112 - a Path may raise
    below = [found for found in found_below if folder or instance_folder(found)]
    for found in (*(folder.glob("conftest.py") if folder else ()), *below):
        raise pytest.UsageError(f"{found} would be run by pytest: an instance folder holds no conftest.py, remove it")
