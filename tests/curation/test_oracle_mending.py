"""The rounds of mending, with an oracle that is the set of the names that it accepts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from pytest_crab.curation.oracle_mending import checks_of, dispute, doubts, near_to, strengthen
from pytest_crab.types import ChangeKind, JudgedChange

Accepted = frozenset[str]


def change(kind: ChangeKind, name: str) -> JudgedChange:
    return JudgedChange(kind=kind, name=name, why="So.", diff=name)


def answer(oracle: Accepted, asked: Sequence[JudgedChange]) -> tuple[JudgedChange, ...]:
    return tuple(dataclasses.replace(one, held=(one.name in oracle) is one.kind.resolves) for one in asked)


def test_the_mended_oracle_is_what_disputed_changes_and_their_doubts_tell_of() -> None:
    first = [change(ChangeKind.RIGHT, name) for name in ("turned", "cheaper", "odd")]
    second = [change(ChangeKind.NEAR, "half")]

    def mend(
        _: Accepted, number: int, failed: Sequence[JudgedChange], every: Sequence[JudgedChange]
    ) -> tuple[Accepted, Mapping[str, str]]:
        assert (number, len(failed), len(every)) == (1, 3, 3)
        return frozenset({"turned", "cheaper"}), {"cheaper": "It gives 80.", "odd": "It asks nobody."}

    oracle, changes, remains = strengthen(
        frozenset[str](), 2, lambda number, _: tuple(first if number == 1 else second), answer, mend
    )
    assert (oracle, remains) == ({"turned", "cheaper"}, "")
    assert {one.name: (one.held, one.fresh) for one in changes} == {
        "turned": (False, False), "cheaper": (True, True), "odd": (False, True), "half": (True, True),
    }  # fmt: skip
    assert [sentence.partition(",")[0] for sentence in doubts(changes)] == [
        "its oracle accepts cheaper",
        "its oracle refuses odd",
    ]
    assert [one.name for one in checks_of(changes)] == ["turned", "half"]


def test_a_dispute_holds_for_its_fix_in_company_and_for_no_fix_whose_name_begins_alike() -> None:
    alone = [change(ChangeKind.RIGHT, "loop"), change(ChangeKind.RIGHT, "loop-with-index")]
    company = change(ChangeKind.COMPANY, "guard")
    both = [change(ChangeKind.IN_COMPANY, f"{one.name}-with-guard") for one in alone]
    for own, pair in zip(alone, both, strict=True):
        found = dispute([*alone, company, *both], {own.name: "It is none."})
        assert [one.name for one in found if one.disputed] == [own.name, pair.name]


def test_of_a_long_file_its_changers_see_what_lies_near_to_the_changes() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 31))
    shown = near_to(text, {1, 20}, around=1)
    assert shown.split("\n") == ["", "line 1", "line 2", "", "line 19", "line 20", "line 21"]
    assert near_to(text, ()) == ""
