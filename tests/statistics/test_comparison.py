from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given, strategies as st

from pytest_crab.statistics.comparison import PULL_REQUEST, REPOSITORY, Interval, Key, Measured, compare
from pytest_crab.types import UNNAMED_REPOSITORY

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
    counted = [key for key in before if key in after]
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
    assert (there.p, there.p_clusters, there.p_drop) == (back.p, back.p_clusters, back.p_gain)
    if there.difference is not None and back.difference is not None:
        assert there.difference == pytest.approx(-back.difference)
    if there.interval is not None and back.interval is not None:
        assert (there.interval.low, there.interval.high) == pytest.approx((-back.interval.high, -back.interval.low))
        assert (there.low, there.high) == pytest.approx((-(back.high or 0), -(back.low or 0)))


def test_repeats_are_averaged_first() -> None:
    found = compare(run({("a", "c0"): "ccm", ("b", "c0"): "m"}), run({("a", "c0"): "cmm", ("b", "c0"): "m"}))
    assert found.difference == pytest.approx(-1 / 6)
    assert found.lost == ("a::c0",)
    assert Measured(repo="r", caught=2, missed=1).doubt == 0


def test_doubt_and_nothing_known_are_counted_apart() -> None:
    """In doubt is a pair with any unknown repeat; unmeasured is one without a verdict on either side."""
    keys = [(name, "c0") for name in "abcd"]
    before, after = (
        run(dict(zip(keys, words, strict=True))) for words in (("cu", "u", "c", "u"), ("cc", "c", "m", "u"))
    )
    found = compare(before, after)
    assert (found.pairs, found.known, found.doubtful, found.unmeasured) == (4, 2, 3, 1)


@pytest.mark.parametrize(
    ("only", "words"),
    [
        (0, "3 repositories"),
        (1, "3 repositories, for this 1 repository only"),
        (2, "3 repositories, for these 2 repositories only"),
    ],
)
def test_an_interval_says_what_it_speaks_for(only: int, words: str) -> None:
    interval = Interval(low=0.0, high=1.0, by=REPOSITORY, clusters=3)
    assert interval.basis == "3 repositories"
    assert dataclasses.replace(interval, only=only).basis == words


def test_what_neither_run_measured_counts_in_the_bounds() -> None:
    """38% unknown in both runs hide a drop of as much, so they may not be left out."""
    known, hidden = (
        compare(flat("cm" * 50), flat("cm" * 50)),
        compare(flat("cm" * 50 + "u" * 60), flat("cm" * 50 + "u" * 60)),
    )
    assert (hidden.pairs, hidden.known, hidden.unmeasured, hidden.doubtful) == (160, 100, 60, 60)
    assert hidden.difference == known.difference == 0
    assert known.low is not None and known.low > -0.04
    assert hidden.low is not None and hidden.low < -60 / 160
    assert hidden.high is not None and hidden.high > 60 / 160
    assert (known.p_drop, known.p_gain) == (1, 1)
    assert min(hidden.p_drop, hidden.p_gain) > 0.999


def keyed(repos: int, pulls: int, oracles: int, lost: int = 0) -> tuple[dict[Key, Measured], dict[Key, Measured]]:
    keys = [
        (f"r{repo}-i{pull}", f"c{at}", f"r{repo}")
        for repo in range(repos)
        for pull in range(pulls)
        for at in range(oracles)
    ]
    before = {(instance, comment): Measured(repo=repo, caught=1, missed=0) for instance, comment, repo in keys}
    gone = {
        (instance, comment): Measured(repo=repo, caught=int(at >= lost), missed=int(at < lost))
        for at, (instance, comment, repo) in enumerate(keys)
    }
    return before, gone


def test_repositories_are_the_clusters_from_two_on_and_never_less_than_pull_requests() -> None:
    found = {repos: compare(*keyed(repos, 12 // repos, 8), unit=REPOSITORY).interval for repos in (1, 2, 3, 6)}
    assert {repos: (own.by, own.clusters, own.only) for repos, own in found.items() if own} == {
        1: ("pull request", 12, 1),
        2: ("repository", 2, 0),
        3: ("repository", 3, 0),
        6: ("repository", 6, 0),
    }
    widths = [own.high - own.low for own in found.values() if own is not None]
    assert widths[1:] == sorted(widths[1:], reverse=True), "fewer repositories know less"
    single = compare(*keyed(1, 1, 8)).interval
    assert single is not None
    assert (single.by, single.clusters, single.low, single.high) == ("pull request", 1, -1, 1)


def test_one_lost_pull_request_of_five_is_no_shown_drop() -> None:
    """Five pull requests with eight oracles each; what falls together is one event."""
    for repos, pulls in ((1, 5), (5, 1)):
        found = compare(*keyed(repos, pulls, 8, lost=8))
        assert found.difference == pytest.approx(-0.2)
        assert found.high is not None and found.high > 0
        assert found.p_drop > 0.05


def test_pull_requests_are_the_clusters_unless_repositories_are_asked_for() -> None:
    runs = keyed(3, 20, 2)
    wide, narrow = compare(*runs, unit=REPOSITORY).interval, compare(*runs).interval
    assert wide is not None and narrow is not None
    assert (narrow.by, narrow.clusters, narrow.only) == ("pull request", 60, 3)
    assert compare(*runs).elsewhere == wide
    assert compare(*runs, unit=REPOSITORY).elsewhere is None
    assert (narrow.speaks_for, wide.speaks_for) == ("pull requests like these", "other repositories too")


def test_rows_of_unnamed_repositories_are_clusters_of_their_own() -> None:
    one = Measured(repo=UNNAMED_REPOSITORY, caught=1, missed=0)
    other = Measured(repo=UNNAMED_REPOSITORY, caught=0, missed=1)
    before = {(f"row-{n}", probe): one for n in range(4) for probe in "ab"}
    after = {key: other if key == ("row-0", "a") else one for key in before}
    for unit in (REPOSITORY, PULL_REQUEST):
        interval = compare(before, after, unit=unit).interval
        assert interval is not None
        assert (interval.by, interval.clusters, interval.only, interval.basis) == ("row", 4, 0, "4 rows")
    named = {**before, ("pull", "c0"): Measured(repo="owner/name", caught=1, missed=0)}
    interval = compare(named, named, unit=REPOSITORY).interval
    assert interval is not None
    assert (interval.by, interval.clusters) == ("repository", 5)


def test_the_level_widens_every_bound() -> None:
    usual, strict = (compare(flat("cm" * 50), flat("cmcm" * 25), level=level) for level in (0.95, 0.99))
    assert usual.interval is not None and strict.interval is not None
    assert usual.low is not None and strict.low is not None
    assert strict.interval.low < usual.interval.low
    assert strict.low < usual.low
    assert (strict.level, strict.p_drop) == (0.99, usual.p_drop)


def test_nothing_in_both_is_no_comparison() -> None:
    found = compare(flat("c"), run({("z", "c9"): "m"}))
    assert (found.pairs, found.difference, found.only_before, found.only_after) == (0, None, 1, 1)
    assert found.p == found.p_clusters == found.p_drop == 1


def test_without_a_verdict_in_both_nothing_is_shown() -> None:
    found = compare(flat("cuu"), flat("umu"))
    assert (found.known, found.difference, found.interval, found.elsewhere) == (0, None, None, None)
    assert found.p == found.p_clusters == 1
    assert found.low is not None and found.low < 0
