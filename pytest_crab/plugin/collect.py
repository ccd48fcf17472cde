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
from pytest_crab.plugin import is_set
from pytest_crab.report.account import explain
from pytest_crab.types import Instance
from pytest_crab.types import Trial
from pytest_crab.types import Verdict

if TYPE_CHECKING:
    from pytest_crab.plugin.session import CrabSession


class Unmeasured(Exception):  # noqa: N818 - it is an outcome of the trial, not a mistake of the program
    """Some oracle of the item is unknown; raised in setup, so that it is an error and not a failure."""


class Missed(Exception):  # noqa: N818 - the same
    """Some oracle of the item was missed; raised in the call phase."""


def collector_for(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The collector of a folder that is an instance or a set of them; None for any other folder.

    Neither is a pytest.Directory, so pytest loads no conftest.py and no __init__.py from them.
    """
    if (path / INSTANCE_FILE).is_file():
        return InstanceFolder.from_parent(parent, path=path)
    if is_set(path):
        return InstanceSet.from_parent(parent, path=path)
    return None


class InstanceSet(pytest.File):
    """A folder of instances; whatever else lies in it is not looked at."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield the instances by name."""
        for file in sorted(self.path.glob(f"*/{INSTANCE_FILE}")):
            yield InstanceFolder.from_parent(self, path=file.parent)


class InstanceFolder(pytest.File):
    """A folder of one instance; nothing inside is collected, imported or read as configuration."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield the one file that is read."""
        yield InstanceFile.from_parent(self, path=self.path / INSTANCE_FILE)


class InstanceFile(pytest.File):
    """One file that instances are loaded from."""

    def collect(self) -> Iterable[pytest.Item]:
        """Yield an item per instance, reviewer and repeat, in the order of the command line."""
        plugin = cast("CrabSession", self.config.pluginmanager.get_plugin("pytest_crab.session"))
        for instance in self.config.hook.pytest_crab_load_instances(path=self.path, config=self.config) or ():
            for reviewer in plugin.options.reviewers:
                for repeat in range(1, plugin.options.repeat + 1):
                    name = reviewer if repeat == 1 else f"{reviewer}[{repeat}]"
                    item: TrialItem = TrialItem.from_parent(
                        self, name=name, instance=instance, reviewer=reviewer, repeat=repeat, plugin=plugin
                    )
                    yield item

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """Show what is wrong with the file, without a traceback."""
        if isinstance(excinfo.value, BadInput):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class TrialItem(pytest.Item):
    """One trial: setup waits for it, the call phase reads its verdicts."""

    def __init__(self, *, instance: Instance, reviewer: str, repeat: int, plugin: CrabSession, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.instance = instance
        self.reviewer = reviewer
        self.repeat = repeat
        self.plugin = plugin
        self.trial: Trial | None = None
        for comment in instance.comments:
            self.add_marker(
                pytest.mark.crab(
                    category=str(comment.category),
                    kind=str(comment.kind),
                    comment=comment.id,
                    repo=instance.repo,
                    language=instance.language,
                    provenance=str(instance.provenance),
                )
            )

    def setup(self) -> None:
        """Wait for the trial; an unknown oracle makes the item an error."""
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
