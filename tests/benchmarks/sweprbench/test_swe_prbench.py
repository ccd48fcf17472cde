"""SWE-PRBench's rule: matching and equation 2 against a second implementation, and the release's own records."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.benchmarks.sweprbench.measures import (
    LABELS,
    ReviewCounts,
    adjacent_detection,
    plausible_penalty,
    score_review,
    summarise_scores,
)
from pytest_crab.benchmarks.sweprbench.scorer import LabelledFinding, count_clusters, match_review, word_overlap
from pytest_crab.scoring.location import Place

DATA = Path(__file__).parents[4] / "shared" / "data" / "sweprbench" / "first9_records.json"
sweprbench_data = pytest.mark.skipif(not DATA.is_file(), reason="../shared/data/sweprbench is not beside this checkout")


def comment(text: str, label: str = "PLAUSIBLE", *matched: int, **own: Any) -> LabelledFinding:
    place = Place(path=own.pop("path", "app.py"), lines=(own.pop("line", 1),) * 2)
    return LabelledFinding(text=text, place=place, label=label, matched=matched, **own)


# A second implementation, from the text of sections 5.2, 5.3 and appendix C, and of the release's description.


def second_score(
    findings: Sequence[LabelledFinding],
    humans: Sequence[tuple[str, Place]],
    like: dict[frozenset[str], float],
    rule: str,
) -> dict[str, float]:
    agents = list(findings)[: 30 if rule == "release" else len(findings)]
    sim = {
        (a, h): like[frozenset((agents[a].text, humans[h][0]))] for a in range(len(agents)) for h in range(len(humans))
    }
    aff = {}
    for (a, h), value in sim.items():
        mine, theirs = agents[a].place, humans[h][1]
        bonus = 0.0
        if mine.path == theirs.path:
            bonus = 0.15
            if rule == "release" and mine.lines and theirs.lines:
                gap = abs(mine.lines[0] - theirs.lines[0])
                bonus += 0.10 if gap <= 8 else 0.05 if gap <= 20 else 0.0
        aff[a, h] = min(max(value + bonus, 0.0), 1.0)
    taken: list[tuple[int, int]] = []

    def take(pool: list[tuple[Any, ...]]) -> None:
        while pool:
            best = max(pool)
            pool.remove(best)
            a, h = -best[-2], -best[-1]
            if all(a != one and h != other for one, other in taken):
                taken.append((a, h))

    take(
        [
            (agent.actionability, sim[a, h], -a, -h)
            for a, agent in enumerate(agents)
            for h in agent.matched
            if agent.label == "CONFIRMED" and (rule == "release" or aff[a, h] >= 0.3)
        ]
    )
    take(
        [
            (value, -a, -h)
            for (a, h), value in aff.items()
            if value >= 0.3 and (rule == "release" or agents[a].label != "FABRICATED")
        ]
    )
    n, caught = len(agents), len(taken)
    if not n:
        return {"overall": 0.0, "recall": 0.0, "precision": 0.0}
    matched = {a for a, _ in taken}
    fabricated = [a for a in range(n) if agents[a].label == "FABRICATED" and a not in matched]
    heads: list[str] = []
    for agent in agents:
        heads += [agent.text] if all(like[frozenset((head, agent.text))] < 0.65 for head in heads) else []
    plausible = (n - caught - len(fabricated)) / n
    excess = 0.0 if rule == "release" and n < 3 else max(plausible - 0.7, 0.0)
    r, p = caught / len(humans) if humans else 0.0, caught / n
    a_ = sum(sim[pair] for pair in taken) / caught if caught else 0.0
    q = sum((agent.actionability - 1) / 4 for agent in agents) / n * (1.0 if caught else 0.2)
    h_, rho = len(fabricated) / n, 1 - len(heads) / n
    s = 0.40 * r + 0.25 * p + 0.15 * a_ + 0.10 * q + 0.05 * p - 0.25 * h_ - 0.15 * rho - 0.10 * excess
    s *= 0.5 if any(agent.unreadable for agent in agents) else 1
    return {"overall": min(1.0, max(0.0, s)), "recall": r, "precision": p, "hallucination": h_, "redundancy": rho}


def random_review(
    source: random.Random,
) -> tuple[list[LabelledFinding], list[tuple[str, Place]], dict[frozenset[str], float]]:
    humans = [
        (f"h{at}", Place(path=source.choice("ab"), lines=source.choice([None, (source.randint(1, 60),) * 2])))
        for at in range(source.randint(0, 5))
    ]
    findings = []
    for at in range(source.choice([0, 1, 2, 3, 6, 35])):
        label = source.choice(LABELS)
        named = source.sample(range(len(humans)), source.randint(0, min(2, len(humans))))
        place = Place(path=source.choice(["a", "b", "c"]), lines=(source.randint(1, 60),) * 2)
        findings.append(
            LabelledFinding(
                text=f"f{at}",
                place=place,
                label=label,
                matched=tuple(sorted(named)) if label == "CONFIRMED" else (),
                actionability=float(source.randint(1, 5)),
                unreadable=source.random() < 0.01,
            )
        )
    texts = [each.text for each in findings] + [text for text, _ in humans]
    like = {frozenset(pair): source.uniform(-0.2, 0.9) for pair in itertools.combinations(texts, 2)}
    return findings, humans, like


@pytest.mark.parametrize("rule", ["paper", "release"])
def test_random_reviews_score_as_a_second_implementation_says(rule: str) -> None:
    source = random.Random(f"swe-prbench {rule}")
    seen = set()
    for _ in range(400):
        findings, humans, like = random_review(source)
        found = match_review(findings, humans, lambda one, other, like=like: like[frozenset((one, other))], rule)
        score = score_review(found.counts, rule)
        expected = second_score(findings, humans, like, rule)
        assert {name: getattr(score, name) for name in expected} == pytest.approx(expected, abs=1e-9)
        seen.add(round(score.overall, 3))
    assert len(seen) > 50


HERE, FAR = Place(path="app.py", lines=(1, 1)), Place(path="other.py", lines=(1, 1))


def never(_one: str, _other: str) -> float:
    return 0.0


def test_a_pair_of_the_judge_needs_affinity_in_the_paper_alone() -> None:
    said = [comment("x", "CONFIRMED", 0)]
    assert match_review(said, [("y", FAR)], never, "paper").labels == ("PLAUSIBLE",)
    assert match_review(said, [("y", FAR)], never, "release").labels == ("CONFIRMED",)


def test_a_fabricated_finding_is_promoted_in_the_release_alone() -> None:
    said = [comment("x", "FABRICATED")]
    for rule, label in (("paper", "FABRICATED"), ("release", "CONFIRMED")):
        assert match_review(said, [("y", HERE)], lambda _one, _other: 0.5, rule).labels == (label,)


def test_near_lines_count_in_the_release_alone() -> None:
    said = [comment("x", line=9)]
    humans = [("y", HERE)]
    for rule, label in (("paper", "PLAUSIBLE"), ("release", "CONFIRMED")):  # 0.06 + 0.15, and 0.10 more
        assert match_review(said, humans, lambda _one, _other: 0.06, rule).labels == (label,)
    farther = [comment("x", line=10)]  # nine lines apart: 0.05 more
    assert match_review(farther, humans, lambda _one, _other: 0.06, "release").labels == ("PLAUSIBLE",)


def test_two_findings_on_one_comment_are_confirmed_once_and_the_more_actionable_first() -> None:
    said = [comment("x", "CONFIRMED", 0, actionability=2.0), comment("z", "CONFIRMED", 0, actionability=5.0)]
    found = match_review(said, [("y", HERE)], lambda _one, _other: 0.5)
    assert found.labels == ("PLAUSIBLE", "CONFIRMED")
    assert found.pairs == ((1, 0, 0.5),)
    assert (found.counts.confirmed, found.counts.plausible) == (1, 1)


def test_a_comment_that_no_judge_names_and_no_text_is_like_stays_missed() -> None:
    found = match_review([comment("x", "CONFIRMED")], [("y", HERE)], never)
    assert found.labels == ("PLAUSIBLE",)
    assert score_review(found.counts).recall == 0


def test_the_release_scores_thirty_findings() -> None:
    said = [comment(f"{at}") for at in range(40)]
    assert [match_review(said, [], never, rule).counts.agent for rule in ("paper", "release")] == [40, 30]


def test_a_review_without_findings_and_an_unreadable_one_score_nothing() -> None:
    assert score_review(match_review([], [("y", HERE)], never).counts).overall == 0
    counts = ReviewCounts(human=1, confirmed=1, clusters=1, alignment=1.0, actionability=5.0, unreadable=True)
    assert score_review(counts, "paper").overall == 0
    broken = score_review(counts, "release")
    assert (broken.overall, broken.redundancy, broken.plausible_penalty) == (0, 1, 1)


def test_a_fallback_of_the_judge_halves_the_score() -> None:
    whole = ReviewCounts(human=1, confirmed=1, clusters=1, alignment=1.0, actionability=5.0)
    half = ReviewCounts(human=1, confirmed=1, clusters=1, alignment=1.0, actionability=5.0, fallback=True)
    assert score_review(whole).overall == pytest.approx(0.95)
    assert score_review(half).overall == pytest.approx(0.475)


def test_few_plausible_findings_cost_nothing_in_the_release() -> None:
    assert [plausible_penalty(2, 2, rule) for rule in ("paper", "release")] == [pytest.approx(0.3), 0]
    assert plausible_penalty(3, 3, "release") == pytest.approx(0.3)
    assert plausible_penalty(0, 0) == 0


def test_the_release_detects_nothing_beside_the_diff() -> None:
    assert adjacent_detection(1, 4, "Type3_Latent_Candidate") == 0.25
    assert adjacent_detection(1, 4, "Type3_Latent_Candidate", "release") == 0
    assert adjacent_detection(1, 4, "Type1_Direct") == 0
    assert adjacent_detection(0, 0, "Type2_Contextual") == 0


def test_clusters_compare_with_their_first_text() -> None:
    like = {frozenset("ab"): 0.65, frozenset("bc"): 0.9, frozenset("ac"): 0.1}
    assert count_clusters("abc", lambda one, other: like[frozenset((one, other))]) == 2
    assert word_overlap("Fix the_total now", "the_total, NOW!") == pytest.approx(2 / 3)
    assert word_overlap("", "x") == 0


def test_the_aggregate_weighs_by_the_log_of_human_comments() -> None:
    one = score_review(ReviewCounts(human=1, confirmed=1, clusters=1))
    two = score_review(ReviewCounts(human=7, plausible=1, clusters=1))
    paper = summarise_scores([one, two], ["a", "b"], samples=100)
    assert (one.weight, two.weight) == (math.log(2), math.log(8))
    assert paper.weighted == pytest.approx((one.overall * 1 + two.overall * 3) / 4)
    assert paper.means.overall == pytest.approx((one.overall + two.overall) / 2)
    assert paper.headline == paper.weighted
    assert summarise_scores([one, two], ["a", "b"], "release", samples=100).headline == paper.means.overall
    assert paper.low is not None
    assert paper.high is not None
    assert paper.low <= paper.weighted <= paper.high
    assert summarise_scores([one, one], ["a", "a"]).low is None
    clean = score_review(ReviewCounts(human=0, plausible=1, clusters=1, actionability=5.0))
    assert summarise_scores([clean], ["a"]).weighted == pytest.approx(clean.overall)


def test_the_interval_resamples_pull_requests() -> None:
    scores = [
        score_review(ReviewCounts(human=1, confirmed=at % 2, plausible=1 - at % 2, clusters=1)) for at in range(100)
    ]
    many = summarise_scores(scores, range(100), samples=400)
    few = summarise_scores(scores, [at % 2 for at in range(100)], samples=400)
    assert many.low is not None and many.high is not None and few.low is not None and few.high is not None
    assert few.high - few.low > 2 * (many.high - many.low)


@sweprbench_data
def test_the_releases_own_records() -> None:
    records = json.loads(DATA.read_text("utf-8"))["records"]
    assert len(records) == 9
    for record in records:
        agent, confirmed, fabricated = record["agent"], record["confirmed"], record["fabricated"]
        counts = ReviewCounts(
            human=record["human"],
            confirmed=confirmed,
            fabricated=fabricated,
            plausible=agent - confirmed - fabricated,
            clusters=agent,
            alignment=record["alignment"],
            actionability=1 + 4 * record["actionability"],
        )
        score = score_review(counts, "release")
        found = (score.recall, score.precision, score.hallucination, score.overall)
        told = (record["recall"], record["precision"], record["hallucination"], record["overall"])
        assert found == pytest.approx(told, abs=1e-9), record["task_id"]
        if record["weight"] is not None:
            assert score.weight == record["weight"]


@sweprbench_data
def test_the_releases_aggregates_agree_with_each_other() -> None:
    told = json.loads(DATA.read_text("utf-8"))["published"]
    whole, parts = told["by_config.config_A"], told["by_difficulty"].values()
    assert whole["attempt_rate"] == 1 - whole["no_attempt_count"] / whole["n"]
    assert (whole["overall_score"], whole["overall_score_weighted"]) == (0.169, 0.176)
    for name in ("detection_rate", "overall_score"):
        assert sum(part["n"] * part[name] for part in parts) / whole["n"] == pytest.approx(whole[name], abs=1e-3)
