"""Agents as mediators of reviews: where several act on the same reviews, how much of a rate is the agent's."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crab.results.outcomes import OracleRecord
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.statistics.comparison import Key
from pytest_crab.statistics.crossed_shares import CrossedCell, Place, crossed_shares
from pytest_crab.statistics.rank_agreement import FEWEST, RankAgreement, rank_agreement
from pytest_crab.statistics.shares import Share

#: The name of what an agent resolves from the human's comment.
FROM_HUMAN = "from human"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """The results of one agent over several reviewers."""

    agent: str
    #: Its rate by reviewer, over the oracles known everywhere.
    rates: Mapping[str, float] = field(default_factory=dict)
    #: The mean of these rates.
    mean: float | None = None
    #: The share that it resolves from the human's comment, of the oracles so marked by ``certify --agent``, or else of
    #: those that the reviewer ``human`` had; None: neither is on record.
    human: Share | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPair:
    """Two agents on the same reviews."""

    one: str
    other: str
    #: How far they rank the reviewers alike, over the oracles known everywhere.
    ranks: RankAgreement


@dataclass(frozen=True, slots=True, kw_only=True)
class Mediators:
    """Several agents on the same reviews. Reviewers that are shown the answer count in ``human`` alone."""

    reviewers: tuple[str, ...]
    agents: tuple[AgentResult, ...]
    #: The oracles known of every reviewer with every agent.
    oracles: int
    #: The word for one of ``oracles``.
    counted: str = "oracle"
    pairs: tuple[AgentPair, ...] = ()
    #: The shares of reviewer, agent, instance, combination and repeat in the variance of a verdict.
    shares: Mapping[str, float] = field(default_factory=dict)


def mediators(rows: Sequence[ReviewerSummary]) -> Mediators | None:
    """Compare the agents of a run; None where no reviews were acted on by several."""
    shared = [own for own in rows if own.review_by is not None and own.variant is None]
    agents = list(dict.fromkeys(agent for own in shared for agent in own.agents))
    if len(agents) < 2:
        return None
    honest = {
        (own.review_by or "", own.agents[0]): {oracle.key: oracle for oracle in own.oracles}
        for own in shared
        if own.reviewer not in own.privileged
    }
    reviewers = tuple(dict.fromkeys(reviewer for reviewer, _ in honest))
    cells = _cells(honest) if len(honest) == len(reviewers) * len(agents) else {}
    repos = {oracle.key: oracle.repo for own in honest.values() for oracle in own.values()}
    results = tuple(_result(agent, rows, cells) for agent in agents)
    return Mediators(
        reviewers=reviewers,
        agents=results,
        oracles=len({key for _, _, key in cells}),
        counted="oracle" if any(own.counted == "oracle" for own in shared) else "comment",
        pairs=tuple(
            AgentPair(one=one, other=other, ranks=_ranks(one, other, reviewers, cells, repos))
            for one, other in itertools.combinations(agents, 2)
        ),
        shares=crossed_shares(cells) if cells else {},
    )


def _cells(honest: Mapping[tuple[str, str], Mapping[Key, OracleRecord]]) -> dict[Place, CrossedCell]:
    """Return the known runs of every combination, of those oracles that are known in all of them."""
    found: dict[Place, CrossedCell] = {}
    for (reviewer, agent), own in honest.items():
        for key, oracle in own.items():
            counts = oracle.counts()
            if counts.value is not None:
                found[reviewer, agent, key] = CrossedCell(counts.caught, counts.caught + counts.missed)
    times = Counter(key for _, _, key in found)
    return {place: cell for place, cell in found.items() if times[place[2]] == len(honest)}


def _result(agent: str, rows: Sequence[ReviewerSummary], cells: Mapping[Place, CrossedCell]) -> AgentResult:
    values: dict[str, list[float]] = {}
    for (reviewer, name, _), cell in cells.items():
        if name == agent:
            values.setdefault(reviewer, []).append(cell.value)
    rates = {reviewer: sum(own) / len(own) for reviewer, own in values.items()}
    return AgentResult(
        agent=agent,
        rates=rates,
        mean=sum(rates.values()) / len(rates) if rates else None,
        human=_from_human(agent, rows),
    )


def _from_human(agent: str, rows: Sequence[ReviewerSummary]) -> Share | None:
    own = [row for row in rows if agent in row.agents and row.variant is None]
    marks = {oracle.key: oracle.resolvable for row in own for oracle in row.oracles if oracle.resolvable is not None}
    if marks:
        return Share(part=sum(marks.values()), known=len(marks))
    human = [row.overall for row in own if row.review_by == "human"]
    return Share(part=float(human[0].caught), known=human[0].known) if human else None


def _ranks(
    one: str, other: str, reviewers: Sequence[str], cells: Mapping[Place, CrossedCell], repos: Mapping[Key, str]
) -> RankAgreement:
    if len(reviewers) < FEWEST or not cells:
        return RankAgreement(tau=None)
    clusters: dict[str, list[tuple[int, float, float]]] = {}
    for (reviewer, agent, key), mine in cells.items():
        if agent == one:
            values = mine.value, cells[reviewer, other, key].value
            clusters.setdefault(repos[key], []).append((reviewers.index(reviewer), *values))
    return rank_agreement(clusters.values(), len(reviewers))
