"""The page on architecture follows a trial and a gate decision through the code in the order of a real run."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")


def walk_of(subject: str) -> list[tuple[str, str, str]]:
    """The rows of the walk of a subject: hop or nothing, file, function."""
    section = PAGE.partition(f"## A {subject} through the code")[2].partition("\n## ")[0]
    return re.findall(r"^\| (\d?) *\|[^|]+\| `(pytest_crab/[\w/.]+)` \| `([\w.]+)` \|$", section, re.MULTILINE)


TRIAL, DECISION = walk_of("trial"), walk_of("gate decision")


class Calls:
    """The functions of the walk in the order of their first call: those of pytest's thread, and those of others."""

    def __init__(self) -> None:
        self.main: dict[tuple[str, str], None] = {}
        self.others: dict[tuple[str, str], None] = {}
        self._names = {name.rpartition(".")[2] for _, _, name in (*TRIAL, *DECISION)}

    def __call__(self, frame: FrameType, event: str, _value: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_name not in self._names or not code.co_filename.startswith(str(ROOT)):
            return
        own = type(frame.f_locals["self"]).__mro__ if "self" in frame.f_locals else ()
        own = frame.f_locals["cls"].__mro__ if "cls" in frame.f_locals else own
        name = next((f"{kind.__name__}.{code.co_name}" for kind in own if code.co_name in vars(kind)), code.co_name)
        is_main = threading.current_thread() is threading.main_thread()
        (self.main if is_main else self.others)[str(Path(code.co_filename).relative_to(ROOT)), name] = None


@pytest.mark.parametrize(
    ("walk", "ends"),
    [
        (TRIAL, ("InstanceFile.collect", "summary_lines")),
        (DECISION, ("load_reference", "Outcomes.pytest_terminal_summary")),
    ],
    ids=["trial", "decision"],
)
def test_there_are_at_most_eight_hops(walk: list[tuple[str, str, str]], ends: tuple[str, str]) -> None:
    hops = [int(hop) for hop, _, _ in walk if hop]
    assert hops == list(range(1, len(hops) + 1))
    assert 1 < len(hops) <= 8
    assert (walk[0][2], walk[-1][2]) == ends


def calls_of(lab: Any, *arguments: str) -> Calls:
    """What a run that passes calls of the walks."""
    calls = Calls()
    threading.setprofile(calls)
    sys.setprofile(calls)
    try:
        result = lab.run("--reviewer=both", "--agent=mine", *arguments, "instances/shop-1")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    result.assert_outcomes(passed=1)
    return calls


@pytest.mark.bubblewrap
def test_runs_take_the_hops_of_the_page_in_their_order(bare: Any) -> None:
    first = calls_of(bare, "--crab-fail-under=0.1", "--crab-report=good")
    second = calls_of(bare, "--crab-baseline=good", "--crab-fail-on=worse")
    for calls, rows in ((first, TRIAL), (second, DECISION)):
        walk = [(file, name) for _, file, name in rows]
        assert [row for row in walk if row not in calls.main and row not in calls.others] == []
        for order in (calls.main, calls.others):
            assert [row for row in order if row in walk] == [row for row in walk if row in order]
