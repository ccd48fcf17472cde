"""The last lines that a run prints: those within lines of JSON are shown as lines."""

from __future__ import annotations

import json

from pytest_crab.curation import last_lines


def test_of_a_line_of_json_the_texts_are_told_that_are_lines() -> None:
    event = {"Action": "output", "Package": "shop", "Output": "a.go:3: undefined: b\n"}
    message = {"reason": "message", "message": {"code": {"code": "E1"}, "rendered": "error\n --> a.rs:1\n"}}
    printed = "\n".join([json.dumps(event), "{ no json", json.dumps(message), "plain"])
    told = [line for line in last_lines._texts(printed) if line]
    assert told == ["a.go:3: undefined: b", "{ no json", "error", " --> a.rs:1", "plain"]


def test_of_a_stack_the_innermost_place_is_told() -> None:
    """Else the end would hold nothing but the frames of the runner."""
    frames = [f"    at run (file:///workspace/node_modules/runner/{line}.js:1:1)" for line in range(20)]
    stack = ["TypeError: a is undefined", "    at /workspace/tests/a.ts:3:1", *frames]
    told = [*last_lines._without_stacks([*stack, *stack])]
    assert told == 2 * stack[:2]


def test_lines_of_a_build_are_told_whole() -> None:
    lines = [f"a.c:{number}:1: error: {'x' * 300}" for number in range(9)]
    told = [*last_lines._first(lines)]
    assert 1 < len(told) < len(lines)
    assert told == lines[: len(told)]
    (long,) = last_lines._first(["y" * 10_000])
    assert long.endswith("...")
    assert len(long) < 2_000
