"""The lists themselves: how many of each class there are, and that the page tells what they hold."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hostile import table
from hostile.catalogue import ATTACKS
from hostile.catalogue import FIRST_RUN
from hostile.catalogue import RESIDUAL
from hostile.second_pair import SECOND_PAIR
from hostile.shape import Kind

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "trust.md"


def test_there_are_at_least_sixty_and_three_of_each_class() -> None:
    counted = Counter(attack.kind for attack in ATTACKS)
    assert len(ATTACKS) >= 60
    assert {kind.name: counted[kind] for kind in Kind if counted[kind] < 3} == {}


def test_each_has_a_name_of_its_own() -> None:
    names = [thing.name for thing in (*ATTACKS, *RESIDUAL)]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_what_the_second_pair_of_eyes_saw_first_is_kept() -> None:
    assert {attack.name for attack in SECOND_PAIR} <= set(FIRST_RUN)
    assert set(FIRST_RUN) <= {thing.name for thing in (*ATTACKS, *RESIDUAL)}
    assert set(FIRST_RUN.values()) <= {"refused", "succeeded"}


@pytest.mark.parametrize("name", table.BLOCKS)
def test_the_page_is_as_the_lists_are(name: str) -> None:
    text = PAGE.read_text("utf-8")
    assert table.block(text, name) == table.BLOCKS[name](), f"run python {Path(table.__file__).name} in its folder"


def test_a_class_of_the_page_is_one_line() -> None:
    lines = table.refused().splitlines()[2:-1]
    assert len(lines) == len(Kind)
    assert sum(int(re.split(r" \| ", line)[1]) for line in lines) == len(ATTACKS)
