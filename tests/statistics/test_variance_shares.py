from __future__ import annotations

import math
import random

import pytest

from pytest_crab.statistics.variance_shares import RepeatedOracle
from pytest_crab.statistics.variance_shares import narrowing
from pytest_crab.statistics.variance_shares import variance_shares


def drawn(repo: float, pull: float, oracle: float, seed: int = 1) -> list[RepeatedOracle]:
    """Oracles whose chance of being caught is 1/2 plus or minus so much for each source; four runs each."""
    source, found = random.Random(seed), []
    for at in range(400):
        of_repo = source.choice((-repo, repo))
        for number in range(4):
            of_pull = source.choice((-pull, pull))
            for _ in range(3):
                chance = 0.5 + of_repo + of_pull + source.choice((-oracle, oracle))
                caught = sum(source.random() < chance for _ in range(4))
                found.append(RepeatedOracle(repo=f"r{at}", pull=f"i{number}", caught=caught, runs=4))
    return found


@pytest.mark.parametrize(
    "parts", [(0.3, 0.1, 0.05), (0.0, 0.3, 0.1), (0.1, 0.0, 0.4), (0.0, 0.0, 0.5), (0.0, 0.0, 0.0)]
)
def test_shares_are_those_that_were_drawn(parts: tuple[float, float, float]) -> None:
    """A two-point effect of size x has the variance x * x; the rest of 1/4 is the noise between runs."""
    truth = [part * part / 0.25 for part in parts]
    truth.append(1 - sum(truth))
    assert list(variance_shares(drawn(*parts)).values()) == pytest.approx(truth, abs=0.04)


def test_repeats_gain_as_much_as_the_noise_allows() -> None:
    steady, noisy = narrowing(drawn(0.0, 0.0, 0.5)), narrowing(drawn(0.0, 0.0, 0.0))
    half = 1 - math.sqrt(0.5)
    assert steady == pytest.approx({"instances": half, "repeats": 0.0}, abs=1e-9)
    assert noisy == pytest.approx({"instances": half, "repeats": half}, abs=0.03)


def test_verdicts_that_are_all_the_same_have_no_shares() -> None:
    same = [RepeatedOracle(repo="r", pull="i", caught=2, runs=2)] * 3
    assert variance_shares(same) == {}
    assert narrowing(same) is None
