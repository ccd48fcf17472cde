"""CR-Evaluator's measures against equations 2 to 6 of arXiv 2603.11078, written down here anew from the text."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies

from pytest_crab.statistics.signal import JudgedReview, f_measure, signal

LABEL = strategies.sampled_from(["BUG_HIT", "VALID_SUGGESTION", "NOISE", None])
REVIEW = strategies.tuples(
    strategies.lists(LABEL, max_size=8), strategies.lists(strategies.sampled_from([True, False, None]), max_size=4)
)

#: Table 4 in percent and as printed: recall, precision, F1, usefulness, SNR, each over 174 bugs. Before them the least
#: counts that give every digit: bugs that are hit, findings that hit, useful findings, findings. No row has one number
#: of hits that gives both recall and precision.
TABLE_4 = {
    "single-shot, GPT-5.2": ((47, 54, 1267, 1515), (27.01, 3.56, 6.30, 83.63, 5.11)),
    "single-shot, GPT-5-mini": ((32, 37, 783, 1054), (18.39, 3.51, 5.90, 74.29, 2.89)),
    "Reflexion, GPT-5.2": ((57, 78, 1010, 1528), (32.76, 5.10, 8.83, 66.10, 1.95)),
    "Reflexion, GPT-5-mini": ((48, 49, 733, 1536), (27.59, 3.19, 5.72, 47.72, 0.91)),
}


def divide(part: int, whole: int) -> float | None:
    return float(Fraction(part, whole)) if whole else None


@given(strategies.lists(REVIEW, max_size=6))
def test_the_measures_are_the_papers_equations(reviews: list[tuple[list[str | None], list[bool | None]]]) -> None:
    hits = valid = noise = bugs = bugs_hit = 0
    for labels, found in reviews:
        for label in labels:
            hits += label == "BUG_HIT"
            valid += label == "VALID_SUGGESTION"
            noise += label == "NOISE"
        for hit in found:
            bugs += hit is not None
            bugs_hit += hit is True
    reviewed = hits + valid + noise
    got = signal(JudgedReview(findings=labels, bugs=found) for labels, found in reviews)
    precision, recall = divide(hits, reviewed), divide(bugs_hit, bugs)
    f1 = None
    if precision is not None and recall is not None and precision + recall > 0:
        f1 = 2 * precision * recall / (precision + recall)
    expected = {
        "recall": recall,
        "precision": precision,
        "recall_of_hits": divide(hits, bugs),
        "precision_of_bugs": divide(bugs_hit, reviewed),
        "f1": f1,
        "usefulness": divide(hits + valid, reviewed),
        "snr": divide(hits + valid, noise),
    }
    for name, value in expected.items():
        measure = getattr(got, name)
        assert (measure.value is None) == (value is None), name
        assert value is None or abs(measure.value - value) < 1e-9, name
        assert (measure.undefined is None) == (value is not None), name
    assert got.unknown_findings == sum(label is None for labels, _ in reviews for label in labels)
    assert got.unknown_bugs == sum(hit is None for _, found in reviews for hit in found)
    assert (got.findings, got.hits, got.valid, got.noise) == (reviewed, hits, valid, noise)


@given(strategies.floats(0, 1), strategies.floats(0, 1), strategies.sampled_from([0.5, 1, 2]))
def test_the_f_measure_is_the_weighted_harmonic_mean(precision: float, recall: float, beta: float) -> None:
    found = f_measure(precision, recall, beta)
    if precision > 1e-6 and recall > 1e-6:
        share = 1 / (1 + beta**2)
        assert found == pytest.approx(1 / (share / precision + (1 - share) / recall))
    elif precision == 0 or recall == 0:
        assert found == 0


def test_a_bug_that_is_hit_twice_keeps_both_counts() -> None:
    found = signal([JudgedReview(findings=["BUG_HIT", "BUG_HIT", "NOISE"], bugs=[True])])
    assert (found.hits, found.bugs_hit, found.bugs) == (2, 1, 1)
    assert (found.recall.value, found.recall_of_hits.value) == (1.0, 2.0)
    assert found.precision.value == pytest.approx(2 / 3)
    assert found.precision_of_bugs.value == pytest.approx(1 / 3)


def test_without_noise_the_ratio_is_undefined_and_says_so() -> None:
    found = signal([JudgedReview(findings=["BUG_HIT", "VALID_SUGGESTION"], bugs=[True, False])])
    assert found.snr.value is None
    assert "no noise" in (found.snr.undefined or "")
    assert "no finding" in (signal([JudgedReview(findings=[], bugs=[])]).snr.undefined or "")


def test_an_empty_review_misses_its_bugs_and_has_no_precision() -> None:
    found = signal([JudgedReview(findings=[], bugs=[False, False])])
    assert found.recall.value == 0.0
    assert [found.precision.value, found.usefulness.value, found.snr.value, found.f1.value] == [None] * 4
    assert "no finding" in (found.precision.undefined or "")


def test_recall_by_label_counts_known_bugs_alone() -> None:
    labels = [{"severity": "High"}, {"severity": "High"}, {"severity": "Low", "impact": "Security"}]
    found = signal([JudgedReview(findings=["BUG_HIT"], bugs=[True, None, False], bug_labels=labels)])
    assert found.recall_by_label == {"impact": {"Security": (0, 1)}, "severity": {"High": (1, 1), "Low": (0, 1)}}


@pytest.mark.parametrize("row", TABLE_4)
def test_recorded_judgements_give_table_4(row: str) -> None:
    (bugs_hit, hits, useful, findings), printed = TABLE_4[row]
    labels = ["BUG_HIT"] * hits + ["VALID_SUGGESTION"] * (useful - hits) + ["NOISE"] * (findings - useful)
    found = signal([JudgedReview(findings=labels, bugs=[at < bugs_hit for at in range(174)])])
    shares = (found.recall, found.precision, found.f1, found.usefulness)
    assert found.snr.value is not None
    rounded = [round(100 * (share.value or 0), 2) for share in shares] + [round(found.snr.value, 2)]
    assert rounded == list(printed)
    one_count = found.recall_of_hits.value
    assert one_count is not None
    assert round(100 * one_count, 2) != printed[0]
