"""Which oracles are proved with more runs, and what so many runs find."""

from __future__ import annotations

import pytest

from pytest_crab.curation.suspects import SUSPECT_RUNS, suspect


@pytest.mark.parametrize(
    "line",
    [
        "time.sleep(1)",
        "datetime.now()",
        "random.random()",
        "Thread(target=f)",
        "await x",
        "q.get(timeout=1)",
        "Date.now()",
    ],
)
def test_what_depends_on_time_chance_or_threads_is_a_suspect(line: str) -> None:
    assert suspect(f"def test_a():\n    {line}\n") is not None


def test_words_about_them_are_none() -> None:
    assert suspect("# the date is set at random places now, before the timeout\nassert shop.date == 1\n") is None


def test_a_test_that_fails_in_half_of_the_runs_is_found() -> None:
    assert 0.5 ** (SUSPECT_RUNS - 1) < 0.01  # the chance that all runs of one state agree
