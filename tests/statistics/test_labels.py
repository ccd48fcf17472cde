from __future__ import annotations

import pytest

from pytest_crab.statistics.comparison import Key, Measured
from pytest_crab.statistics.labels import LabelComparison, absent_labels, compare_labels


def run(words: str) -> dict[Key, Measured]:
    """One oracle for each letter, caught or missed, each in a repository of its own."""
    return {
        (f"i{at}", "c0"): Measured(repo=f"r{at}", caught=int(letter == "c"), missed=int(letter == "m"))
        for at, letter in enumerate(words)
    }


def label_all(words: str, dimension: str = "category") -> dict[Key, dict[str, str]]:
    return {key: {dimension: letter} for key, letter in zip(run(words), words, strict=True)}


def compared(before: str, after: str, labels: str, **margins: float) -> dict[str, LabelComparison]:
    found = compare_labels(run(before), run(after), label_all(labels), margins)
    return {one.label: one for one in found}


def test_each_label_is_compared_by_itself() -> None:
    found = compared("ccmm", "mcmc", "xxyy", x=7.0)
    assert list(found) == ["x", "y"]
    assert (found["x"].comparison.difference, found["y"].comparison.difference) == (-0.5, 0.5)
    assert (found["x"].comparison.lost, found["y"].comparison.gained) == (("i0::c0",), ("i3::c0",))
    assert (found["x"].margin, found["y"].margin) == (7.0, None)


def test_a_margin_of_a_dimension_comes_before_one_of_a_label() -> None:
    labels = {key: {"category": "x", "size": "x"} for key in run("cc")}
    found = compare_labels(run("cc"), run("cc"), labels, {"x": 5.0, "size:x": 1.0})
    assert {one.dimension: one.margin for one in found} == {"category": 5.0, "size": 1.0}


def test_chances_are_adjusted_for_the_labels_of_their_dimension() -> None:
    """By Holm the smaller of two is doubled; a dimension with one label changes nothing."""
    before, after = "c" * 6 + "cmcmcm", "m" * 6 + "cmcmcm"
    single = compare_labels(run(before), run(after), {key: {"kind": "x"} for key in list(run(before))[:6]}, {})
    (alone,) = single
    assert alone.p_holm == alone.comparison.p_clusters
    two = compared(before, after, "x" * 6 + "y" * 6)
    assert two["x"].comparison.p_clusters == alone.comparison.p_clusters
    assert two["x"].p_holm == pytest.approx(2 * alone.comparison.p_clusters)
    assert two["y"].p_holm == 1.0


def test_a_label_stands_out_where_it_fell_by_more_than_its_margin_and_not_by_chance() -> None:
    """Of 12 oracles 6 were lost and none gained: 50 points, and one in 32 by chance."""
    lost = compared("c" * 12, "m" * 6 + "c" * 6, "x" * 12)["x"]
    assert lost.stands_out(5.0)
    assert lost.stands_out(49.9)
    assert not lost.stands_out(50.0)
    assert compared("c" * 10 + "mm", "m" * 10 + "cc", "x" * 12)["x"].stands_out(5.0)  # two of 12: 158 of 4096
    assert not compared("c" * 12, "mm" + "c" * 10, "x" * 12)["x"].stands_out(5.0)  # one in two
    assert not compared("m" * 12, "c" * 6 + "m" * 6, "x" * 12)["x"].stands_out(-90.0)  # gained
    assert not compared("c" * 9 + "m" * 6, "m" * 9 + "c" * 6, "x" * 15)["x"].stands_out(5.0)  # 9 lost, 6 gained
    assert not compared("c" * 3, "uuu", "xxx")["x"].stands_out(5.0)


def test_margins_of_labels_that_no_oracle_has_are_named() -> None:
    labels = {("i", "c0"): {"category": "security", "kind": "design"}}
    assert absent_labels(labels, ["security", "kind:design", "kind:security", "testing"]) == (
        "kind:security",
        "testing",
    )
