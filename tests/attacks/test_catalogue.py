"""The lists themselves: how many of each class there are, and that the page tells what they hold."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hostile import table
from hostile.catalogue import ATTACKS, REFUSALS, RESIDUAL, REVISIONS
from hostile.shape import Kind

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "defences.md"


def test_there_are_at_least_sixty_and_three_of_each_class() -> None:
    counted = Counter(attack.kind for attack in ATTACKS)
    assert len(ATTACKS) >= 60
    assert {kind.name: counted[kind] for kind in Kind if counted[kind] < 3} == {}


def test_each_has_a_name_of_its_own() -> None:
    names = [thing.name for thing in (*ATTACKS, *RESIDUAL)]
    assert [name for name, count in Counter(names).items() if count > 1] == []


@pytest.mark.parametrize("name", table.BLOCKS)
def test_the_page_is_as_the_lists_are(name: str) -> None:
    text = PAGE.read_text("utf-8")
    assert table.block(text, name) == table.BLOCKS[name](), f"run python {Path(table.__file__).name} in its folder"


def test_what_was_measured_are_the_attacks_of_the_lists() -> None:
    seen = table.measured()
    assert seen.keys() == {thing.name for thing in (*ATTACKS, *RESIDUAL)}
    assert {attack.name for attack in REVISIONS if "recorded" not in seen[attack.name]} == set()
    wrong = {name for name, facts in seen.items() if not facts.get("live", True) or not facts.get("refused", True)}
    assert wrong == set()
    told = {attack.name: attack.recorded for attack in ATTACKS if "recorded" in seen[attack.name]}
    assert {name: seen[name]["recorded"] for name in told} == told


def test_what_stands_for_a_kind_of_refusal_was_seen_in_a_whole_run() -> None:
    seen = table.measured()
    told = {attack.becomes for attack in REFUSALS if "recorded" in seen[attack.name]}
    assert {attack.becomes for attack in REFUSALS} - told == {"an error in one sentence"}


def test_a_class_of_the_page_is_one_line() -> None:
    lines = table.refused().splitlines()[2:-1]
    assert len(lines) == len(Kind)
    assert sum(int(re.split(r" \| ", line)[1]) for line in lines) == len(ATTACKS)


def report_of(*told: dict[str, object]) -> pytest.TestReport:
    properties = [("attack", facts) for facts in told]
    return pytest.TestReport("x", ("x", 0, "x"), {}, "passed", None, "teardown", user_properties=properties)


def test_an_attack_that_is_taken_for_right_anywhere_is_counted_as_that() -> None:
    collector = table.Collector()
    for refused in (True, False, True):
        collector.pytest_runtest_logreport(report_of({"name": "a", "refused": refused}))
    collector.pytest_runtest_logreport(report_of({"name": "a", "live": True}))
    collector.pytest_runtest_logreport(report_of({"name": "b", "recorded": "left out"}, {"name": "c", "live": False}))
    assert collector.seen == {
        "a": {"refused": False, "live": True},
        "b": {"recorded": "left out"},
        "c": {"live": False},
    }
