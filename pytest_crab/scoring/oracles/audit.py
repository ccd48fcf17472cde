"""The audit of proved oracles: green on right fixes, alone and in company, red on near misses. A run audits nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from pytest_crab import verdict
from pytest_crab.errors import DiffRejected
from pytest_crab.scoring.oracles import keys
from pytest_crab.scoring.oracles.oracle_runs import OracleRequest, OracleResults, run_oracles
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.scoring.oracles.states import CheckedState, Role, applied_states, checked_states, goes_together
from pytest_crab.scoring.protocols import ScoringContext
from pytest_crab.scoring.steps import Step
from pytest_crab.types import Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """The audit of one oracle."""

    #: Sentences on why it should not ship, or why it could not be audited; none if it is sound.
    problems: tuple[str, ...] = ()
    #: The number of states in company that it was run on.
    company: int = 0
    #: The time of its longest run.
    seconds: float = 0.0
    #: The state of that run.
    slowest: str | None = None


def audit(context: ScoringContext, proven: Sequence[ProvedComment]) -> tuple[ProvedComment, ...]:
    """Audit the proved oracles that have checks; an oracle that fails has a problem in place of its proof.

    Raises what keeps this machine from answering: SourceError, ImageError, EngineError, StoreError, Cancelled.
    """
    checked = [one for one in proven if one.proof is not None and any(checked_states(context.instance, one.comment))]
    if not checked:
        return tuple(proven)
    results = context.perform(AuditStep(context, checked))
    return tuple(_audited(one, results.get(one.comment.id)) for one in proven)


def _audited(one: ProvedComment, result: AuditResult | None) -> ProvedComment:
    if result is None:
        return one
    timed = dataclasses.replace(one, seconds=result.seconds, slowest=result.slowest)
    if result.problems:
        return dataclasses.replace(timed, proof=None, problem="; ".join(result.problems))
    return dataclasses.replace(timed, company=result.company)


class AuditStep(Step[AuditResult]):
    """The step that runs proved oracles on their checks, each once: one AuditResult for each comment."""

    name = "audit"
    record = AuditResult

    def __init__(self, context: ScoringContext, proven: Sequence[ProvedComment]) -> None:
        self._context = context
        self._proven = {one.comment.id: one for one in proven}

    @override
    def keys(self) -> Mapping[str, str]:
        instance = self._context.instance
        return {name: keys.audit(instance, one.comment, one.key) for name, one in self._proven.items()}

    @override
    def run(self, subjects: Sequence[str]) -> Mapping[str, AuditResult]:
        results: dict[str, AuditResult] = {}
        requests: dict[str, dict[CheckedState, OracleRequest]] = {}
        for subject in subjects:
            comment = self._proven[subject].comment
            try:
                requests[subject] = {
                    state: OracleRequest(comment=comment, tree=tree)
                    for state, tree in applied_states(self._context, comment)
                }
            except DiffRejected as error:
                results[subject] = AuditResult(problems=(f"the oracle of {subject} cannot be audited: {error}",))
        wanted = {request.id: request for by_state in requests.values() for request in by_state.values()}
        answers = run_oracles(self._context, list(wanted.values()))
        damaged = self._damaging_company(requests.values())
        for subject, by_state in requests.items():
            result = self._result(subject, by_state, answers)
            results[subject] = dataclasses.replace(result, problems=(*damaged, *result.problems))
        return results

    @override
    def lasts(self, result: AuditResult) -> bool:
        return not result.problems

    def _result(
        self, subject: str, requests: Mapping[CheckedState, OracleRequest], answers: OracleResults
    ) -> AuditResult:
        one = self._proven[subject]
        assert one.proof is not None
        runs = {
            state: [answers.runs[request.id]] if request.id in answers.runs else []
            for state, request in requests.items()
        }
        for run in [run for found in runs.values() for run in found]:
            if run.ending is Ending.UNSTARTED:
                return AuditResult(problems=(f"the oracle of {subject} is not audited: {run.detail}",))
        for state in [state for state in runs if state.role is Role.COMPANY]:
            refused = any(verdict.not_green(one.proof, run) for run in runs[state])
            if refused and not goes_together(self._context, requests[state].tree):
                del runs[state]
        green = {state.name: found for state, found in runs.items() if not state.role.red}
        red = {state.name: found for state, found in runs.items() if state.role.red}
        problems = verdict.audit(self._context.instance.id, one.proof, green=green, red=red)
        timed = ((run.seconds, state.name) for state, found in runs.items() for run in found)
        seconds, slowest = max(timed, default=(0.0, None))
        return AuditResult(
            problems=problems,
            company=sum(state.role is Role.COMPANY for state in runs),
            seconds=seconds,
            slowest=slowest,
        )

    def _damaging_company(self, requests: Iterable[Mapping[CheckedState, OracleRequest]]) -> tuple[str, ...]:
        """Return a sentence for each change of ``company`` that breaks the project's own tests, so that it is wrong."""
        trees = {
            state.name: request.tree
            for by_state in requests
            for state, request in by_state.items()
            if state.role is Role.UNRELATED
        }
        return tuple(
            f"{self._context.instance.id}: {name} is no right change: pass_to_pass fails with it"
            for name, tree in trees.items()
            if not goes_together(self._context, tree)
        )
