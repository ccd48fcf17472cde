"""The parts of a run that asks probes: they make items, run them, foresee them, record them and print the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_crab.benchmarks.codereviewqa.answerers import build_answerers
from pytest_crab.benchmarks.codereviewqa.cluster import WORK, AskedAnswerer
from pytest_crab.benchmarks.codereviewqa.forecast import ProbeForecaster
from pytest_crab.benchmarks.codereviewqa.recorder import ProbeRecorder
from pytest_crab.benchmarks.codereviewqa.runner import ProbeRunner
from pytest_crab.plugin.kinds import Kind, Run
from pytest_crab.plugin.options import runs_items, runs_trials

if TYPE_CHECKING:
    import pytest


def answerers_of_run(names: Sequence[str], probes: Sequence[str], run: Run, config: pytest.Config) -> Kind:
    """Return the answerers of a run as a kind of contestants. Raises pytest.UsageError."""
    answerers = build_answerers(names, run, config)
    is_worker = hasattr(config, "workerinput")
    asked = {name: AskedAnswerer(named=named, probes=tuple(probes)) for name, named in answerers.items()}
    runner = ProbeRunner(run, asked, probes, config)
    foresees = not is_worker and runs_items(config) and (run.options.plan or run.options.cluster is None)
    plugins: dict[str, object] = {"probe-runner": runner}
    if foresees:
        plugins["probe-forecaster"] = ProbeForecaster(run, answerers, probes, config)
    if runs_trials(run.options, config) and not is_worker:
        gate = None
        if run.options.gated:
            from pytest_crab.benchmarks.codereviewqa.gate import ProbeGate

            plugins["probe-gate"] = gate = ProbeGate(run, answerers)
        plugins["probe-recorder"] = ProbeRecorder(run, answerers, probes, gate, config)
    return Kind(
        description=f"answerers {', '.join(answerers)}",
        run_code=any(one.is_agent for one in answerers.values()),
        plugins=plugins,
        work=WORK,
        contestants=list(asked.values()),
    )
