"""Oracle runs: one sandbox for all plain oracles of a request, one for the isolated ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from pytest_crab import harness, serialization, verdict
from pytest_crab.ecosystems import needs_install, of_runner, runs_own_tests
from pytest_crab.errors import InstallFailed
from pytest_crab.instances import own_tests
from pytest_crab.instances.files import oracle_source
from pytest_crab.instances.own_tests import OwnTests
from pytest_crab.protocols import FileChange, InstallResult
from pytest_crab.scoring.protocols import ScoringContext
from pytest_crab.scoring.steps import Step
from pytest_crab.types import PASS_TO_PASS, Comment, Ending, Instance, Isolation, Oracle, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleRequest:
    """Request to run a comment's oracle on a tree."""

    comment: Comment
    tree: str
    #: The number of the run on this tree.
    number: int = 0

    @property
    def id(self) -> str:
        """The id of the run."""
        return f"{self.comment.id}/{self.tree}/{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleResults:
    """The results of some oracle runs."""

    #: The runs by id.
    runs: Mapping[str, Run]
    #: The facts for the leak proof.
    leaks: Mapping[str, Any] | None = None
    #: Sentences about problems around the runs.
    problems: tuple[str, ...] = ()


def run_oracles(
    context: ScoringContext,
    requests: Sequence[OracleRequest],
    *,
    pass_to_pass: str | None = None,
    leaks: harness.LeakQuestion | None = None,
) -> OracleResults:
    """Run oracles, and pass_to_pass on one tree, each in a fresh copy of its tree, installed anew where that is needed.

    Raises BadInput, EngineError, StoreError, Cancelled.
    """
    runs: list[harness.AnyRun] = [run_of(context, request) for request in requests]
    if pass_to_pass and context.instance.pass_to_pass:
        runs.append(_pass_to_pass_run(context.instance, pass_to_pass))
    trees = {run.state for run in runs} | ({leaks.state} if leaks else set())
    states = {tree: context.snapshot.changes(tree) for tree in trees}
    installs, uninstalled = install_all(context, {run.state: states[run.state] for run in runs})
    ready = [run for run in runs if run.state not in uninstalled]
    isolated = [
        run for run in ready if isinstance(run, harness.OracleRun) and run.oracle.isolation is Isolation.PROCESS
    ]
    plain = [run for run in ready if run not in isolated]
    answers = [
        _execute(context, of_kind, states, installs, question)
        for of_kind, question in ((plain, leaks), (isolated, None))
        if of_kind or question
    ]
    failed = [
        Run(id=run.id, ending=Ending.UNINSTALLED, detail=uninstalled[run.state])
        for run in runs
        if run.state in uninstalled
    ]
    return OracleResults(
        runs={run.id: run for run in (*failed, *(run for report in answers for run in report.runs))},
        leaks=next((report.leaks for report in answers if report.leaks is not None), None),
        problems=tuple(problem for report in answers for problem in report.problems),
    )


def run_of(context: ScoringContext, request: OracleRequest) -> harness.OracleRun | harness.OwnTestsRun:
    """Return the run of an oracle. Raises BadInput for one of the project's own tests that cannot be read."""
    instance, oracle = context.instance, request.comment.required_oracle
    seconds = instance.required_environment.timeout
    owner = of_runner(oracle.runner)
    own = own_tests_of(instance, oracle)
    if owner is None or own is None:
        source = oracle_source(instance, oracle)
        return harness.OracleRun(id=request.id, state=request.tree, seconds=seconds, oracle=oracle, source=source)
    return harness.OwnTestsRun(
        id=request.id,
        state=request.tree,
        seconds=seconds,
        ecosystem=owner.name,
        files=tuple(own.files),
        names=own.names,
        oracle=own,
    )


def _pass_to_pass_run(instance: Instance, tree: str) -> harness.CommandRun | harness.OwnTestsRun:
    """Return the run of the project's command on a tree, or of the files of tests that the runner of its own takes."""
    first, *files = command = instance.pass_to_pass
    seconds, owner = instance.required_environment.timeout, of_runner(first)
    if owner is None or not runs_own_tests(first):
        return harness.CommandRun(id=PASS_TO_PASS, state=tree, seconds=seconds, command=command)
    return harness.OwnTestsRun(
        id=PASS_TO_PASS, state=tree, seconds=seconds, ecosystem=owner.name, files=tuple(files), names=()
    )


def own_tests_of(instance: Instance, oracle: Oracle) -> OwnTests | None:
    """Return the project's own tests that are an oracle; None for any other oracle. Raises BadInput."""
    if not runs_own_tests(oracle.runner):
        return None
    where = f"{instance.id}: oracle.file ({oracle.file})"
    return own_tests.load(oracle_source(instance, oracle), oracle.runner, where)


def tests_pass(context: ScoringContext, tree: str) -> bool:
    """Return whether pass_to_pass, which the instance must have, passes on a tree. Raises EngineError, Cancelled."""
    run = run_oracles(context, [], pass_to_pass=tree).runs[PASS_TO_PASS]
    return verdict.pass_to_pass_fault(run) is None


def _execute(
    context: ScoringContext,
    runs: Sequence[harness.AnyRun],
    states: Mapping[str, Sequence[FileChange]],
    installs: Mapping[str, InstallResult],
    leaks: harness.LeakQuestion | None,
) -> harness.HarnessReport:
    used = {run.state for run in runs} | ({leaks.state} if leaks else set())
    job = harness.Job(
        image=context.image,
        environment=context.instance.required_environment,
        states={tree: states[tree] for tree in used},
        runs=runs,
        installs={name: made for name, made in installs.items() if name in used},
        leaks=leaks,
    )
    completed = context.execute(harness.commands(job), seconds=job.seconds)
    return harness.parse(job, completed)


def install_all(
    context: ScoringContext, trees: Mapping[str, Sequence[FileChange]]
) -> tuple[Mapping[str, InstallResult], Mapping[str, str]]:
    """Install those trees anew that head's install does not serve; what that made, and why a tree does not install.

    ``trees`` are given with what they change of head. What was made once is taken from the store. Raises EngineError,
    StoreError, Cancelled.
    """
    made: dict[str, InstallResult] = {}
    failed: dict[str, str] = {}
    for tree in sorted(tree for tree, changes in trees.items() if _needs_install(context, changes)):
        try:
            made[tree] = context.cache.results(_InstallStep(context, tree))[""]
        except InstallFailed as error:
            failed[tree] = str(error)
    return made, failed


def _needs_install(context: ScoringContext, changes: Sequence[FileChange]) -> bool:
    changed = (change.path for change in changes)
    return needs_install(context.instance.required_environment, changed, frozenset(context.image.compiled))


class _InstallStep(Step[InstallResult]):
    """The step that installs one tree; a failure is kept by the verdicts that it decides."""

    name = "install"
    record = InstallResult

    def __init__(self, context: ScoringContext, tree: str) -> None:
        self._context = context
        self._tree = tree

    @override
    def keys(self) -> Mapping[str, str]:
        return {"": serialization.digest({"environment": self._context.environment, "tree": self._tree})}

    @override
    def run(self, subjects: Sequence[str]) -> Mapping[str, InstallResult]:
        return {subject: self._context.reinstall(self._tree) for subject in subjects}
