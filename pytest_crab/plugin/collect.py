"""Instances as pytest nodes: a folder that reads nothing of its own, one item per reviewer and repeat."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import cast

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.plugin import INSTANCE_FILE
from pytest_crab.plugin import SESSION
from pytest_crab.plugin import is_set
from pytest_crab.report.account import explain
from pytest_crab.types import Comment
from pytest_crab.types import Instance
from pytest_crab.types import Trial
from pytest_crab.types import Verdict

if TYPE_CHECKING:
    from pytest_crab.plugin.session import CrabSession


class Unmeasured(Exception):
    """Some oracle of the item is unknown; raised in setup, so that it is an error and not a failure."""


class Missed(Exception):
    """Some oracle of the item was missed; raised in the call phase."""


def collector_for(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The collector of a folder that is an instance or a set of them; None for any other folder."""
    if (path / INSTANCE_FILE).is_file():
        return InstanceFolder.from_parent(parent, path=path, name=path.name)
    if is_set(path):
        return InstanceSet.from_parent(parent, path=path, name=path.name)
    return None


# Neither folder is a pytest.Directory, so pytest loads no conftest.py and no __init__.py from them; nor are they a
# pytest.File, of which --lf passes over those that held no failure themselves.


class InstanceSet(pytest.Collector):
    """A folder of instances; whatever else lies in it is not looked at."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield the instances by name."""
        for file in sorted(self.path.glob(f"*/{INSTANCE_FILE}")):
            yield InstanceFolder.from_parent(self, path=file.parent, name=file.parent.name)


class InstanceFolder(pytest.Collector):
    """A folder of one instance; nothing inside is collected, imported or read as configuration."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield the one file that is read."""
        yield InstanceFile.from_parent(self, path=self.path / INSTANCE_FILE)


class InstanceFile(pytest.File):
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


class OneInstance(pytest.Collector):
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
            name = reviewer if repeat == 1 else f"{reviewer}[{repeat}]"
            if not instance.measured:
                yield BareItem.from_parent(parent, name=name, instance=instance)
                continue
            item: TrialItem = TrialItem.from_parent(
                parent, name=name, instance=instance, reviewer=reviewer, repeat=repeat, plugin=plugin
            )
            yield item


def session_of(config: pytest.Config) -> CrabSession:
    """The working part of the plugin."""
    return cast("CrabSession", config.pluginmanager.get_plugin(SESSION))


def mark(item: pytest.Item, instance: Instance, comments: Iterable[Comment]) -> None:
    """Give an item one marker for each of these comments, so that -m finds it."""
    for comment in comments:
        item.add_marker(
            pytest.mark.crab(
                category=str(comment.category),
                kind=str(comment.kind or ""),
                comment=comment.id,
                repo=instance.repo,
                language=instance.language,
                provenance=str(instance.provenance),
            )
        )


class BareItem(pytest.Item):
    """An instance whose comments have no oracle: there to be read, so it is skipped and counts nowhere."""

    def __init__(self, *, instance: Instance, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.instance = instance
        mark(self, instance, instance.comments)
        self.add_marker(pytest.mark.skip(reason="no oracle: nothing to run"))

    def runtest(self) -> None:
        """Never called, since the item is skipped."""
        raise AssertionError(self.nodeid)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Name it in headings; a skip by mark is shown with a line."""
        return self.path, 0, self.name


class TrialItem(pytest.Item):
    """One trial: setup waits for it, the call phase reads its verdicts."""

    def __init__(self, *, instance: Instance, reviewer: str, repeat: int, plugin: CrabSession, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.instance = instance
        self.reviewer = reviewer
        self.repeat = repeat
        self.plugin = plugin
        self.trial: Trial | None = None
        mark(self, instance, instance.measured)

    def setup(self) -> None:
        """Wait for the trial; an unknown oracle makes the item an error."""
        if not self.plugin.runs_trials:  # pytest asks for the setup under --setup-plan too
            return
        self.trial = self.plugin.finish(self)
        if self.trial.skipped:
            pytest.skip(self.trial.skipped)
        if self.trial.having(Verdict.UNKNOWN):
            raise Unmeasured

    def runtest(self) -> None:
        """Fail if an oracle was missed."""
        assert self.trial is not None
        if self.trial.having(Verdict.MISSED):
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
