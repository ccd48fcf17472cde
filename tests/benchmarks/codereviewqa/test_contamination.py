"""Perplexity and 5-gram accuracy, held against numbers made by hand."""

from __future__ import annotations

import math

import pytest

from pytest_crab.benchmarks.codereviewqa.contamination_tables import (
    TextMeasure,
    measure_text,
    perplexity,
    summarise_texts,
)


def test_perplexity_of_a_uniform_model_is_the_number_of_its_tokens() -> None:
    assert perplexity([math.log(1 / 50)] * 7) == pytest.approx(50)
    assert perplexity([math.log(0.5), math.log(0.125)]) == pytest.approx(4)  # the geometric mean of 2 and 8
    assert math.isfinite(perplexity([-9999.0]))


def test_an_n_gram_counts_where_all_five_tokens_are_the_likeliest() -> None:
    likeliest = [True] * 7 + [False] + [True] * 5  # of nine places the first three and the last one
    found = measure_text([-1.0] * 13, likeliest, "text", starts=9)
    assert (found.gram_accuracy, found.all_grams) == (pytest.approx(4 / 9), pytest.approx(4 / 9))
    assert measure_text([-1.0] * 4, [True] * 4, "short").gram_accuracy is None


def test_starting_points_are_drawn_evenly_and_the_same_for_the_same_text() -> None:
    likeliest = [at < 104 for at in range(204)]  # 100 of 200 places
    drawn = [measure_text([-1.0] * 204, likeliest, str(seed)).gram_accuracy or 0.0 for seed in range(400)]
    assert sum(drawn) / 400 == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(5 * 400))
    assert {round(5 * share) for share in drawn} >= {1, 2, 3, 4}
    assert measure_text([-1.0] * 204, likeliest, "0").gram_accuracy == drawn[0]


def test_means_are_over_texts_that_are_known() -> None:
    texts = [
        TextMeasure(perplexity=value, gram_accuracy=share, all_grams=share) for value, share in ((2, 1.0), (8, None))
    ]
    found = summarise_texts([*texts, TextMeasure(perplexity=3, gram_accuracy=0.5, all_grams=0.0), None])
    assert (found.texts, found.unknown, found.median) == (3, 1, 3)
    assert (found.perplexity, found.gram_accuracy, found.all_grams) == (pytest.approx(13 / 3), 0.75, 0.5)
    assert summarise_texts([]).perplexity is None
