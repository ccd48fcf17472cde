"""False rejects from independent resolutions: an agent resolves a human comment several times, from its text alone."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from pytest_crab.curation.resolvable import why_unknown
from pytest_crab.formats import today
from pytest_crab.instances.oracle_errors import Measurement, oracle_digest
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.trial import Crew, run_trial
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import OracleError, Reason, Verdict

#: A resolution that did nothing, or nothing that applies, says nothing of the oracle.
_NO_FIX = (Reason.EMPTY_REVISION, Reason.DOES_NOT_APPLY, Reason.NO_FINDINGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionsMeasured:
    """The measurement of resolutions."""

    #: None if no resolution came about.
    measurement: Measurement | None
    #: Why resolutions did not come about.
    problems: tuple[str, ...] = ()


def measure_false_rejects(context: TrialContext, one: ProvedComment, crew: Crew, attempts: int) -> ResolutionsMeasured:
    """Let the crew's agent resolve one comment so often, and count the resolutions that its oracle refuses.

    Whether a refused one is right is not known, so each is undecided until a person looks at it. Those that fail the
    oracle and the project's own tests alike are left out, as are empty ones. The crew's reviewer is ``human``. Raises
    Cancelled.
    """
    alone = dataclasses.replace(context.instance, comments=(one.comment,))
    refused, accepted, problems = [], 0, []
    for attempt in range(1, attempts + 1):
        trial = run_trial(alone, crew, context.run_context, repeat=attempt)
        (result,) = trial.results
        if result.verdict is Verdict.UNKNOWN:
            problems.append(f"resolution {attempt} by {crew.spec.agent} is unknown: {why_unknown(trial, result)}")
        elif result.verdict is Verdict.CAUGHT:
            accepted += 1
        elif result.reason not in _NO_FIX and not trial.regressions:
            refused.append(f"{crew.spec.agent}-{attempt}")
    total = accepted + len(refused)
    if not total:
        return ResolutionsMeasured(measurement=None, problems=tuple(problems))
    measurement = Measurement(
        error=OracleError.FALSE_REJECT,
        total=total,
        undecided=tuple(refused),
        oracle=oracle_digest(context.instance, one.comment),
        date=today(),
        authors=1,  # an agent never sees an oracle
    )
    return ResolutionsMeasured(measurement=measurement, problems=tuple(problems))
