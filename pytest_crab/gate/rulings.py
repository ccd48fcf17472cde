"""What a gate may answer, and the exit status of each answer."""

from __future__ import annotations

from pytest_crab.types import Word

#: pytest's own numbers end at 6, and a well-known plugin uses 7.
PASSED, FAILED, INCONCLUSIVE, BROKEN = 0, 1, 8, 9


class Ruling(Word):
    """What the rule found."""

    NO_GATE = "no gate"
    STANDS = "pytest's status stands"
    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    BROKEN = "broken"


CODES = {Ruling.PASSED: PASSED, Ruling.FAILED: FAILED, Ruling.INCONCLUSIVE: INCONCLUSIVE, Ruling.BROKEN: BROKEN}

#: The worst first: what one ruling does to the others.
ORDER = (Ruling.BROKEN, Ruling.FAILED, Ruling.INCONCLUSIVE, Ruling.PASSED)
