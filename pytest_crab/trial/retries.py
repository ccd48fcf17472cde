"""The retries of a step, by the class of its failure; a verdict is never tried again."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_crab.errors import CrabError, EngineError, GatewayError, StatusError
from pytest_crab.retry_policy import RetryPolicy

ENGINE, GATEWAY, SNAPSHOT = "engine", "gateway", "snapshot"


#: By class: an engine that restarts, a gateway that died, trees that are damaged on this machine and can be fetched
#: once more, and the words for clients that say that it is not their doing. What would be the same again is not here,
#: nor is what a deadline ended: there is one for each step. A failing provider is tried again by the gateway alone.
RETRIES: Mapping[str, RetryPolicy] = {
    ENGINE: RetryPolicy(most=4, wait=1.0),
    GATEWAY: RetryPolicy(most=2, wait=2.0),
    SNAPSHOT: RetryPolicy(most=1, wait=0.0),
    "rate_limited": RetryPolicy(most=3, wait=15.0),
    "overloaded": RetryPolicy(most=3, wait=10.0),
}


def class_of(error: CrabError) -> str | None:
    """The class of a failure, as in the table and on the record; None for what no second try would mend."""
    if isinstance(error, StatusError):
        return None if error.final else error.status
    if isinstance(error, EngineError):
        return ENGINE if error.passing else None
    return GATEWAY if isinstance(error, GatewayError) and error.passing else None
