"""SWE-PRBench's two-stage matching of judged findings with human comments (arXiv 2603.26130, appendix C).

First the judge's own pairs are taken, then those that a similarity of texts finds among what is left. ``paper`` is the
rule of the text, ``release`` what the published harness does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_crab.benchmarks.sweprbench.measures import CONFIRMED, FABRICATED, PAPER, PLAUSIBLE, RELEASE, ReviewCounts
from pytest_crab.scoring.location import Place
from pytest_crab.scoring.similarity import Similarity

#: A pair with less affinity is none; findings more alike than this are one cluster.
LEAST_AFFINITY, SAME_CLUSTER = 0.30, 0.65

#: The release scores so many findings of a review at most, and adds this much for lines that are so near.
MOST_FINDINGS, NEAR_LINES = 30, ((8, 0.10), (20, 0.05))

#: The judge's score of a finding that it gave none.
MIDDLE_ACTIONABILITY = 3.0

_WORD = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledFinding:
    """A finding as the judge labelled it."""

    text: str
    place: Place
    label: str
    #: The human comments, counted from 0, that the judge says confirm it.
    matched: tuple[int, ...] = ()
    #: From 1 to 5.
    actionability: float = MIDDLE_ACTIONABILITY
    #: Whether an answer on it was none of the labels.
    unreadable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedReview:
    """One judged review after matching."""

    #: The final label of each finding.
    labels: tuple[str, ...]
    #: Each is of a finding and a human comment, with their similarity.
    pairs: tuple[tuple[int, int, float], ...]
    #: What the score is made of.
    counts: ReviewCounts


def match_review(
    findings: Sequence[LabelledFinding], humans: Sequence[tuple[str, Place]], similar: Similarity, rule: str = PAPER
) -> MatchedReview:
    """Match the findings of a review with the human comments, each with its place, one to one in two stages."""
    if rule == RELEASE:
        findings = findings[:MOST_FINDINGS]
    likeness = [[similar(finding.text, text) for text, _ in humans] for finding in findings]
    affinity = [
        [_affinity(alike, finding.place, place, rule) for alike, (_, place) in zip(row, humans, strict=True)]
        for finding, row in zip(findings, likeness, strict=True)
    ]
    pairs = _pair_off(_judged_pairs(findings, likeness, affinity, rule), {})
    pairs = _pair_off(_similar_pairs(findings, affinity, rule), pairs)
    labels = [
        CONFIRMED if at in pairs else FABRICATED if finding.label == FABRICATED else PLAUSIBLE
        for at, finding in enumerate(findings)
    ]
    alignments = [likeness[at][human] for at, human in pairs.items()]
    scores = [finding.actionability for finding in findings]
    return MatchedReview(
        labels=tuple(labels),
        pairs=tuple((at, human, likeness[at][human]) for at, human in sorted(pairs.items())),
        counts=ReviewCounts(
            human=len(humans),
            confirmed=labels.count(CONFIRMED),
            plausible=labels.count(PLAUSIBLE),
            fabricated=labels.count(FABRICATED),
            clusters=count_clusters([finding.text for finding in findings], similar),
            alignment=math.fsum(alignments) / len(alignments) if alignments else 0.0,
            actionability=math.fsum(scores) / len(scores) if scores else None,
            fallback=any(finding.unreadable for finding in findings),
        ),
    )


def _judged_pairs(
    findings: Sequence[LabelledFinding],
    likeness: Sequence[Sequence[float]],
    affinity: Sequence[Sequence[float]],
    rule: str,
) -> Iterator[tuple[int, int]]:
    """Yield the judge's pairs, the most actionable and then the most alike first; the paper wants affinity as well."""
    named = [
        (at, human) for at, finding in enumerate(findings) for human in finding.matched if finding.label == CONFIRMED
    ]
    for at, human in sorted(named, key=lambda pair: (-findings[pair[0]].actionability, -likeness[pair[0]][pair[1]])):
        if rule == RELEASE or affinity[at][human] >= LEAST_AFFINITY:
            yield at, human


def _similar_pairs(
    findings: Sequence[LabelledFinding], affinity: Sequence[Sequence[float]], rule: str
) -> Iterator[tuple[int, int]]:
    """Yield the pairs with enough affinity, the nearest first; the paper leaves fabricated findings out."""
    found = [
        (at, human)
        for at, row in enumerate(affinity)
        if rule == RELEASE or findings[at].label != FABRICATED
        for human, near in enumerate(row)
        if near >= LEAST_AFFINITY
    ]
    yield from sorted(found, key=lambda pair: -affinity[pair[0]][pair[1]])


def _pair_off(candidates: Iterable[tuple[int, int]], pairs: dict[int, int]) -> dict[int, int]:
    """Return the pairs with those candidates added whose two sides are free, in order."""
    pairs = dict(pairs)
    for at, human in candidates:
        if at not in pairs and human not in pairs.values():
            pairs[at] = human
    return pairs


def _affinity(alike: float, finding: Place, human: Place, rule: str) -> float:
    """Return the affinity of a pair; the paper does not say what near lines add, so they add nothing there."""
    same_file = finding.path is not None and finding.path == human.path
    near = 0.0
    if rule == RELEASE and same_file and finding.lines is not None and human.lines is not None:
        apart = abs(finding.lines[0] - human.lines[0])
        near = next((bonus for most, bonus in NEAR_LINES if apart <= most), 0.0)
    return max(0.0, min(1.0, alike + 0.15 * same_file + near))


def count_clusters(texts: Sequence[str], similar: Similarity) -> int:
    """Return how many clusters texts form: each joins the first one whose first text is like it, or opens a new one."""
    first: list[str] = []
    for text in texts:
        if not any(similar(known, text) >= SAME_CLUSTER for known in first):
            first.append(text)
    return len(first)


def word_overlap(one: str, other: str) -> float:
    """Return the share of words that two texts have in common (Jaccard): the release's measure without a model."""
    first, second = ({word.lower() for word in _WORD.findall(text)} for text in (one, other))
    return len(first & second) / len(first | second) if first and second else 0.0
