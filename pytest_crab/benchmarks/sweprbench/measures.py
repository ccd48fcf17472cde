"""SWE-PRBench's score of a review (arXiv 2603.26130, equation 2) and its aggregate, with every component.

``paper`` is the rule of the text, ``release`` what the published harness computes. The components that the paper names
and does not define are the release's under both rules.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from pytest_crab.statistics.signal import f_measure

#: The labels of a finding.
CONFIRMED, PLAUSIBLE, FABRICATED = LABELS = ("CONFIRMED", "PLAUSIBLE", "FABRICATED")

#: The rules by name.
PAPER, RELEASE = RULES = ("paper", "release")

#: The share of plausible findings above which more of them cost, and how many findings the release wants for that.
PLAUSIBLE_SHARE, FEWEST_FOR_PLAUSIBLE = 0.70, 3

#: Difficulties whose issues may lie outside the diff.
BEYOND_DIFF = ("Type2_Contextual", "Type3_Latent_Candidate")

#: How many samples an interval is drawn from (section 6.2), and the seed, so that it is always the same.
SAMPLES, SEED = 10_000, 20_260_326


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewCounts:
    """One judged review after matching: counts of human comments and of findings by their final label."""

    human: int
    confirmed: int = 0
    plausible: int = 0
    fabricated: int = 0
    #: Groups of findings that say the same.
    clusters: int = 0
    #: The mean similarity of matched pairs; 0 where there is none.
    alignment: float = 0.0
    #: The mean of the judge's scores from 1 to 5; None where there is none.
    actionability: float | None = None
    #: Whether the reviewer's answer could not be read.
    unreadable: bool = False
    #: Whether the judge's could not.
    fallback: bool = False

    @property
    def agent(self) -> int:
        """The number of findings."""
        return self.confirmed + self.plausible + self.fabricated


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewScore:
    """The score of one review and its components, each from 0 to 1."""

    recall: float
    precision: float
    alignment: float
    #: Not yet discounted.
    actionability: float
    efficiency: float
    hallucination: float
    redundancy: float
    plausible_penalty: float
    f1: float
    #: 1 where a human comment was found at all.
    coverage: float
    #: The score.
    overall: float
    #: ln(human + 1).
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSummary:
    """Reviews together."""

    reviews: int
    #: What the rule calls its result: the weighted mean, or in the release the plain one.
    headline: float
    #: The mean score by weight.
    weighted: float
    #: The lower end of its 95% interval.
    low: float | None
    #: The upper end.
    high: float | None
    #: The means of all components, all reviews alike.
    means: ReviewScore


def score_review(counts: ReviewCounts, rule: str = PAPER) -> ReviewScore:
    """Return the score of a review by equation 2.

    An unreadable review scores 0, and so does one without findings; a judge's fallback halves the score. The release
    gives an unreadable review every penalty as well, which its means of components show.
    """
    agent = counts.agent
    of_agent = agent or 1
    recall = counts.confirmed / counts.human if counts.human else 0.0
    precision = counts.confirmed / of_agent
    score = ReviewScore(
        recall=recall,
        precision=precision,
        alignment=counts.alignment,
        actionability=0.0 if counts.actionability is None else (counts.actionability - 1) / 4,
        efficiency=precision,
        hallucination=counts.fabricated / of_agent,
        redundancy=(agent - counts.clusters) / of_agent,
        plausible_penalty=plausible_penalty(counts.plausible, agent, rule),
        f1=f_measure(precision, recall) or 0.0,
        coverage=float(counts.confirmed > 0),
        overall=0.0,
        weight=math.log(counts.human + 1),
    )
    if counts.unreadable and rule == RELEASE:
        return dataclasses.replace(score, redundancy=1.0, plausible_penalty=1.0)
    return score if counts.unreadable or not agent else _with_overall(score, fallback=counts.fallback)


def _with_overall(score: ReviewScore, *, fallback: bool) -> ReviewScore:
    useful = score.actionability if score.coverage else 0.2 * score.actionability
    total = (
        0.40 * score.recall
        + 0.25 * score.precision
        + 0.15 * score.alignment
        + 0.10 * useful
        + 0.05 * score.efficiency
        - 0.25 * score.hallucination
        - 0.15 * score.redundancy
        - 0.10 * score.plausible_penalty
    )
    return dataclasses.replace(score, overall=max(0.0, min(1.0, total / 2 if fallback else total)))


def plausible_penalty(plausible: int, agent: int, rule: str = PAPER) -> float:
    """Return by how much the share of plausible findings exceeds 0.7; the release asks for at least three findings."""
    if not agent or (rule == RELEASE and agent < FEWEST_FOR_PLAUSIBLE):
        return 0.0
    return max(0.0, plausible / agent - PLAUSIBLE_SHARE)


def adjacent_detection(outside_diff: int, agent: int, difficulty: str, rule: str = PAPER) -> float:
    """Return the share of findings outside the diff, of a pull request whose issues may lie there.

    The release looks for a context of another name than its data have, so there it is always 0.
    """
    return outside_diff / agent if agent and difficulty in BEYOND_DIFF and rule != RELEASE else 0.0


def summarise_scores(
    scores: Sequence[ReviewScore], pull_requests: Sequence[Hashable], rule: str = PAPER, *, samples: int = SAMPLES
) -> ScoreSummary:
    """Return the summary of at least one review; the interval resamples ``pull_requests``, one for each score.

    If all weights are 0 the weighted mean is the plain one. One pull request alone has no interval.
    """
    names = [field.name for field in dataclasses.fields(ReviewScore)]
    means = ReviewScore(**{name: math.fsum(getattr(score, name) for score in scores) / len(scores) for name in names})
    groups: dict[Hashable, tuple[float, float, float, int]] = {}
    for score, name in zip(scores, pull_requests, strict=True):
        weighted, weights, total, count = groups.get(name, (0.0, 0.0, 0.0, 0))
        groups[name] = (
            weighted + score.overall * score.weight,
            weights + score.weight,
            total + score.overall,
            count + 1,
        )
    sums = list(groups.values())
    weighted = _weighted_mean(sums)
    low, high = _interval(sums, samples) if len(sums) > 1 else (None, None)
    headline = means.overall if rule == RELEASE else weighted
    return ScoreSummary(reviews=len(scores), headline=headline, weighted=weighted, low=low, high=high, means=means)


def _weighted_mean(sums: Sequence[tuple[float, float, float, int]]) -> float:
    weighted, weights, total, count = (math.fsum(column) for column in zip(*sums, strict=True))
    return weighted / weights if weights else total / count


def _interval(sums: Sequence[tuple[float, float, float, int]], samples: int) -> tuple[float, float]:
    drawn = random.Random(SEED)  # noqa: S311 - statistics, no secret
    found = sorted(_weighted_mean(drawn.choices(sums, k=len(sums))) for _ in range(samples))
    edge = samples * 25 // 1000
    return found[edge], found[-1 - edge]
