"""The names that a row has for tests, and those that a runner reports: the data's come from parsers of printed logs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pytest_crab.types import StrEnum

_BLANKS = re.compile(r"\s>\s|[\s_]+")
_LEVELS = re.compile(r"::|/|#| > |\s-\s|\.(?=[\w$]+(?:#|$))")


class Likeness(StrEnum):
    """The way in which a name of the data was found among those reported, the strictest first."""

    EXACT = "exact"
    BLANKS = "but for blanks"
    TITLE = "by its last title"
    ALONE = "by its last title, below others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The tests that one name of the data stands for."""

    #: Their ids in a run.
    ids: tuple[str, ...]
    #: How they were found.
    likeness: Likeness


def find_all(names: Iterable[str], first: Collection[str], others: Collection[str]) -> dict[str, Found]:
    """Return the tests of the names that have some: the strictest likeness in two runs, of which ``first`` is before.

    A test that has another name as well is not found by a title.
    """
    found: dict[str, Found] = {}
    strictness = [*Likeness]
    for name in dict.fromkeys(names):
        seen = [one for ids in (first, {*first, *others}) if (one := find(name, ids)) is not None]
        if seen:
            found[name] = min(seen, key=lambda one: strictness.index(one.likeness))
    taken = Counter(each for one in found.values() for each in one.ids)
    titles = (Likeness.TITLE, Likeness.ALONE)
    return {name: one for name, one in found.items() if one.likeness not in titles or taken[one.ids[0]] == 1}


def find(name: str, ids: Collection[str]) -> Found | None:
    """Return the tests of a name: of the same name, else but for blanks, else the only one with its last title.

    ``ids`` have what they belong to before the first colon, which a name may begin with as with a title; one name may
    stand for tests in several places. Of several tests with a last title it is the only one that has all that the name
    has before it. The only one with a last title may have others before it: printed trees were read with lost levels.
    """
    bare = {each: own for each in ids if (own := each.partition(":")[2])}
    same = tuple(sorted(each for each, own in bare.items() if name in (own, each.replace(":", " > ", 1))))
    if same:
        return Found(ids=same, likeness=Likeness.EXACT)
    alike = tuple(sorted(each for each, own in bare.items() if _squeezed(own) == _squeezed(name)))
    if alike:
        return Found(ids=alike, likeness=Likeness.BLANKS)
    *above, last = _levels(name) or [""]
    levels = {each: _levels(each.replace(":", " > ", 1)) for each in bare}
    titled = [each for each, own in levels.items() if own[-1:] == [last]]
    near = [each for each in titled if {*above} <= {*levels[each][:-1]}]
    if len(near) == 1:
        return Found(ids=(near[0],), likeness=Likeness.TITLE)
    return Found(ids=(titled[0],), likeness=Likeness.ALONE) if len(titled) == 1 and " > " in name else None


def _squeezed(name: str) -> str:
    return _BLANKS.sub("", name)


def _levels(name: str) -> list[str]:
    return [_squeezed(each) for each in _LEVELS.split(name) if each.strip()]
