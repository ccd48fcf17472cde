"""The pytest plugin of probes: --answerer, and an item for each answerer on each instance that has probes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_crab import option_types
from pytest_crab.option_table import Option
from pytest_crab.plugin.options import read_named, register_long

if TYPE_CHECKING:
    from pytest_crab.plugin.kinds import Kind, Run
    from pytest_crab.types import Instance

#: The probes by name, as choices.questions has them: every start of pytest imports this module, and little else.
_PROBES = ("change-type", "lines-easy", "lines-hard", "solution-easy", "solution-hard")

ANSWERER = Option(
    name="answerer",
    type=option_types.NAME,
    default=(),
    help="ask this answerer the questions of instances with probes; repeatable (built in: constant, letters, "
    "log-probabilities, random, right, and every agent; others in crab.yaml)",
    many=True,
    short="--answerer",
    contestants=True,
)

PROBE = Option(
    name="probe",
    type=option_types.one_of(_PROBES),
    default=(),
    help=f"ask answerers this probe alone; repeatable ({', '.join(_PROBES)}; all of them unless one is named)",
    many=True,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options under their long names."""
    register_long(parser, (ANSWERER, PROBE))


@pytest.hookimpl(optionalhook=True)
def pytest_crab_options() -> Sequence[Option]:
    """Return the options."""
    return ANSWERER, PROBE


@pytest.hookimpl(optionalhook=True)
def pytest_crab_make_kind(run: Run, config: pytest.Config) -> Kind | None:
    """Return the answerers that the run names."""
    names = read_named(ANSWERER, config, run.settings)
    if not names:
        return None
    from pytest_crab.benchmarks.codereviewqa.run_plugins import answerers_of_run

    return answerers_of_run(names, read_named(PROBE, config, run.settings) or _PROBES, run, config)


@pytest.hookimpl(optionalhook=True)
def pytest_crab_make_items(instance: Instance, parent: pytest.Collector) -> Iterator[pytest.Item]:
    """Yield an item for each answerer and repeat, of an instance that has some of the probes that are asked."""
    runner = parent.config.pluginmanager.get_plugin("crab-probe-runner")
    if runner is not None:
        yield from runner.items_of(instance, parent)
