"""The verdicts that a gate decides on: those of the rate, or what each review resolves alone."""

from __future__ import annotations

import dataclasses

from pytest_crab.results.outcomes import outcomes_of
from pytest_crab.results.stability import stability
from pytest_crab.results.summary import Summary

#: The option's word for those of the rate.
RATE = "rate"

#: What a gate says of itself where it does not decide on the rate.
ACCOUNT = "Caught means resolved alone here: by what the review's own near findings changed, with no other change."


def decided_on(summary: Summary, on: str) -> Summary:
    """Return the summary with the verdicts that a gate decides on; rates in it stay those of the run."""
    if on == RATE:
        return summary
    found = []
    for own in summary.reviewers:
        oracles = tuple(oracle.resolved_alone() for oracle in own.oracles)
        found.append(
            dataclasses.replace(own, oracles=oracles, outcomes=outcomes_of(oracles), stability=stability(oracles))
        )
    return dataclasses.replace(summary, reviewers=tuple(found))
