"""Questions for one's own rows: wrong lines by Jaccard similarity, and filters of comments (arXiv 2503.16167)."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_crab import serialization
from pytest_crab.benchmarks.codereviewqa.choices.options import ChangeType
from pytest_crab.benchmarks.codereviewqa.reader import require_code

#: The number of wrong options of a question.
WRONG = 3

#: The shortest comment that is kept, in characters.
_SHORTEST = 10

_FORMATTING = re.compile(r"\b(?:indentation|spacing|lint)", re.IGNORECASE)
_ELSEWHERE = re.compile(r"\b(?:revert|as above|ditto)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedCode:
    """A piece of code before and after a review comment was resolved, its lines marked as in CodeReviewQA's release."""

    old: str
    new: str
    review: str
    lang: str

    def __post_init__(self) -> None:
        require_code(self.old, self.new, self.lang)
        if _unmarked_lines(self.old) != _unmarked_lines(self.new):
            raise ValueError("old and new differ in a line without a mark; it should be - in old and + in new")

    @property
    def change(self) -> ChangeType | None:
        """The type of change by the marks; None: no line is marked."""
        deletes = any(line.startswith("-") for line in self.old.split("\n"))
        adds = any(line.startswith("+") for line in self.new.split("\n"))
        if deletes:
            return ChangeType.MODIFY if adds else ChangeType.DELETE
        return ChangeType.ADD if adds else None

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of the old code that go away; where lines are only added, those below which they come, from 0."""
        if self.change is not ChangeType.ADD:
            return tuple(n for n, line in enumerate(self.old.split("\n"), 1) if line.startswith("-"))
        return tuple(dict.fromkeys(_places(self.new.split("\n"))))

    @property
    def places(self) -> range:
        """All lines that an option may name."""
        return range(0 if self.change is ChangeType.ADD else 1, len(self.old.split("\n")) + 1)


def _unmarked_lines(code: str) -> list[str]:
    return [line[1:] for line in code.split("\n") if not line.startswith(("-", "+"))]


def _places(lines: Sequence[str]) -> Iterator[int]:
    """Yield for each added line how many lines of the old code stand above it."""
    above = 0
    for line in lines:
        if line.startswith("+"):
            yield above
        else:
            above += 1


def fault_of_comment(review: str) -> str | None:
    """Return in a few words why a comment is left out by appendix C; None: it is kept."""
    if len(review.strip()) < _SHORTEST:
        return "the comment is too short"
    if not any(letter.isalpha() for letter in review):
        return "the comment has no letters"
    if "```" in review:
        return "the comment holds code that could be copied"
    if _FORMATTING.search(review):
        return "the comment is on formatting"
    if _ELSEWHERE.search(review):
        return "the comment refers to something else"
    return None


def wrong_lines(correct: Sequence[int], places: Sequence[int], *, hard: bool, seed: str) -> list[list[int]] | None:
    """Return three wrong sets of lines as large as the correct one; None where there are not as many.

    Easy ones share as few lines as can be, with the correct one and with each other; hard ones share all but one with
    the correct one, Jaccard similarity (n - 1) / (n + 1) (section 3.4). The same ``seed`` gives the same sets.
    """
    draw = random.Random(seed)  # noqa: S311 - no secret
    others = [place for place in places if place not in correct]
    return _hard(correct, others, draw) if hard else _easy(correct, others, draw)


def _hard(correct: Sequence[int], others: Sequence[int], draw: random.Random) -> list[list[int]] | None:
    left_out = draw.sample(list(correct), len(correct))
    swaps = [(out, into) for out in left_out for into in draw.sample(list(others), len(others))]
    if len(swaps) < WRONG:
        return None
    return [sorted({*correct, into} - {out}) for out, into in swaps[:WRONG]]  # of one line swapped, as far as can be


def _easy(correct: Sequence[int], others: Sequence[int], draw: random.Random) -> list[list[int]] | None:
    """Take, for each set, the lines that the options have used least."""
    used = Counter(correct)
    found: list[list[int]] = []
    for _ in range(WRONG):
        sets = _least_used([*others, *correct], used, len(correct), draw)
        known = [sorted(correct), *found]
        chosen = next((each for each in itertools.islice(sets, 200) if each not in known), None)
        if chosen is None:
            return None
        found.append(chosen)
        used.update(chosen)
    return found


def _least_used(places: Sequence[int], used: Counter[int], count: int, draw: random.Random) -> Iterator[list[int]]:
    """Yield sets of so many places, those that were used least first; equal ones in any order."""
    order = sorted(places, key=lambda place: (used[place], draw.random()))
    for some in itertools.combinations(order, count):
        yield sorted(some)


def questions_on(row: ReviewedCode) -> dict[str, object] | str:
    """Return the fields of the release that hold a row's questions on type and lines; a sentence: it has none."""
    change = row.change
    if change is None:
        return "no line is marked as changed"
    seed = serialization.digest(row)
    options = {
        name: wrong_lines(row.lines, row.places, hard=name == "loc_wrong_hard", seed=f"{seed} {name}")
        for name in ("loc_wrong_easy", "loc_wrong_hard")
    }
    if None in options.values():
        return "the code has too few other lines for three wrong options"
    wrong = [each.value for each in ChangeType if each is not change]
    return {"type_correct": change.value, "type_wrong": wrong, "loc_correct": list(row.lines), **options}
