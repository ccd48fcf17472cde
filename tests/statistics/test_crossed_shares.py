"""Variance shares of a crossed design, against known shares that were drawn and a table worked out by hand."""

from __future__ import annotations

import random

import pytest

from pytest_crab.statistics.crossed_shares import CrossedCell, crossed_shares


def drawn(sizes: dict[str, float], *, reviewers: int, agents: int, oracles: int, runs: int, seed: int) -> object:
    """Cells whose chance is 1/2 plus or minus so much for each source."""
    source = random.Random(seed)

    def effects(name: str, count: int) -> list[float]:
        return [source.choice((-1, 1)) * sizes.get(name, 0.0) for _ in range(count)]

    of_reviewer, of_agent, of_oracle = (
        effects("reviewer", reviewers),
        effects("agent", agents),
        effects("instance", oracles),
    )
    cells = {}
    for reviewer in range(reviewers):
        for agent in range(agents):
            for oracle in range(oracles):
                both = source.choice((-1, 1)) * sizes.get("combination", 0.0)
                chance = 0.5 + of_reviewer[reviewer] + of_agent[agent] + of_oracle[oracle] + both
                cells[(reviewer, agent, oracle)] = CrossedCell(sum(source.random() < chance for _ in range(runs)), runs)
    return cells


@pytest.mark.parametrize(
    "sizes",
    [
        {"reviewer": 0.2, "agent": 0.15, "instance": 0.1},
        {"instance": 0.3, "combination": 0.2},
        {"agent": 0.3, "combination": 0.1},
        {},
    ],
)
def test_shares_are_those_that_were_drawn(sizes: dict[str, float]) -> None:
    """A two-point effect of size x has the variance x * x; the rest of 1/4 is the noise between runs."""
    truth = {name: sizes.get(name, 0.0) ** 2 / 0.25 for name in ("reviewer", "agent", "instance", "combination")}
    truth["repeat"] = 1 - sum(truth.values())
    rounds = [
        crossed_shares(drawn(sizes, reviewers=12, agents=12, oracles=25, runs=2, seed=seed)) for seed in range(12)
    ]
    means = {name: sum(found[name] for found in rounds) / len(rounds) for name in truth}
    assert means == pytest.approx(truth, abs=0.05)


def test_a_table_by_hand() -> None:
    """Two reviewers, two agents, two oracles: the first reviewer catches all, the second nothing."""
    cells = {
        (one, agent, oracle): CrossedCell(int(one == "a"), 1) for one in "ab" for agent in "xy" for oracle in (1, 2)
    }
    assert crossed_shares(cells) == {"reviewer": 1.0, "agent": 0.0, "instance": 0.0, "combination or repeat": 0.0}


def test_one_reviewer_has_no_share() -> None:
    cells = {("a", agent, oracle): CrossedCell(int(oracle > 1), 1) for agent in "xy" for oracle in (1, 2, 3)}
    assert crossed_shares(cells) == {"agent": 0.0, "instance": 1.0, "combination or repeat": 0.0}


def test_cells_that_are_missing_are_refused_and_equal_verdicts_have_no_shares() -> None:
    cells = {(one, agent, 1): CrossedCell(1, 1) for one in "ab" for agent in "xy"}
    assert crossed_shares(cells) == {}
    del cells["a", "x", 1]
    with pytest.raises(ValueError, match="every reviewer"):
        crossed_shares(cells)


def test_an_interaction_of_two_is_a_combination() -> None:
    """Each reviewer is acted on by one of two agents alone: neither has a share of its own."""
    cells = {
        (one, agent, oracle): CrossedCell(int(one == agent), 1)
        for one in (0, 1)
        for agent in (0, 1)
        for oracle in (0, 1)
    }
    assert crossed_shares(cells) == {"reviewer": 0.0, "agent": 0.0, "instance": 0.0, "combination or repeat": 1.0}
