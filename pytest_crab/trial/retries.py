"""How often a step is tried again, by what it failed with, and how long is waited; never for a verdict."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_crab.errors import ContestantError
from pytest_crab.errors import CrabError
from pytest_crab.errors import EngineError
from pytest_crab.errors import GatewayError

#: Seconds: no wait is longer.
MOST_WAIT = 120.0

ENGINE, GATEWAY, SNAPSHOT = "engine", "gateway", "snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often to try again, and about how many seconds before the first time; each further wait is twice as long."""

    most: int
    wait: float

    def pause(self, failed: int) -> float | None:
        """Seconds until the next try after so many failures of this class; None: there is none."""
        if failed > self.most:
            return None
        return min(self.wait * 2.0 ** (failed - 1) * random.uniform(0.75, 1.25), MOST_WAIT)  # noqa: S311 - no secret


#: By class: an engine that restarts, a gateway that died, trees that are damaged on this machine and can be fetched
#: once more, and the words for clients that say that it is not their doing. What would be the same again is not here,
#: nor is what a deadline ended: there is one for each step. A failing provider is tried again by the gateway alone.
RETRIES: Mapping[str, Patience] = {
    ENGINE: Patience(most=4, wait=1.0),
    GATEWAY: Patience(most=2, wait=2.0),
    SNAPSHOT: Patience(most=1, wait=0.0),
    "rate_limited": Patience(most=3, wait=15.0),
    "overloaded": Patience(most=3, wait=10.0),
}


def class_of(error: CrabError) -> str | None:
    """The class of a failure, as in the table and on the record; None for what no second try would mend."""
    if isinstance(error, ContestantError):
        return None if error.final else error.status
    if isinstance(error, EngineError):
        return ENGINE if error.passing else None
    return GATEWAY if isinstance(error, GatewayError) and error.passing else None
