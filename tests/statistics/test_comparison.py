from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_crab.statistics.comparison import ENOUGH
from pytest_crab.statistics.comparison import Key
from pytest_crab.statistics.comparison import Measured
from pytest_crab.statistics.comparison import compare

LETTERS = st.text("cmu", min_size=1, max_size=3)
RUN = st.dictionaries(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["c0", "c1"])), LETTERS, max_size=16)


def run(verdicts: dict[Key, str], repos: int = 8) -> dict[Key, Measured]:
    return {
        key: Measured(
            repo=f"r{ord(key[0]) % repos}",
            caught=letters.count("c"),
            missed=letters.count("m"),
            unknown=letters.count("u"),
        )
        for key, letters in verdicts.items()
    }


def flat(letters: str) -> dict[Key, Measured]:
    return run({(chr(200 + at), "c0"): one for at, one in enumerate(letters)}, repos=1000)


@given(RUN, RUN)
def test_the_bounds_hold_whatever_the_unknowns_are(before: dict[Key, str], after: dict[Key, str]) -> None:
    found = compare(run(before), run(after))
    source = random.Random(1)
    if found.low is None or found.high is None:
        assert found.pairs == 0
        return
    guess = [
        {key: "".join(source.choice("cm") if one == "u" else one for one in letters) for key, letters in each.items()}
        for each in (before, after)
    ]
    counted = [key for key in before if key in after and {*before[key], *after[key]} != {"u"}]
    known = compare(run({key: guess[0][key] for key in counted}), run({key: guess[1][key] for key in counted}))
    assert known.difference is not None
    worst = compare(
        run({key: before[key].replace("u", "c") for key in counted}),
        run({key: after[key].replace("u", "m") for key in counted}),
    )
    best = compare(
        run({key: before[key].replace("u", "m") for key in counted}),
        run({key: after[key].replace("u", "c") for key in counted}),
    )
    assert worst.interval is not None
    assert best.interval is not None
    assert found.low == pytest.approx(worst.interval.low)
    assert found.high == pytest.approx(best.interval.high)
    assert (worst.difference or 0) <= known.difference + 1e-9 <= (best.difference or 0) + 2e-9


@given(RUN, RUN)
def test_swapping_the_runs_mirrors_all(before: dict[Key, str], after: dict[Key, str]) -> None:
    there, back = compare(run(before), run(after)), compare(run(after), run(before))
    assert sorted(there.lost) == sorted(back.gained)
    assert (there.only_before, there.only_after) == (back.only_after, back.only_before)
    assert there.p == back.p
    if there.difference is not None and back.difference is not None:
        assert there.difference == pytest.approx(-back.difference)


def test_repeats_are_averaged_first() -> None:
    found = compare(run({("a", "c0"): "ccm", ("b", "c0"): "m"}), run({("a", "c0"): "cmm", ("b", "c0"): "m"}))
    assert found.difference == pytest.approx(-1 / 6)
    assert found.lost == ("a::c0",)


def test_what_neither_run_measured_is_set_aside() -> None:
    found = compare(flat("cmu"), flat("cmu"))
    assert (found.pairs, found.known, found.unmeasured) == (2, 2, 1)


def test_few_repositories_are_not_the_clusters() -> None:
    keys = {(chr(97 + at), f"c{of}"): "c" for at in range(8) for of in range(2)}
    few = compare(run(keys, repos=ENOUGH - 1), run(keys, repos=ENOUGH - 1)).interval
    many = compare(run(keys, repos=8), run(keys, repos=8)).interval
    one = compare(run({("a", "c0"): "c", ("a", "c1"): "m"}), run({("a", "c0"): "c", ("a", "c1"): "m"})).interval
    assert few is not None
    assert many is not None
    assert one is not None
    assert (few.by, few.clusters) == ("pull request", 8)
    assert (many.by, many.clusters) == ("repository", 8)
    assert (one.by, one.clusters) == ("oracle", 2)


def test_nothing_in_both_is_no_comparison() -> None:
    found = compare(flat("c"), run({("z", "c9"): "m"}))
    assert (found.pairs, found.difference, found.only_before, found.only_after) == (0, None, 1, 1)
