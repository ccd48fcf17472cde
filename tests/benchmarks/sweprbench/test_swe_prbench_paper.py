"""SWE-PRBench's printed numbers (arXiv 2603.26130): which of them follow from each other, and which contradict."""

from __future__ import annotations

from statistics import fmean

import pytest

from pytest_crab.benchmarks.sweprbench.measures import ReviewCounts, score_review
from pytest_crab.statistics.pull_classes import DIFFICULTIES

#: Table 5: pull requests by language, and by difficulty within it.
TABLE_5 = {
    "Python": (160, 50, 32),
    "JavaScript": (24, 7, 6),
    "Go": (24, 8, 3),
    "TypeScript": (13, 7, 1),
    "Java": (11, 3, 1),
}

#: Table 8: scores in contexts A, B and C, and what is printed as their mean.
TABLE_8 = {
    "Claude Haiku 4.5": (0.172, 0.129, 0.126, 0.153),
    "Claude Sonnet 4.6": (0.190, 0.135, 0.122, 0.152),
    "DeepSeek V3": (0.181, 0.132, 0.118, 0.150),
    "Mistral Large 3": (0.170, 0.125, 0.135, 0.147),
    "GPT-4o": (0.134, 0.110, 0.090, 0.113),
    "GPT-4o-mini": (0.110, 0.095, 0.093, 0.108),
    "Mistral Small": (0.131, 0.080, 0.091, 0.106),
    "Llama 3.3 70B": (0.088, 0.071, 0.065, 0.079),
}

#: Records of the release's own runs: findings, confirmed, fabricated, human comments, alignment, actionability,
#: redundancy, score.
RECORDS = [
    (4, 2, 0, 2, 0.3606112524867058, 0.625, 0.0, 0.6665916878730059),
    (4, 2, 0, 2, 0.397878959774971, 0.5, 0.25, 0.6221818439662458),
    (5, 2, 0, 2, 0.38823673874139786, 0.55, 0.0, 0.6332355108112098),
    (1, 1, 0, 5, 0.5939883589744568, 0.25, 0.0, 0.4940982538461685),
    (3, 2, 0, 5, 0.3963342607021332, 1 / 3, 0.0, 0.4527834724386533),
    (5, 2, 3, 5, 0.38950155675411224, 0.25, 0.0, 0.2134252335131169),
]


def test_tables_4_and_5_agree_and_the_shares_of_the_text_do_not() -> None:
    by_language = [sum(row) for row in TABLE_5.values()]
    by_difficulty = [sum(column) for column in zip(*TABLE_5.values(), strict=True)]
    assert by_language == [242, 37, 35, 21, 15]
    assert by_difficulty == [232, 75, 43]
    assert sum(by_difficulty) == 350
    shares = [round(100 * count / 350, 1) for count in by_difficulty]
    assert shares == [66.3, 21.4, 12.3]
    assert all(abs(share - told) > 10 for share, told in zip(shares, (34, 40, 26), strict=True))  # section 3.4
    assert DIFFICULTIES[2] == "Type3_Latent_Candidate"  # the paper's Type3_Latent


def test_the_mean_of_table_8_is_not_the_mean_of_its_columns() -> None:
    means = {name: fmean(row[:3]) for name, row in TABLE_8.items()}
    assert round(means["Claude Haiku 4.5"], 3) == 0.142
    off = [name for name, row in TABLE_8.items() if abs(means[name] - row[3]) > 0.0015]
    assert len(off) >= 7


@pytest.mark.parametrize("record", RECORDS)
def test_scores_of_the_release_follow_from_their_components(record: tuple[float, ...]) -> None:
    agent, confirmed, fabricated, human = (int(count) for count in record[:4])
    alignment, actionability, redundancy, told = record[4:]
    counts = ReviewCounts(
        human=human,
        confirmed=confirmed,
        fabricated=fabricated,
        plausible=agent - confirmed - fabricated,
        clusters=round(agent * (1 - redundancy)),
        alignment=alignment,
        actionability=1 + 4 * actionability,
    )
    assert score_review(counts, "release").overall == pytest.approx(told, abs=1e-9)
