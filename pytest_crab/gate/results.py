"""The words for what a comparison shows, gate results, and their exit statuses."""

from __future__ import annotations

from pytest_crab.types import StrEnum

#: pytest's own numbers end at 6, and a well-known plugin uses 7.
PASSED, FAILED, INCONCLUSIVE, BROKEN = 0, 1, 8, 9


class Word(StrEnum):
    """The word for what a comparison with a baseline shows; better is also no worse."""

    WORSE = "worse"
    CANNOT_TELL = "cannot tell"
    WITHIN = "worse, within the margin"
    NO_WORSE = "no worse"
    BETTER = "better"


class GateResult(StrEnum):
    """The result of a gate; NOT_APPLIED: another failure keeps pytest's own status."""

    NO_GATE = "no gate"
    NOT_APPLIED = "pytest's status stands"
    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    BROKEN = "broken"


CODES = {
    GateResult.PASSED: PASSED,
    GateResult.FAILED: FAILED,
    GateResult.INCONCLUSIVE: INCONCLUSIVE,
    GateResult.BROKEN: BROKEN,
}

#: The worst first, which is the one that decides.
ORDER = (GateResult.BROKEN, GateResult.FAILED, GateResult.INCONCLUSIVE, GateResult.PASSED)

#: What a gate makes of each word.
RESULTS = {
    Word.WORSE: GateResult.FAILED,
    Word.CANNOT_TELL: GateResult.INCONCLUSIVE,
    Word.WITHIN: GateResult.PASSED,
    Word.NO_WORSE: GateResult.PASSED,
    Word.BETTER: GateResult.PASSED,
}


def worse_status(first: int, second: int) -> int:
    """Return the worse of two gates' exit statuses; one that no gate gives, such as of an interrupt, stands."""
    codes = [CODES[result] for result in ORDER]
    return min(first, second, key=lambda status: codes.index(status) if status in codes else -1)
