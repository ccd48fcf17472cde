"""Gate results and their exit statuses."""

from __future__ import annotations

from pytest_crab.types import StrEnum

#: pytest's own numbers end at 6, and a well-known plugin uses 7.
PASSED, FAILED, INCONCLUSIVE, BROKEN = 0, 1, 8, 9


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
