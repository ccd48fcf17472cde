from __future__ import annotations

import pytest

from pytest_crab.gate.screening import Screen, stable_instances
from pytest_crab.statistics.comparison import Key, Measured, compare


def run(**verdicts: str) -> dict[Key, Measured]:
    """An oracle for each word, each of its own repository: a letter a repeat, c caught, m missed, u unknown."""
    return {
        (name, "c0"): Measured(
            repo=f"owner/{name}", caught=word.count("c"), missed=word.count("m"), unknown=word.count("u")
        )
        for name, word in verdicts.items()
    }


def test_an_instance_is_stable_if_no_reviewer_ever_differed() -> None:
    mine = run(always="ccc", never="mmmm", moved="ccm", short="cc", doubtful="cccu", other="ccc")
    assert stable_instances([mine, run(other="mmc")]) == {"always", "never"}
    both = {("two", "c0"): mine["always", "c0"], ("two", "c1"): mine["moved", "c0"]}
    assert stable_instances([both]) == set()


def test_a_drawn_difference_stands_for_those_that_were_left_out() -> None:
    before = run(**{f"i{at}": "ccc" for at in range(8)}, new="c", newer="c")
    screen = Screen(share=0.5, seed="x", stable={f"i{at}" for at in range(8)}, kept={"i0", "i1"}, left_out={"i2", "i3"})
    found = compare(
        before, screen.weigh(before, run(i0="m", i1="c", i4="c", i5="c", i6="c", i7="c", new="m", newer="m"))
    )
    assert (found.pairs, found.known, found.only_before) == (10, 10, 0)
    assert found.difference == pytest.approx((-2 - 1 - 1) / 10)
    assert found.after == pytest.approx(1 - 4 / 10)
    assert (found.lost, found.doubtful) == (("i0::c0", "new::c0", "newer::c0"), 0)
    assert "counts 2 times" in screen.account


def test_the_draw_is_the_seeds_and_about_its_share() -> None:
    names = [f"i{at}" for at in range(400)]

    def drawn(seed: str) -> Screen:
        screen = Screen(share=0.25, seed=seed, stable=set(names[:300]))
        screen.draw(names)
        return screen

    one = drawn("a")
    assert one == drawn("a") != drawn("b")
    assert len(one.kept) == pytest.approx(75, abs=25)
    assert one.kept | one.left_out == set(names[:300])
