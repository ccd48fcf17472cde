"""The page on architecture follows a trial through the code in the order of a real run."""

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
SECTION = PAGE.partition("## A trial through the code")[2].partition("\n## ")[0]
#: The rows of the walk: hop or nothing, file, function.
WALK = re.findall(r"^\| (\d?) *\|[^|]+\| `(pytest_crab/[\w/.]+)` \| `([\w.]+)` \|$", SECTION, re.MULTILINE)


class Calls:
    """The functions of the walk in the order of their first call: those of pytest's thread, and those of others."""

    def __init__(self) -> None:
        self.main: dict[tuple[str, str], None] = {}
        self.others: dict[tuple[str, str], None] = {}
        self._names = {name.rpartition(".")[2] for _, _, name in WALK}

    def __call__(self, frame: FrameType, event: str, _value: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_name not in self._names or not code.co_filename.startswith(str(ROOT)):
            return
        own = type(frame.f_locals["self"]).__mro__ if "self" in frame.f_locals else ()
        name = next((f"{kind.__name__}.{code.co_name}" for kind in own if code.co_name in vars(kind)), code.co_name)
        is_main = threading.current_thread() is threading.main_thread()
        (self.main if is_main else self.others)[str(Path(code.co_filename).relative_to(ROOT)), name] = None


def test_there_are_at_most_eight_hops_from_the_collection_to_the_summary_line() -> None:
    hops = [int(hop) for hop, _, _ in WALK if hop]
    assert hops == list(range(1, len(hops) + 1))
    assert 1 < len(hops) <= 8
    assert (WALK[0][2], WALK[-1][2]) == ("InstanceFile.collect", "summary_lines")


@pytest.mark.bubblewrap
def test_a_run_takes_the_hops_of_the_page_in_their_order(bare: Any) -> None:
    calls = Calls()
    threading.setprofile(calls)
    sys.setprofile(calls)
    try:
        result = bare.run("--reviewer=both", "--agent=mine", "--crab-fail-under=0.1", "instances/shop-1")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    result.assert_outcomes(passed=1)
    walk = [(file, name) for _, file, name in WALK]
    assert [row for row in walk if row not in calls.main and row not in calls.others] == []
    for order in (calls.main, calls.others):
        assert [row for row in order if row in walk] == [row for row in walk if row in order]
