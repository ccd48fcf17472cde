"""Recorded judgements in numbers and in words, whoever recorded them."""

from __future__ import annotations

import pytest

from pytest_crab.results.judged_runs import JudgedRelease, JudgedRun, summarise_judged
from pytest_crab.show.judged_text import judged_lines
from pytest_crab.statistics.signal import f_measure


@pytest.mark.parametrize(
    ("precision", "recall", "beta", "value"),
    [(0.5, 0.25, 1, 1 / 3), (0.5, 0.25, 2, 0.2777777778), (0.0, 0.0, 1, 0.0), (None, 0.5, 1, None)],
)
def test_the_f_measure(precision: float | None, recall: float | None, beta: float, value: float | None) -> None:
    assert f_measure(precision, recall, beta) == (None if value is None else pytest.approx(value))


def test_names_in_a_release_cannot_steer_a_terminal() -> None:
    runs = tuple(
        JudgedRun(
            reviewer="a\x1b[2J",
            judge=judge,
            golden="g",
            pull_requests=1,
            expected=1,
            matched=1,
            incorrect=0,
            found={("p", 1): True},
        )
        for judge in ("j\x1b[2J", "k\x1b[2J")
    )
    lines = list(judged_lines(summarise_judged(JudgedRelease(benchmark="b\x1b[2J", golden="g", runs=runs))))
    assert all(line.isprintable() for line in lines)
    assert any(line.startswith(r"a\x1b[2J ") for line in lines)
