"""An oracle with parts is proved part by part, and a verdict says which are resolved."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_crab.types import Reason, Verdict

TWO_THINGS = (
    "import name\nimport value\n\n\ndef test_value():\n    assert value.value() == 3\n\n\n"
    'def test_name():\n    assert name.name() == "c"\n'
)
VALUE, NAME = "def value():\n    return 3\n", 'def name():\n    return "c"\n'


def asking(lab: Any, *parts: tuple[str, str]) -> None:
    """Give the first oracle these parts, each a sentence and a test."""
    listed = [{"asks": asks, "tests": [test]} for asks, test in parts]
    lab.document["comments"][0]["oracle"] = {"file": "oracles/test_c0.py", "parts": listed}
    lab.put("oracles/test_c0.py", TWO_THINGS)


@pytest.mark.bubblewrap
def test_half_of_a_concern_is_a_miss_that_says_which_half(lab: Any) -> None:
    asking(lab, ("the value is three", "test_value"), ("the name is c", "test_name"))
    lab.acting({"value.py": VALUE})
    half = lab.trial().results[0]
    assert (half.verdict, half.reason) == (Verdict.MISSED, Reason.FAILED)
    assert (half.detail or "").startswith("part 2 of 2 is not resolved: the name is c (test_c0.py::test_name failed")
    assert [(part.asks, part.resolved) for part in half.parts] == [
        ("the value is three", True),
        ("the name is c", False),
    ]
    lab.acting({"value.py": VALUE, "name.py": NAME})
    trial = lab.trial()
    assert [result.verdict for result in trial.results] == [Verdict.CAUGHT, Verdict.CAUGHT]  # one verdict a comment
    assert all(part.resolved for part in trial.results[0].parts)


@pytest.mark.bubblewrap
def test_a_part_that_no_test_sees_is_not_proved(lab: Any) -> None:
    asking(lab, ("the value is three", "test_value"), ("the name is c", "test_nothing"))
    trial = lab.trial()
    assert lab.reasons(trial)["c0"] == "broken"
    assert "part 2 of 2 (the name is c)" in (trial.error or "")
