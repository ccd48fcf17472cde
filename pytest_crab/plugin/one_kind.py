"""Refuses a run of injected faults together with comments of people, since no rate is over both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.plugin.items import InstanceItem
from pytest_crab.plugin.recorder import RunRecorder
from pytest_crab.results.provenance import require_one_kind
from pytest_crab.types import Instance


class OneKind:
    """Refuses a run of injected faults together with comments of people; registered on the controller."""

    def __init__(self, recorder: RunRecorder) -> None:
        self._recorder = recorder

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Refuse what was selected, if it has both, before anything is paid."""
        self._require(item.instance for item in session.items if isinstance(item, InstanceItem))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """The same of what a worker of pytest-xdist has selected."""
        self._require(plan.instance for plan in map(self._recorder.find_plan, ids) if plan is not None)

    def _require(self, instances: Iterable[Instance]) -> None:
        try:
            require_one_kind("crab", {instance.id: instance.provenance for instance in instances})
        except BadInput as error:
            raise pytest.UsageError(str(error)) from error
