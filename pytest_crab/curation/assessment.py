"""Run oracles on every state that they are checked against, whatever the results on the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_crab import ecosystems, verdict
from pytest_crab.errors import DiffRejected
from pytest_crab.scoring.oracles.oracle_runs import OracleRequest, run_oracles
from pytest_crab.scoring.oracles.states import CheckedState, Role, checked_states, goes_together
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Comment, Ending, Proof, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class StateAssessment:
    """An oracle's result on one state."""

    role: Role
    #: The diff from head.
    name: str
    #: Why the result is wrong, else None.
    fault: str | None
    #: Empty if the diff does not apply.
    runs: tuple[Run, ...] = ()
    #: Whether all runs had the same outcomes.
    agree: bool = True

    @property
    def right(self) -> bool:
        """True if the oracle is red or green here as it must be."""
        return self.fault is None and self.agree

    @property
    def ran(self) -> bool:
        """True if a test of the oracle came to a verdict here, and did not only fail to load or to be set up."""
        return any(test.outcome in ("passed", "failed") for run in self.runs for test in run.tests)

    @property
    def is_known(self) -> bool:
        """True unless a run was never started, which says nothing of the oracle."""
        return not self.runs or all(map(_was_started, self.runs))


def assess(context: TrialContext, comments: Sequence[Comment]) -> dict[str, tuple[StateAssessment, ...]]:
    """Return the results of these oracles on all their states, by comment, without those that cannot run here.

    Head and references are run as often as for a proof, the states of the audit once. Raises SourceError, ImageError,
    EngineError, Cancelled.
    """
    asked = [one for one in comments if ecosystems.unsupported_reason(context.image.facts, one.required_oracle) is None]
    trees = {comment.id: list(_trees(context, comment)) for comment in asked}
    requests = {
        request.id: request
        for comment in asked
        for role, _, tree in trees[comment.id]
        if not isinstance(tree, DiffRejected)
        for request in _requests(context, comment, role, tree)
    }
    runs = dict(run_oracles(context, list(requests.values())).runs) if requests else {}
    unstarted = [request for key, request in requests.items() if key not in runs or not _was_started(runs[key])]
    if unstarted:
        runs.update(run_oracles(context, unstarted).runs)
    found = {}
    for comment in asked:
        states = []
        for role, name, tree in trees[comment.id]:
            if isinstance(tree, DiffRejected):
                states.append(StateAssessment(role=role, name=name, fault=f"it does not apply to head: {tree}"))
                continue
            wanted = [request.id for request in _requests(context, comment, role, tree)]
            states.append(
                StateAssessment(
                    role=role, name=name, fault=None, runs=tuple(runs[key] for key in wanted if key in runs)
                )
            )
        found[comment.id] = tuple(_going_together(context, judge_states(comment.id, states), trees[comment.id]))
    return found


def _going_together(
    context: TrialContext, states: Sequence[StateAssessment], trees: Sequence[tuple[Role, str, str | DiffRejected]]
) -> Iterator[StateAssessment]:
    """Yield the states without those in company whose changes break the project's own tests together."""
    for state, (_, _, tree) in zip(states, trees, strict=True):
        refused = state.role is Role.COMPANY and state.fault is not None
        if not (refused and not goes_together(context, str(tree))):
            yield state


def _was_started(run: Run) -> bool:
    return run.ending is not Ending.UNSTARTED


def judge_states(comment: str, states: Sequence[StateAssessment]) -> tuple[StateAssessment, ...]:
    """Return the states with their faults; the expected tests are those that ran on the reference."""
    head, reference = (
        next((state.runs for state in states if state.role is role and state.runs), ())
        for role in (Role.HEAD, Role.REFERENCE)
    )
    green = [run for state in states if not state.role.red for run in state.runs]
    expected = tuple(sorted({test.id for run in reference[:1] for test in run.tests}))
    proof = Proof(
        comment=comment,
        expected=expected,
        guards=verdict.guards_of(expected, head),
        altered=tuple(sorted({name for run in green for name in run.altered})),
        runs=max(1, len(reference)),
        flake_bound=verdict.flake_bound(max(1, len(reference))),
    )
    return tuple(state if state.fault else _judge(proof, state) for state in states)


def _judge(proof: Proof, state: StateAssessment) -> StateAssessment:
    decide = verdict.not_red if state.role.red else verdict.not_green
    faults = [fault for fault in (decide(proof, run) for run in state.runs) if fault is not None]
    fault = faults[0] if faults else None if state.runs else "it was never run"
    seen = {(run.ending, frozenset((test.id, test.outcome) for test in run.tests)) for run in state.runs}
    return StateAssessment(role=state.role, name=state.name, fault=fault, runs=state.runs, agree=len(seen) <= 1)


def _trees(context: TrialContext, comment: Comment) -> Iterator[tuple[Role, str, str | DiffRejected]]:
    """Yield role, name and tree of every state; a pair in company that does not go together is left out."""
    yield Role.HEAD, "head", context.snapshot.head_tree
    yield Role.REFERENCE, "the reference", context.snapshot.reference_tree
    own = [CheckedState(role=Role.OWN, diffs=(comment.reference,))] if comment.reference else []
    for state in (*own, *checked_states(context.instance, comment)):
        try:
            yield state.role, state.name, state.tree(context)
        except DiffRejected as error:
            if state.role is not Role.COMPANY:
                yield state.role, state.name, error


def _requests(context: TrialContext, comment: Comment, role: Role, tree: str) -> Iterator[OracleRequest]:
    often = context.run_context.proof_runs if role in (Role.HEAD, Role.REFERENCE, Role.OWN) else 1
    for number in range(often):
        yield OracleRequest(comment=comment, tree=tree, number=number)
