from __future__ import annotations

import pytest

from pytest_crab.gate.terms import GateTerms


@pytest.mark.parametrize(("looks", "level"), [(1, 0.95), (5, 0.99)])
def test_a_look_has_its_part_of_the_chance_of_an_error(looks: int, level: float) -> None:
    assert GateTerms(looks=looks).level == pytest.approx(level)
