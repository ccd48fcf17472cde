"""The audit of proved oracles: green on other right fixes, red on near misses. Certifying audits; a run does not."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_crab import verdict
from pytest_crab.errors import DiffRejected
from pytest_crab.scoring.oracles import keys
from pytest_crab.scoring.oracles.oracle_runs import OracleRequest, OracleResults, run_oracles
from pytest_crab.scoring.oracles.proof import ProvedComment, apply_to_head
from pytest_crab.scoring.protocols import ScoringContext
from pytest_crab.types import Ending, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """The sentences that say why an oracle should not ship, or why it could not be audited; none if it is sound."""

    problems: tuple[str, ...] = ()


def audit(context: ScoringContext, proven: Sequence[ProvedComment]) -> tuple[ProvedComment, ...]:
    """Audit the proved oracles that have checks; an oracle that fails has a problem in place of its proof.

    Raises what keeps this machine from answering: SourceError, ImageError, EngineError, StoreError, Cancelled.
    """
    checked = [one for one in proven if one.proof is not None and (one.comment.accepts or one.comment.rejects)]
    if not checked:
        return tuple(proven)
    results = context.perform(AuditStep(context, checked))
    failed = {name: "; ".join(result.problems) for name, result in results.items() if result.problems}
    return tuple(
        dataclasses.replace(one, proof=None, problem=failed[one.comment.id]) if one.comment.id in failed else one
        for one in proven
    )


class AuditStep:
    """The step that runs proved oracles on their checks, each once: one AuditResult for each comment."""

    name = "audit"
    record = AuditResult
    paid = False
    deadline = None
    reruns = ()

    def __init__(self, context: ScoringContext, proven: Sequence[ProvedComment]) -> None:
        self._context = context
        self._proven = {one.comment.id: one for one in proven}

    def keys(self) -> Mapping[str, str]:
        """See scoring.protocols.Step."""
        instance = self._context.instance
        return {name: keys.audit(instance, one.comment, one.key) for name, one in self._proven.items()}

    def run(self, subjects: Sequence[str]) -> Mapping[str, AuditResult]:
        """See scoring.protocols.Step."""
        results, trees = {}, {}
        for subject in subjects:
            comment = self._proven[subject].comment
            try:
                files = (*comment.accepts, *comment.rejects)
                trees[subject] = {file: apply_to_head(self._context, file) for file in files}
            except DiffRejected as error:
                results[subject] = AuditResult(problems=(f"the oracle of {subject} cannot be audited: {error}",))
        requests = {
            request.id: request
            for subject, by_file in trees.items()
            for request in (
                OracleRequest(comment=self._proven[subject].comment, tree=tree) for tree in by_file.values()
            )
        }
        answers = run_oracles(self._context, list(requests.values()))
        return {**results, **{subject: self._result(subject, by_file, answers) for subject, by_file in trees.items()}}

    def lasts(self, result: AuditResult) -> bool:
        """See scoring.protocols.Step."""
        return not result.problems

    def _result(self, subject: str, trees: Mapping[str, str], answers: OracleResults) -> AuditResult:
        one = self._proven[subject]

        def runs(files: Sequence[str]) -> dict[str, list[Run]]:
            ids = {file: OracleRequest(comment=one.comment, tree=trees[file]).id for file in files}
            return {file: [answers.runs[name]] if name in answers.runs else [] for file, name in ids.items()}

        accepts, rejects = runs(one.comment.accepts), runs(one.comment.rejects)
        for run in [run for group in (*accepts.values(), *rejects.values()) for run in group]:
            if run.ending is Ending.UNSTARTED:
                return AuditResult(problems=(f"the oracle of {subject} is not audited: {run.detail}",))
        assert one.proof is not None
        instance = self._context.instance.id
        return AuditResult(problems=verdict.audit(instance, one.proof, accepts=accepts, rejects=rejects))
