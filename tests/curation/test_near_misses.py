"""Near misses that are made of a reference, and what decides the stored answer of an oracle on one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter", reason="near misses need the extra mutation")

from pytest_crab.curation.near_misses import ChangedTree, OracleAnswerStep, mutated_references
from pytest_crab.curation.publish import to_instance
from pytest_crab.curation.stages import CurationContext
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Environment, PullCandidate

HEAD = (
    'def price(count):\n    """The price."""\n    return 100 if count < 11 else 90\n\n\ndef name():\n    return "a"\n'
)
FIX = HEAD.replace("11", "10")
TEST = "from shop import price\n\n\ndef test_edge():\n    assert price({}) == 90\n"


@pytest.fixture
def opened(
    reviewed: Callable[..., PullCandidate], proving: Callable[[str], CurationContext], tmp_path: Path
) -> Callable[..., TrialContext]:
    """Open a pull request whose files are these at head and merged, with a time limit; nothing of it is run."""

    def make(head: dict[str, str], merged: dict[str, str], timeout: int = 60, name: str = "shop") -> TrialContext:
        candidate = reviewed({}, head, merged, name=name)
        environment = Environment(dockerfile="python", packages=("pytest==8.3.4",), paths=(".",), timeout=timeout)
        instance = to_instance(dataclasses.replace(candidate, environment=environment), tmp_path / name)
        return TrialContext(instance, *proving("http://127.0.0.1:9").proving(), lambda _: None)

    return make


def near(context: TrialContext) -> dict[str, str]:
    """Each near miss, with the text of shop.py in it."""
    (comment,) = context.instance.comments
    found = mutated_references(context, comment, 99)
    return {one.name.partition("-")[0] + one.told: str(context.snapshot.read(one.tree, "shop.py")) for one in found}


@pytest.mark.bubblewrap
def test_the_fault_itself_is_no_near_miss_whatever_words_and_tests_came_with_the_fix(
    opened: Callable[..., TrialContext],
) -> None:
    head = {"shop_py": HEAD, "test_shop_py": TEST.format(11), "CHANGES_md": ""}
    told = FIX.replace("The price.", "The price, which is lower from ten on.")
    made = near(opened(head, {"shop_py": told, "test_shop_py": TEST.format(10), "CHANGES_md": "The edge.\n"}))
    assert not [name for name in made if name.startswith("half")]
    assert any("< 9" in text or "<= 10" in text for text in made.values())
    assert not any("< 11" in text for text in made.values())


@pytest.mark.bubblewrap
def test_a_fix_of_two_places_has_a_half_for_each(opened: Callable[..., TrialContext]) -> None:
    made = near(opened({"shop_py": HEAD.replace("11", "12")}, {"shop_py": FIX.replace('"a"', '"b"')}))
    halves = [text for name, text in made.items() if name.startswith("half")]
    assert sorted(("< 12" in text, '"a"' in text) for text in halves) == [(False, True), (True, False)]


@pytest.mark.bubblewrap
def test_near_misses_are_drawn_until_none_is_left(opened: Callable[..., TrialContext]) -> None:
    context = opened({"shop_py": HEAD}, {"shop_py": FIX})
    (comment,) = context.instance.comments
    every = {one.tree for one in mutated_references(context, comment, 99)}
    first = mutated_references(context, comment, 2)
    others = mutated_references(context, comment, 99, first)
    assert {one.tree for one in others} == every - {one.tree for one in first}


@pytest.mark.bubblewrap
def test_an_answer_holds_for_its_time_limit_alone(opened: Callable[..., TrialContext]) -> None:
    context = opened({"shop_py": HEAD}, {"shop_py": FIX})
    (comment,) = context.instance.comments
    other = opened({"shop_py": HEAD}, {"shop_py": FIX}, timeout=5, name="other")
    one = ProvedComment(comment=comment, key="the proof's", proof=None)
    changes = [ChangedTree(name="change", tree=context.snapshot.head_tree)]
    long, again, cut = (OracleAnswerStep(each, one, changes).keys() for each in (context, context, other))
    assert long == again != cut
