"""Fixtures for tests of one's own about trials: an instance, and its trial."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from pytest_crab.plugin.runner import Runner
    from pytest_crab.types import Instance, Trial

#: The mark that says where a test's instances lie, relative to the test's file.
MARK = "crab_instances"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Call a test that asks for ``crab_instance`` once for each instance below its mark's paths."""
    if "crab_instance" not in metafunc.fixturenames:
        return
    from pytest_crab.instances import load_instances

    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None or not mark.args:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid} asks for crab_instance and does not say which: mark it with "
            f'@pytest.mark.{MARK}("path/of/a/set")'
        )
    folder = Path(metafunc.definition.path).parent
    instances = [instance for path in mark.args for instance in load_instances(folder / path)]
    metafunc.parametrize("crab_instance", instances, ids=[instance.id for instance in instances], indirect=True)


@pytest.fixture
def crab_instance(request: pytest.FixtureRequest) -> Instance:
    """One instance below the paths that the test's ``crab_instances`` mark names."""
    return cast("Instance", request.param)


@pytest.fixture
def crab_trial(request: pytest.FixtureRequest, crab_instance: Instance) -> Trial:
    """The trial of ``crab_instance`` with the first reviewer of the command line; skipped where none is named."""
    runner = cast("Runner | None", request.config.pluginmanager.get_plugin("crab-runner"))
    if runner is None:
        pytest.skip("no reviewer is named: add --reviewer=NAME")
    return runner.trial_of(crab_instance)
