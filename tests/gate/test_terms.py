from __future__ import annotations

import pytest

from pytest_crab.gate.terms import GateTerms


@pytest.mark.parametrize(
    ("looks", "look", "level"), [(1, None, 0.95), (5, None, 0.99), (1, 1, 0.95), (2, 1, 0.9875), (5, 1, 0.998)]
)
def test_a_look_has_its_part_of_the_chance_of_an_error(looks: int, look: int | None, level: float) -> None:
    """Evenly, or by the square of the share of the data that the first look has seen (Kim and DeMets 1987)."""
    assert GateTerms(looks=looks, look=look).level == pytest.approx(level, abs=1e-6)


def test_the_last_look_has_nearly_the_whole_chance() -> None:
    assert 0.95 < GateTerms(looks=5, look=5).level < 0.97
