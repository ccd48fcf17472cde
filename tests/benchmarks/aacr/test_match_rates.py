"""AACR-Bench's measures on random outcomes, against counts that are made here."""

from __future__ import annotations

import random
from fractions import Fraction

from pytest_crab.benchmarks.aacr.match_rates import Hit, measure, measure_by


def near(value: float | None, part: int, whole: int) -> bool:
    return value is None if whole == 0 else value is not None and abs(value - Fraction(part, whole)) < 1e-9


def some_hits(source: random.Random) -> list[Hit]:
    outcomes = ((source.random() < 0.6, source.choice([True, False, None])) for _ in range(source.randint(0, 6)))
    return [Hit(line=line, semantic=semantic) for line, semantic in outcomes]


def test_rates_are_shares_of_what_is_known() -> None:
    source = random.Random(2601)
    for _ in range(300):
        sides = [
            [
                Hit(line=source.random() < 0.6, semantic=source.choice([True, False, None]))
                for _ in range(source.randint(0, 6))
            ]
            for _ in range(2)
        ]
        findings, comments = sides
        found = measure(findings, comments)
        right, wrong = (sum(hit.semantic is value for hit in findings) for value in (True, False))
        there, missed = (sum(hit.semantic is value for hit in comments) for value in (True, False))
        assert near(found.semantic.precision.value, right, right + wrong)
        assert near(found.noise.value, wrong, right + wrong)
        assert near(found.semantic.recall.value, there, there + missed)
        assert near(found.line.precision.value, sum(hit.line for hit in findings), len(findings))
        assert near(found.line.recall.value, sum(hit.line for hit in comments), len(comments))
        rates = found.semantic
        assert (rates.findings, rates.matched_findings) == (right + wrong, right)
        assert (rates.comments, rates.matched_comments) == (there + missed, there)
        assert (rates.f1.value is None) == (rates.f1.undefined is not None)
        precision, recall = found.semantic.precision.value, found.semantic.recall.value
        if precision and recall:
            assert found.semantic.f1.value is not None
            assert abs(found.semantic.f1.value - 2 / (1 / precision + 1 / recall)) < 1e-9
        assert (found.unknown_findings, found.unknown_comments) == (
            len(findings) - right - wrong,
            len(comments) - there - missed,
        )


def test_what_is_undefined_says_what_there_is_none_of() -> None:
    found, nothing = measure([Hit(line=True)], [Hit(line=True)]), measure([], [])
    assert "no finding is known" in (found.semantic.precision.undefined or "")
    assert "no comment is known" in (found.semantic.recall.undefined or "")
    assert found.line.f1.value == 1.0
    assert nothing.line.recall.undefined
    assert nothing.line.recall.undefined != found.semantic.recall.undefined
    assert nothing.semantic.precision.undefined == nothing.line.precision.undefined


def test_a_slice_has_precision_only_where_findings_have_labels() -> None:
    comments = [Hit(line=True, semantic=True, labels={"context": "file"}), Hit(line=False, semantic=False)]
    (slice_,) = measure_by("context", [Hit(line=True, semantic=True)], comments)
    assert slice_[0] == "file"
    assert (slice_[1].line.recall.value, slice_[1].line.precision.value) == (1.0, None)
    assert "no finding has a label" in (slice_[1].line.precision.undefined or "")
    findings = [Hit(line=True, semantic=False, labels={"context": "file"}), Hit(line=True, labels={"context": "repo"})]
    (slice_,) = measure_by("context", findings, comments)
    assert (slice_[1].line.precision.value, slice_[1].semantic.precision.value) == (1.0, 0.0)


def test_a_slice_without_findings_says_whether_any_finding_has_a_label() -> None:
    comments = [Hit(line=False, labels={"context": "file"})]
    elsewhere = [Hit(line=True), Hit(line=True, labels={"context": "repo"})]
    for findings, words in (
        (elsewhere, "there is no finding"),
        ([], "there is no finding"),
        (elsewhere[:1], "a label of"),
    ):
        ((_, measures),) = measure_by("context", findings, comments)
        assert words in (measures.line.precision.undefined or "")
        assert (measures.unknown_findings, measures.unknown_comments) == (0, 1)
