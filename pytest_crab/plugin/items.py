"""Collection: instances as pytest nodes, with one item per reviewer and repeat."""

from __future__ import annotations

import functools
import gc
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_crab.atomic import write_atomically
from pytest_crab.campaign.giving_up import was_given_up
from pytest_crab.errors import BadInput
from pytest_crab.garbage import no_collection
from pytest_crab.instances import load_instance
from pytest_crab.instances.index import Index
from pytest_crab.plugin.paths import INSTANCE_FILE, is_file, is_meant, is_named_below, is_set, is_shared
from pytest_crab.results.explain import explain
from pytest_crab.store import FileStore
from pytest_crab.text import one_line
from pytest_crab.types import Category, Comment, Instance, Kind, Provenance, Trial, TrialId, Verdict

#: How many objects have to be made by collecting for the garbage collector to be spared them.
WORTH_FREEZING = 50_000


class Unmeasured(pytest.fail.Exception):  # type: ignore[name-defined, misc]
    """Some oracle of the item is unknown; raised in setup, so that it is an error and not a failure."""

    def __init__(self) -> None:
        super().__init__(pytrace=False)  # pytest would read the source of every function on the way here


class Missed(AssertionError):
    """Some oracle of the item was missed; raised in the call phase."""


class Items:
    """Collects instances: an item for each reviewer and repeat, in the order of the command line.

    ``reviewers`` says of each reviewer whether it was named; the others are there to compare with. ``repeats`` is the
    number of trials of each on an instance.
    """

    def __init__(
        self,
        reviewers: Mapping[str, bool],
        repeats: int,
        store: Path,
        config: pytest.Config,
    ) -> None:
        self.reviewers = reviewers
        self.repeats = repeats
        self.store = store
        self._claims: dict[str, Path] = {}
        self._frozen = False
        config.stash[_ITEMS] = self
        # This is called before pytest's own plugins add theirs, and so runs after them: one looks at all objects.
        config.add_cleanup(self._thaw)

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Ignore what instances share: it is data."""
        folder = os.path.isdir(collection_path)  # noqa: PTH112 - a Path may raise
        return True if folder and is_shared(collection_path, config) else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Take over instance folders and sets of them; nothing inside is read by other plugins."""
        session, file = parent.session, path / INSTANCE_FILE
        if is_file(file) and (any(map(session.isinitpath, (path, file))) or is_meant(path)):
            return InstanceFolder.from_parent(parent, path=path, name=path.name)
        if is_set(path, session.config, named=session.isinitpath(path)):
            return InstanceSet.from_parent(parent, path=path, name=path.name)
        return None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Take over files from which another plugin's hook loads instances."""
        if not loaded_by_others(parent.config):
            return None
        try:
            found = parent.config.hook.pytest_crab_load_instances(path=file_path, config=parent.config) is not None
        except BadInput:
            found = True  # the file's own collection reports it
        return InstanceFile.from_parent(parent, path=file_path) if found else None

    @pytest.hookimpl(trylast=True)
    def pytest_crab_load_instances(self, path: Path) -> Sequence[Instance] | None:
        """Load an instance.yaml."""
        return [load_instance(path)] if path.name == INSTANCE_FILE else None

    def claim(self, instance: Instance, path: Path) -> None:
        """Note that an instance was loaded from ``path``. Raises BadInput if another file has one of this id."""
        first = self._claims.setdefault(instance.id.lower(), path)
        if first is not path and first != path:  # paths take long to compare
            raise BadInput(str(path), [f"id {instance.id} is also that of {first}; one should be renamed"])

    @contextmanager
    def gc_frozen(self) -> Iterator[None]:
        """Disable the cyclic garbage collector while items are created, then freeze many until pytest is done."""
        with no_collection():
            yield
            if gc.get_count()[0] > WORTH_FREEZING:
                self._frozen = True
                gc.freeze()

    def _thaw(self) -> None:
        if self._frozen:
            gc.unfreeze()


_ITEMS = pytest.StashKey[Items]()


# Neither folder is a pytest.Directory, so pytest loads no conftest.py and no __init__.py from them; nor are they a
# pytest.File, of which --lf passes over those that held no failure themselves.


class ParentHooksMixin:
    """A node below a folder that pytest did not look into: it has the hooks of its parent."""

    parent: Any

    @property
    def ihook(self) -> Any:
        """The hooks; by its own path pytest would find no conftest.py for it at all."""
        return self.parent.ihook


class InstanceSet(ParentHooksMixin, pytest.Collector):
    """A folder of instances; whatever else lies in it is not looked at."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield the items of the instances by name; of one with faults the file, which reports them.

        Where an instance is named, or other plugins load files too, yield the folders: pytest then opens those that it
        needs. To make a report of each folder takes far longer than to read the files.
        """
        with os.scandir(self.path) as found:
            names = sorted(entry.name for entry in found)
        if is_named_below(self.path, self.config) or loaded_by_others(self.config):
            for name in names:
                folder = self.path / name
                if is_file(folder / INSTANCE_FILE):
                    yield InstanceFolder.from_parent(self, path=folder, name=name)
            return
        items, hooks = self.config.stash[_ITEMS], self.ihook
        with items.gc_frozen(), instance_cache(self.path, items.store) as index:
            for name in names:
                inner = f"{name}/{INSTANCE_FILE}"
                file: InstanceFile = InstanceFile.from_parent(self, path=self.path / inner, name=inner)
                try:
                    instance = index.load(file.path)
                    items.claim(instance, file.path)
                except BadInput:
                    if is_file(file.path):  # asked only now: nearly every folder of a set has one
                        yield file
                else:
                    yield from items_of(instance, file, hooks)


@contextmanager
def instance_cache(folder: Path, store: Path) -> Iterator[Index]:
    """Yield the cache of a set's unchanged files; it is kept in a store that exists, and collecting makes no store."""
    kept = FileStore(store).cache / "instances" / f"{hashlib.sha256(bytes(folder)).hexdigest()[:32]}.index"
    try:
        index = Index(kept.read_bytes())
    except OSError:  # it is missing, or another user's
        index = Index()
    yield index
    if index.changed and store.is_dir():
        with suppress(OSError):  # costs only time; a trial reports it
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(kept, index.dump())


class InstanceFolder(ParentHooksMixin, pytest.Collector):
    """A folder of one instance; nothing inside is collected, imported or read as configuration."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield the one file that is read."""
        yield InstanceFile.from_parent(self, path=self.path / INSTANCE_FILE, name=INSTANCE_FILE)


class InstanceFile(ParentHooksMixin, pytest.File):
    """One file that instances are loaded from: its items are its instance's, or lie below one name per instance."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield what stands for the instances. Raises BadInput."""
        items = self.config.stash[_ITEMS]
        for instance in self.config.hook.pytest_crab_load_instances(path=self.path, config=self.config) or ():
            items.claim(instance, self.path)
            if self.path.name == INSTANCE_FILE:
                yield from items_of(instance, self, self.ihook)
            else:
                yield NamedInstance.from_parent(self, name=instance.id, instance=instance)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """Show what is wrong with the file, without a traceback."""
        if isinstance(excinfo.value, BadInput):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class NamedInstance(ParentHooksMixin, pytest.Collector):
    """One of the several instances of a file."""

    def __init__(self, *, instance: Instance, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.instance = instance

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the instance's items."""
        return items_of(self.instance, self, self.ihook)


def items_of(instance: Instance, parent: pytest.Collector, hooks: Any) -> Iterator[pytest.Item]:
    """Yield an item per reviewer and repeat, and those that other plugins make; ``hooks`` are those of the parent."""
    items = parent.config.stash[_ITEMS]
    for reviewer, named in items.reviewers.items():
        for repeat in range(1, items.repeats + 1):
            trial_id = TrialId(instance.id, reviewer, repeat)
            item: TrialItem = TrialItem.from_parent(
                parent, name=trial_id.item_name, instance=instance, trial_id=trial_id, named=named
            )
            yield item
    for others in hooks.pytest_crab_make_items(instance=instance, parent=parent):
        yield from others or ()


def loaded_by_others(config: pytest.Config) -> bool:
    """Return whether another plugin's hook loads instances too."""
    return len(config.hook.pytest_crab_load_instances.get_hookimpls()) > 1


def mark(item: pytest.Item, instance: Instance, comments: Iterable[Comment]) -> None:
    """Give an item one marker for each of these comments, or one for a clean pull request, for -m."""
    of_all = (instance.repo, instance.language, instance.provenance)
    found = [_marker(one.category, one.kind, tuple(one.labels.items()), one.id, *of_all) for one in comments]
    if instance.clean:
        found.append(_marker(None, None, (("clean", "yes"),), "", *of_all))
    item.own_markers += [one.mark for one in found[:-1]]
    for last in found[-1:]:  # which makes a keyword of their name too; once is enough
        item.add_marker(last)


@functools.lru_cache(maxsize=1024)
def _marker(
    category: Category | None,
    kind: Kind | None,
    labels: tuple[tuple[str, str], ...],
    comment: str,
    repo: str,
    language: str,
    provenance: Provenance,
) -> pytest.MarkDecorator:
    """Return the marker of a comment; cached, since many are the same and pytest makes one slowly."""
    words = {"category": str(category or ""), "kind": str(kind or ""), **dict(labels)}
    own = {"comment": comment, "repo": repo, "language": language, "provenance": str(provenance)}
    return pytest.mark.crab(**{**words, **own})  # a label may have the name of one of these


class Planned(NamedTuple):
    """The trial that an item is to run."""

    instance: Instance
    trial_id: TrialId


class InstanceItem(ParentHooksMixin, pytest.Item):
    """One contestant on one instance, with the marks of its comments; it is selected as the instance is."""

    def __init__(self, *, instance: Instance, trial_id: TrialId, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.instance = instance
        self.trial_id = trial_id
        mark(self, instance, instance.with_oracles or instance.comments)
        if self.config.pluginmanager.has_plugin(
            "timeout"
        ):  # its seconds are for tests, and a trial has limits of its own
            self.add_marker(pytest.mark.timeout(0))

    @property
    def planned(self) -> Planned:
        """The trial that it is to run."""
        return Planned(self.instance, self.trial_id)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Name contestant and instance in headings."""
        _, contestant, repeat = self.trial_id
        return self.path, None, f"{contestant} on {self.instance.id}" + ("" if repeat == 1 else f" ({repeat})")


class TrialItem(InstanceItem):
    """One trial: the runner waits for it and sets ``trial``, and the phases read its verdicts."""

    def __init__(self, *, named: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.trial: Trial | None = None
        self._named = named

    def setup(self) -> None:
        """Skip a trial that was not run; an unknown oracle makes the item an error."""
        trial = self.trial
        if trial is None:  # nothing is run under --setup-plan
            return
        if trial.skipped is not None:
            pytest.skip(trial.skipped)
        if was_given_up(trial):
            pytest.skip(trial.error or "")
        if trial.having(Verdict.UNKNOWN) or (trial.error is not None and not trial.results):
            raise Unmeasured

    def runtest(self) -> None:
        """Fail if an oracle was missed; that is expected of a reviewer that is there to compare with."""
        assert self.trial is not None
        if self.trial.having(Verdict.MISSED):
            if not self._named:
                pytest.xfail(f"{self.trial.variant}: an oracle was missed")
            names = ", ".join(result.comment for result in self.trial.having(Verdict.MISSED))
            raise Missed(f"missed: {one_line(names)}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Describe the result of each oracle, without its source."""
        if isinstance(excinfo.value, Missed) and self.trial is not None:
            return "\n".join(explain(self.trial))
        return super().repr_failure(excinfo, style)
