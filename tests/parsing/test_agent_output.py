from __future__ import annotations

import json

import pytest

from pytest_crab.parsing.agent_output import AgentOutput, read_agent_output
from pytest_crab.types import Usage


def test_usage_and_notes_are_read() -> None:
    text = json.dumps({"schema": 1, "usage": {"input_tokens": 4}, "notes": " Did it. "})
    assert read_agent_output(text) == AgentOutput(usage=Usage(input_tokens=4), notes="Did it.")


@pytest.mark.parametrize("text", ["", "  \n", '{"schema": 1}'])
def test_saying_nothing_is_fine(text: str) -> None:
    assert read_agent_output(text) == AgentOutput()


@pytest.mark.parametrize(
    "text", ["All done.", "[1]", '{"usage": {}}', '{"schema": 1, "usage": 7}', '{"schema": 1, "notes": ["x"]}']
)
def test_anything_else_is_notes(text: str) -> None:
    assert read_agent_output(text) == AgentOutput(notes=text)


@pytest.mark.parametrize("usage", [{"cost_usd": 1e308}, {"output_tokens": -1}, {"cost_usd": float("inf")}])
def test_a_usage_that_none_can_be_is_a_problem(usage: dict[str, float]) -> None:
    (name,) = usage
    remarks = read_agent_output(json.dumps({"schema": 1, "usage": usage, "notes": "Did it."}))
    assert name in remarks.problems[0]
    assert remarks.usage is None


def test_long_notes_are_cut() -> None:
    notes = read_agent_output("é" * 100_000).notes
    assert notes is not None
    assert len(notes.encode()) == 64 * 1024
