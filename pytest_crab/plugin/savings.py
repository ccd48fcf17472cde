"""Saves trials under a gate: ends a decided run (--crab-gate-stop), and draws stable instances (--crab-screen)."""

from __future__ import annotations

from collections import Counter

import pytest

from pytest_crab.gate.looks import GateLooks
from pytest_crab.gate.results import GateResult
from pytest_crab.gate.screening import Screen
from pytest_crab.plugin.gate import RunGate
from pytest_crab.plugin.items import TrialItem
from pytest_crab.plugin.option_table import Options
from pytest_crab.plugin.recorder import RunRecorder
from pytest_crab.plugin.selection import deselect


def require_savings(options: Options, config: pytest.Config) -> None:
    """Raise pytest.UsageError where --crab-gate-stop or --crab-screen is asked for and cannot work."""
    faults = {
        "it needs --crab-baseline": not options.baselines,
        "a floor (--crab-fail-under) is for all oracles": options.fail_under is not None,
        "leave out pytest-xdist's -n: --crab-jobs runs trials at a time": getattr(config.option, "dist", "no") != "no",
        "--crab-gate-stop needs --crab-gate-looks=N with N from 2 on": options.gate_stop and options.gate_looks < 2,
        "use either of --crab-gate-stop and --crab-screen": options.gate_stop and options.screen is not None,
        "--crab-screen=0 would run nothing that was stable": options.screen == 0,
    }
    asked = "--crab-gate-stop" if options.gate_stop else "--crab-screen"
    for fault, is_so in faults.items():
        if (options.gate_stop or options.screen is not None) and is_so:
            raise pytest.UsageError(f"{asked} cannot save trials here: {fault}")


class Screening:
    """Deselects stable instances that were not drawn."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Draw among the instances that are left, and deselect the others."""
        instances = {item: item.instance.id for item in items if isinstance(item, TrialItem)}
        self._screen.draw(dict.fromkeys(instances.values()))
        deselect(config, items, {item for item, name in instances.items() if name in self._screen.left_out})


class EarlyEnd:
    """Puts repositories into random order, and looks at the gate at the end of each part of them."""

    def __init__(self, looks: GateLooks, gate: RunGate, recorder: RunRecorder) -> None:
        self._looks = looks
        self._gate = gate
        self._recorder = recorder

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Divide the repositories into parts, and put items in their order; what is no trial comes first."""
        instances = {item.instance.id: item.instance for item in items if isinstance(item, TrialItem)}
        oracles: Counter[str] = Counter()
        for instance in instances.values():
            oracles[instance.repo] += max(1, len(instance.with_oracles))
        self._looks.divide(oracles)
        places = {repo: place for place, repo in enumerate(self._looks.parts)}
        items.sort(key=lambda item: places[item.instance.repo] if isinstance(item, TrialItem) else -1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Before the first item of a part, when all items before it are recorded, look at the gate."""
        looks = self._looks
        if not isinstance(item, TrialItem) or looks.decided is not None or looks.is_due(item.instance.repo):
            return
        result = self._recorder.rule_so_far(self._gate)
        if result in (GateResult.PASSED, GateResult.FAILED):
            looks.decided = result
        else:
            looks.look = looks.parts[item.instance.repo]
