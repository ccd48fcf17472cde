"""Instances as pytest nodes: a folder that reads nothing of its own, one item per reviewer and repeat."""

from __future__ import annotations

import functools
import gc
import hashlib
import os
from collections.abc import Iterable
from collections.abc import Iterator
from contextlib import contextmanager
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import cast

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.instances.index import Index
from pytest_crab.plugin import INSTANCE_FILE
from pytest_crab.plugin import SESSION
from pytest_crab.plugin import is_locked
from pytest_crab.plugin import is_meant
from pytest_crab.plugin import is_shared
from pytest_crab.report.account import explain
from pytest_crab.store import FileStore
from pytest_crab.store.files import write_aside
from pytest_crab.types import Comment
from pytest_crab.types import Instance
from pytest_crab.types import Provenance
from pytest_crab.types import Reason
from pytest_crab.types import Trial
from pytest_crab.types import TrialId
from pytest_crab.types import Verdict

if TYPE_CHECKING:
    from pytest_crab.plugin.session import CrabSession


class Unmeasured(Exception):
    """Some oracle of the item is unknown; raised in setup, so that it is an error and not a failure."""


class Missed(Exception):
    """Some oracle of the item was missed; raised in the call phase."""


def collector_for(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The collector of a folder that is an instance or a set of them; None for any other folder."""
    file = path / INSTANCE_FILE
    if os.path.isfile(file) and (any(map(parent.session.isinitpath, (path, file))) or is_meant(path)):  # noqa: PTH113
        return InstanceFolder.from_parent(parent, path=path, name=path.name)
    if is_set(path, parent.session):
        return InstanceSet.from_parent(parent, path=path, name=path.name)
    return None


def is_set(folder: Path, session: pytest.Session) -> bool:
    """Whether ``folder`` is an instance set: it has a crab.lock, or instances as its children and no tests beside them.

    Of a folder from outside the one that pytest was called in only the instances are of interest.
    """
    config, named = session.config, session.isinitpath(folder)
    if is_locked(folder, config):
        return True
    if not any(named or is_meant(file.parent) for file in folder.glob(f"*/{INSTANCE_FILE}")):
        return False
    return not folder.is_relative_to(config.invocation_params.dir) or not any(_beside(folder, config))


def _beside(folder: Path, config: pytest.Config) -> Iterator[str]:
    """Yield the names of what pytest might find tests in, beside the instances of a folder."""
    with os.scandir(folder) as found:
        for entry in found:
            if not entry.is_dir():
                if entry.name.endswith(".py"):
                    yield entry.name
            elif (
                not entry.name.startswith((".", "__"))
                and not os.path.isfile(f"{entry.path}/{INSTANCE_FILE}")  # noqa: PTH113
                and not is_shared(Path(entry.path), config)
            ):
                yield entry.name


# Neither folder is a pytest.Directory, so pytest loads no conftest.py and no __init__.py from them; nor are they a
# pytest.File, of which --lf passes over those that held no failure themselves.


class Beneath:
    """A node below a folder that pytest did not look into: it has the hooks of the conftest.py files above that."""

    parent: Any

    @property
    def ihook(self) -> Any:
        """The hooks; by its own path pytest would find no conftest.py for it at all."""
        return self.parent.ihook


class InstanceSet(Beneath, pytest.Collector):
    """A folder of instances; whatever else lies in it is not looked at."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield the items of the instances by name; of one that cannot be loaded the folder, which says why.

        Where one of the instances is named, or files are loaded by others too, it is all folders: pytest then opens
        those that it needs. It takes far longer to make a report of each than reading their files takes.
        """
        with os.scandir(self.path) as found:
            names = sorted(entry.name for entry in found)
        place = str(self.path)
        folders = [self.path / name for name in names if os.path.isfile(f"{place}/{name}/{INSTANCE_FILE}")]  # noqa: PTH113 - a Path takes ten times as long
        named = any(self.session.isinitpath(folder, with_parents=True) for folder in folders)
        if named or loaded_by_others(self.config):
            yield from (InstanceFolder.from_parent(self, path=folder, name=folder.name) for folder in folders)
            return
        plugin = session_of(self.config)
        with nothing_collected(self.config), unchanged(self.path, plugin.options.store) as index:
            for path in folders:
                folder = InstanceFolder.from_parent(self, path=path, name=path.name)
                file = folder.file()
                try:
                    instance = index.load(file.path)
                    plugin.claim(instance, file.path)
                except BadInput:
                    yield folder
                else:
                    yield from items_of(instance, file)


@contextmanager
def nothing_collected(config: pytest.Config) -> Iterator[None]:
    """Keep Python from looking for garbage while a large set is made, and in it until pytest is done with it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():  # else it is to be thawed already, or somebody else's
                config.add_cleanup(gc.unfreeze)
            gc.freeze()
            gc.enable()


@contextmanager
def unchanged(folder: Path, store: Path) -> Iterator[Index]:
    """The index of a set's unchanged files, kept in a store that is there already; collecting makes none."""
    kept = FileStore(store).cache / "instances" / f"{hashlib.sha256(bytes(folder)).hexdigest()[:32]}.index"
    try:
        data = kept.read_bytes()
    except OSError:  # there is none, or somebody else of this store keeps it to himself
        data = b""
    index = Index(data)
    yield index
    if index.changed and store.is_dir():
        with suppress(OSError):  # nothing is lost but time where the store cannot be written; a trial says so
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_aside(kept, index.dump())


class InstanceFolder(Beneath, pytest.Collector):
    """A folder of one instance; nothing inside is collected, imported or read as configuration."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield the one file that is read."""
        yield self.file()

    def file(self) -> InstanceFile:
        """The file's node."""
        node: InstanceFile = InstanceFile.from_parent(self, path=self.path / INSTANCE_FILE, name=INSTANCE_FILE)
        return node


class InstanceFile(Beneath, pytest.File):
    """One file that instances are loaded from: its items are its instance's, or lie below one name per instance."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield what stands for the instances. Raises BadInput."""
        plugin = session_of(self.config)
        for instance in self.config.hook.pytest_crab_load_instances(path=self.path, config=self.config) or ():
            plugin.claim(instance, self.path)
            if self.path.name == INSTANCE_FILE:
                yield from items_of(instance, self)
            else:
                yield OneInstance.from_parent(self, name=instance.id, instance=instance)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """Show what is wrong with the file, without a traceback."""
        if isinstance(excinfo.value, BadInput):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class OneInstance(Beneath, pytest.Collector):
    """One of the several instances of a file."""

    def __init__(self, *, instance: Instance, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.instance = instance

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the instance's items."""
        return items_of(self.instance, self)


def items_of(instance: Instance, parent: pytest.Collector) -> Iterator[pytest.Item]:
    """Yield an item per reviewer and repeat, in the order of the command line."""
    plugin = session_of(parent.config)
    for reviewer in plugin.crews.by_reviewer:
        for repeat in range(1, plugin.options.repeat + 1):
            name = TrialId(instance.id, reviewer, repeat).item_name
            item: TrialItem = TrialItem.from_parent(
                parent, name=name, instance=instance, reviewer=reviewer, repeat=repeat, plugin=plugin
            )
            yield item


def session_of(config: pytest.Config) -> CrabSession:
    """The working part of the plugin."""
    return cast("CrabSession", config.pluginmanager.get_plugin(SESSION))


def loaded_by_others(config: pytest.Config) -> bool:
    """Whether someone else's hook loads instances too."""
    return len(config.hook.pytest_crab_load_instances.get_hookimpls()) > 1


def mark(item: pytest.Item, instance: Instance, comments: Iterable[Comment]) -> None:
    """Give an item one marker for each of these comments, so that -m finds it."""
    for one in comments:
        labels = tuple(sorted(one.dimensions.items()))
        item.add_marker(_marker(labels, one.id, instance.repo, instance.language, instance.provenance))


@functools.lru_cache(maxsize=1024)
def _marker(
    labels: tuple[tuple[str, str], ...], comment: str, repo: str, language: str, provenance: Provenance
) -> pytest.MarkDecorator:
    """The marker of a comment; those of a repository are often the same, and pytest takes its time to make one."""
    own = {"comment": comment, "repo": repo, "language": language, "provenance": str(provenance)}
    return pytest.mark.crab(**{"category": "", "kind": "", **dict(labels), **own})


class TrialItem(Beneath, pytest.Item):
    """One trial: setup waits for it, the call phase reads its verdicts."""

    def __init__(self, *, instance: Instance, reviewer: str, repeat: int, plugin: CrabSession, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.instance = instance
        self.reviewer = reviewer
        self.repeat = repeat
        self.plugin = plugin
        self.trial: Trial | None = None
        mark(self, instance, instance.with_oracles or instance.comments)

    def setup(self) -> None:
        """Wait for the trial; an unknown oracle makes the item an error."""
        if not self.plugin.runs_trials:  # pytest asks for the setup under --setup-plan too
            return
        self.trial = self.plugin.finish(self)
        if self.trial.skipped:
            pytest.skip(self.trial.skipped)
        if {result.reason for result in self.trial.results} == {Reason.NOT_RUN}:  # its reviewer was given up
            pytest.skip(self.trial.error or "")
        if self.trial.having(Verdict.UNKNOWN) or (self.trial.error is not None and not self.trial.results):
            raise Unmeasured

    def runtest(self) -> None:
        """Fail if an oracle was missed; one that nobody named is there to compare with, so that is expected of it."""
        assert self.trial is not None
        if self.trial.having(Verdict.MISSED):
            if self.reviewer not in self.plugin.options.reviewers:
                pytest.xfail(f"{self.trial.arm}: an oracle was missed")
            raise Missed

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Say what became of each oracle, never showing an oracle's source."""
        if isinstance(excinfo.value, Missed) and self.trial is not None:
            return "\n".join(explain(self.trial))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Name the trial in headings."""
        repeat = "" if self.repeat == 1 else f" ({self.repeat})"
        return self.path, None, f"{self.reviewer} on {self.instance.id}{repeat}"
