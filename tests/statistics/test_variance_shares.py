from __future__ import annotations

import math
import random

import pytest

from pytest_crab.statistics.variance_shares import RepeatedOracle, narrowing, variance_shares


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
                reviews = tuple((int(at < caught), 1) for at in range(4))
                found.append(RepeatedOracle(repo=f"r{at}", pull=f"i{number}", reviews=reviews))
    return found


@pytest.mark.parametrize(
    "parts", [(0.3, 0.1, 0.05), (0.0, 0.3, 0.1), (0.1, 0.0, 0.4), (0.0, 0.0, 0.5), (0.0, 0.0, 0.0)]
)
def test_shares_are_those_that_were_drawn(parts: tuple[float, float, float]) -> None:
    """A two-point effect of size x has the variance x * x; the rest of 1/4 is the noise between runs."""
    truth = [part * part / 0.25 for part in parts]
    truth.append(1 - sum(truth))
    assert list(variance_shares(drawn(*parts)).values()) == pytest.approx(truth, abs=0.04)


def revised(reviewer: float, oracle: float, reviews: int, revisions: int) -> list[RepeatedOracle]:
    """Oracles whose chance is 1/2 plus or minus so much for the oracle, and for each of its reviews."""
    source, found = random.Random(2), []
    for at in range(4000):
        of_oracle = source.choice((-oracle, oracle))
        chances = [0.5 + of_oracle + source.choice((-reviewer, reviewer)) for _ in range(reviews)]
        counts = tuple((sum(source.random() < chance for _ in range(revisions)), revisions) for chance in chances)
        found.append(RepeatedOracle(repo=f"r{at}", pull="i", reviews=counts))
    return found


@pytest.mark.parametrize(("reviewer", "oracle"), [(0.3, 0.2), (0.0, 0.4), (0.4, 0.0), (0.1, 0.1)])
def test_the_agents_noise_is_told_from_the_reviewers(reviewer: float, oracle: float) -> None:
    truth = {"oracle": oracle * oracle * 4, "reviewer": reviewer * reviewer * 4}
    found = variance_shares(revised(reviewer, oracle, 3, 2))
    assert {name: found[name] for name in truth} == pytest.approx(truth, abs=0.04)
    assert found["agent"] == pytest.approx(1 - sum(truth.values()), abs=0.04)


def test_with_one_review_the_reviewers_noise_is_in_the_oracles_share() -> None:
    found = variance_shares(revised(0.3, 0.2, 1, 3))
    assert "reviewer" not in found
    assert found["agent"] == pytest.approx(1 - 4 * (0.09 + 0.04), abs=0.04)
    assert found["oracle"] == pytest.approx(4 * (0.09 + 0.04), abs=0.04)


def test_more_revisions_gain_what_the_agents_noise_allows() -> None:
    """The variance of a mean over 2 reviews with 2 revisions each: oracle + reviewer / 2 + agent / 4, per oracle."""
    reviewer, oracle = 0.3, 0.2
    agent = 0.25 - reviewer**2 - oracle**2
    whole = oracle**2 + reviewer**2 / 2 + agent / 4
    found = narrowing(revised(reviewer, oracle, 2, 2), review_price=2.0)
    truth = {
        "instances": 1 - math.sqrt(0.5),
        "repeats": 1 - math.sqrt((oracle**2 + reviewer**2 / 4 + agent / 8) / whole),
        # the money of 2 reviews at 2 and 4 revisions at 1 buys 8 revisions: 6 of each review in place of 2
        "revisions": 1 - math.sqrt((oracle**2 + reviewer**2 / 2 + agent / 12) / whole),
    }
    assert found == pytest.approx(truth, abs=0.02)


def test_repeats_gain_as_much_as_the_noise_allows() -> None:
    steady, noisy = narrowing(drawn(0.0, 0.0, 0.5)), narrowing(drawn(0.0, 0.0, 0.0))
    half = 1 - math.sqrt(0.5)
    assert steady == pytest.approx({"instances": half, "repeats": 0.0}, abs=1e-9)
    assert noisy == pytest.approx({"instances": half, "repeats": half}, abs=0.03)


def test_verdicts_that_are_all_the_same_have_no_shares() -> None:
    same = [RepeatedOracle(repo="r", pull="i", reviews=((2, 2),))] * 3
    assert variance_shares(same) == {}
    assert narrowing(same) is None
