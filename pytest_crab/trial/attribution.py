"""Attribution: which findings, given to the agent alone, led to a catch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_crab.errors import AgentError, CrabError, DiffRejected, LimitSpent
from pytest_crab.types import Finding, Score


class Unattributed(CrabError):
    """A finding could not be tried alone, so the attribution is unknown."""


def attribute(
    caught: Sequence[str], findings: Sequence[Finding], alone: Callable[[Finding], Sequence[Score]]
) -> dict[str, tuple[int, ...]]:
    """Return for each caught comment the places of the findings each of which alone is enough for the catch.

    ``alone`` gives the scores of a revision that was made from one finding. A catch that the agent makes without any
    finding is not taken off here: see report.burden. Raises Unattributed where a finding could not be tried.
    """
    if not caught or len(findings) < 2:
        return {name: tuple(range(len(findings))) for name in caught}
    found: dict[str, list[int]] = {name: [] for name in caught}
    for place, finding in enumerate(findings):
        try:
            scores = {score.subject: score for score in alone(finding)}
        except (AgentError, DiffRejected, LimitSpent) as error:
            raise Unattributed(f"finding {place + 1} alone: {error}") from error
        for name in caught:
            if scores[name].label is None:
                raise Unattributed(f"{name}, finding {place + 1} alone: {scores[name].detail}")
            if scores[name].value:
                found[name].append(place)
    return {name: tuple(places) for name, places in found.items()}
