"""Measure how long 10,000 findings take by each rule by location: spread over pull requests, and all in one file."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from pytest_crab.scoring.location import RULES, Place

FINDINGS, COMMENTS, PULL_REQUESTS = 10_000, 1_505, 196

#: What it may take, in seconds (the project's budget).
BUDGET = 5.0


def main() -> None:
    """Print the seconds of each rule; exit status 1 if one is over the budget."""
    slow = False
    for shape, pulls, paths in (("spread", PULL_REQUESTS, 10), ("one file", 1, 1)):
        reviews = list(some_reviews(pulls, paths))
        for name, rule in RULES.items():
            start = time.perf_counter()
            line = sum(len(rule.match(findings, comments, same_line).line) for findings, comments in reviews)
            seconds = time.perf_counter() - start
            slow = slow or seconds > BUDGET
            print(f"{shape:9} {name:16} {seconds:6.2f} s, {line} matches")
    if slow:
        raise SystemExit(1)


def same_line(finding: int, comment: int) -> bool:
    """Call some pairs the same concern."""
    return (finding + comment) % 7 == 0


def some_reviews(pulls: int, paths: int) -> Iterator[tuple[list[Place], list[Place]]]:
    """Yield random findings and comments of so many pull requests, each of so many files."""
    source = random.Random(15)

    def places(count: int) -> list[Place]:
        found = []
        for _ in range(count):
            first = source.randint(1, 2000)
            found.append(Place(path=f"f{source.randrange(paths)}.c", lines=(first, first + source.randint(0, 20))))
        return found

    for _ in range(pulls):
        yield places(FINDINGS // pulls), places(COMMENTS // pulls)


if __name__ == "__main__":
    main()
