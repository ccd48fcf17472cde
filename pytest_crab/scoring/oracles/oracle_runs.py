"""Oracle runs: one sandbox for all plain oracles of a request, one for the isolated ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab import harness
from pytest_crab.protocols import FileChange
from pytest_crab.scoring.protocols import ScoringContext
from pytest_crab.types import PASS_TO_PASS, Comment, Ending, Isolation, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleRequest:
    """Request to run a comment's oracle on a tree, for the n-th time."""

    comment: Comment
    tree: str
    number: int = 0

    @property
    def id(self) -> str:
        """The id of the run."""
        return f"{self.comment.id}/{self.tree}/{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleResults:
    """Runs by id, the facts for the leak proof, and sentences about problems around the runs."""

    runs: Mapping[str, Run]
    leaks: Mapping[str, Any] | None = None
    problems: tuple[str, ...] = ()


def run_oracles(
    context: ScoringContext,
    requests: Sequence[OracleRequest],
    *,
    pass_to_pass: str | None = None,
    overlay: Mapping[str, str] | None = None,
    leaks: harness.LeakQuestion | None = None,
) -> OracleResults:
    """Run oracles, and pass_to_pass on one tree, each in a fresh copy of its tree. Raises EngineError, Cancelled."""
    environment = context.instance.required_environment
    states: dict[str, Sequence[FileChange]] = {}
    for tree in {request.tree for request in requests} | ({pass_to_pass} if pass_to_pass else set()):
        states[tree] = () if tree == context.snapshot.head_tree else context.snapshot.changes(tree)
    plain_runs: list[harness.OracleRun | harness.CommandRun] = []
    isolated: list[harness.OracleRun | harness.CommandRun] = []
    for request in requests:
        run = harness.OracleRun(
            id=request.id,
            state=request.tree,
            seconds=environment.timeout,
            oracle=request.comment.required_oracle,
            source=Path(context.instance.folder, request.comment.required_oracle.file).read_text("utf-8"),
        )
        (isolated if request.comment.required_oracle.isolation is Isolation.PROCESS else plain_runs).append(run)
    if pass_to_pass and context.instance.pass_to_pass:
        command = harness.CommandRun(
            id=PASS_TO_PASS, state=pass_to_pass, seconds=environment.timeout, command=context.instance.pass_to_pass
        )
        plain_runs.append(command)
    if leaks is not None:
        states.setdefault(leaks.state, ())
    answers = [
        _execute(context, states, runs, overlay or {}, question)
        for runs, question in ((plain_runs, leaks), (isolated, None))
        if runs or question
    ]
    return OracleResults(
        runs={run.id: run for report in answers for run in report.runs},
        leaks=next((report.leaks for report in answers if report.leaks is not None), None),
        problems=tuple(problem for report in answers for problem in report.problems),
    )


def tests_pass(context: ScoringContext, tree: str) -> bool:
    """Return whether pass_to_pass, which the instance must have, passes on a tree. Raises EngineError, Cancelled."""
    run = run_oracles(context, [], pass_to_pass=tree).runs[PASS_TO_PASS]
    return run.ending is Ending.COMPLETED and run.exit_code == 0


def _execute(
    context: ScoringContext,
    states: Mapping[str, Sequence[FileChange]],
    runs: Sequence[harness.OracleRun | harness.CommandRun],
    overlay: Mapping[str, str],
    leaks: harness.LeakQuestion | None,
) -> harness.HarnessReport:
    used = {run.state for run in runs} | ({leaks.state} if leaks else set())
    job = harness.Job(
        image=context.image,
        environment=context.instance.required_environment,
        states={name: changes for name, changes in states.items() if name in used},
        runs=runs,
        overlay=overlay,
        leaks=leaks,
    )
    completed = context.execute(harness.commands(job), seconds=job.seconds)
    return harness.parse(job, completed)
