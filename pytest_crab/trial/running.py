"""Oracles in sandboxes: one sandbox for all plain oracles of a question, one for the isolated ones."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab import harness
from pytest_crab.protocols import FileChange
from pytest_crab.trial.stage import Stage
from pytest_crab.types import Comment
from pytest_crab.types import Isolation
from pytest_crab.types import Run

#: The id of the run that looks for damage.
PASS_TO_PASS = "pass_to_pass"  # noqa: S105 - the field's term


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One run that is wanted: this comment's oracle on this tree, for the n-th time."""

    comment: Comment
    tree: str
    number: int = 0

    @property
    def id(self) -> str:
        """The id of the run."""
        return f"{self.comment.id}/{self.tree}/{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What came back: runs by id, what the leak question found, and sentences about what went wrong around them."""

    runs: Mapping[str, Run]
    leaks: Mapping[str, Any] | None = None
    problems: tuple[str, ...] = ()


def ask(
    stage: Stage,
    questions: Sequence[Question],
    *,
    pass_to_pass: str | None = None,
    overlay: Mapping[str, str] | None = None,
    leaks: harness.LeakQuestion | None = None,
) -> Answers:
    """Run oracles, and pass_to_pass on one tree, each in a fresh copy of its tree. Raises EngineError, Cancelled."""
    environment = stage.instance.environment
    states: dict[str, Sequence[FileChange]] = {}
    for tree in {question.tree for question in questions} | ({pass_to_pass} if pass_to_pass else set()):
        states[tree] = () if tree == stage.snapshot.head_tree else stage.snapshot.changes(tree)
    plain_runs: list[harness.OracleRun | harness.CommandRun] = []
    isolated: list[harness.OracleRun | harness.CommandRun] = []
    for question in questions:
        run = harness.OracleRun(
            id=question.id,
            state=question.tree,
            seconds=environment.timeout,
            oracle=question.comment.examined,
            source=Path(stage.instance.folder, question.comment.examined.file).read_text("utf-8"),
        )
        (isolated if question.comment.examined.isolation is Isolation.PROCESS else plain_runs).append(run)
    if pass_to_pass and stage.instance.pass_to_pass:
        command = harness.CommandRun(
            id=PASS_TO_PASS, state=pass_to_pass, seconds=environment.timeout, command=stage.instance.pass_to_pass
        )
        plain_runs.append(command)
    if leaks is not None:
        states.setdefault(leaks.state, ())
    answers = [
        _execute(stage, states, runs, overlay or {}, question)
        for runs, question in ((plain_runs, leaks), (isolated, None))
        if runs or question
    ]
    return Answers(
        runs={run.id: run for report in answers for run in report.runs},
        leaks=next((report.leaks for report in answers if report.leaks is not None), None),
        problems=tuple(problem for report in answers for problem in report.problems),
    )


def _execute(
    stage: Stage,
    states: Mapping[str, Sequence[FileChange]],
    runs: Sequence[harness.OracleRun | harness.CommandRun],
    overlay: Mapping[str, str],
    leaks: harness.LeakQuestion | None,
) -> harness.Report:
    used = {run.state for run in runs} | ({leaks.state} if leaks else set())
    job = harness.Job(
        image=stage.image,
        environment=stage.instance.environment,
        states={name: changes for name, changes in states.items() if name in used},
        runs=runs,
        overlay=overlay,
        leaks=leaks,
    )
    runtime = stage.world.runtime
    completed = runtime.execute(stage.image, harness.commands(job), limits=stage.world.limits, seconds=job.seconds)
    return harness.parse(job, completed)
