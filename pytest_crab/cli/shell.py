"""The shell command: the workspace of an instance, to look around in, to try things, to make diffs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

from pytest_crab import diffs
from pytest_crab.cli.lookup import find_trials, one_instance
from pytest_crab.cli.run_contexts import proving_context, refuse_foreign
from pytest_crab.cli.shared_options import choose_runtime, record_option, runtime_option, store_option
from pytest_crab.curation import interactive
from pytest_crab.curation.certify import interpreters_of
from pytest_crab.diffs import is_inside
from pytest_crab.errors import DiffRejected, EngineError
from pytest_crab.instances import lock
from pytest_crab.protocols import Snapshot
from pytest_crab.runtimes.slots import Slots
from pytest_crab.text import one_line
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Instance, Trial
from pytest_crab.waiting import FOR_A_SLOT

_STATES: dict[str, Callable[[Snapshot], str]] = {
    "head": lambda snapshot: snapshot.head_tree,
    "reference": lambda snapshot: snapshot.reference_tree,
}


def _say_wait(step: str) -> None:
    """Say that a step waits for a slot; all else is soon done."""
    if step.endswith(FOR_A_SLOT):
        click.echo(f"{step} ({Slots()})", err=True)


@click.command()
@click.argument("name", metavar="PATH|ID|TRIAL")
@click.option(
    "--at", type=click.Choice(list(_STATES)),
    help="Which state the workspace starts with; that of a trial is its revision.  [default: head]",
)  # fmt: skip
@record_option
@click.option("-c", "command", help="Run this command line and exit; without it, read commands from standard input.")
@click.option("--save", metavar="FILE", help="Write the changes, as a diff from head, into this file of the instance.")
@click.option(
    "--seconds", type=click.FloatRange(min=1), default=600, show_default=True, help="The time-out of -c, in seconds."
)
@runtime_option("The runtime of the workspace.")
@store_option("The folder in which sources and environments are kept.")
@click.pass_context
def shell(
    ctx: click.Context,
    name: str,
    *,
    at: str | None,
    report: Path | None,
    command: str | None,
    save: str | None,
    seconds: float,
    runtime: str,
    store: Path,
) -> None:
    """Open a shell in the workspace of the instance at PATH or with this ID, or with the revision of a TRIAL.

    TRIAL is INSTANCE::REVIEWER, with [N] for the N-th repeat, as pytest prints it: its revision is applied anew, from
    the record, and nothing is installed again. The workspace is what reviewers and agents get: the tree at head, no
    network, the environment of the oracles, but no oracles. It is removed at the end; --save keeps the changes.
    The exit status is the shell's.
    """
    state, trial = _STATES[at or "head"], None
    if "::" in name:
        if at is not None:
            raise click.UsageError(f"{name} is a trial, whose state is its revision; leave out --at")
        trial = _one_trial(name, report, store)
        state, name = _revised_tree(trial), name.partition("::")[0]
    instance = one_instance(name)
    if trial is not None and trial.versions.get("instance") not in (None, lock.digest(instance)[:16]):
        click.echo(f"{instance.id} was changed since this trial: what you see may be something else", err=True)
    place = None if save is None else _place(instance, save)
    with proving_context(choose_runtime(runtime, interpreters_of([instance])), store) as (crew, run_context):
        refuse_foreign(run_context, [instance])
        if trial is not None and run_context.unconfined:
            raise EngineError(f"a contestant's revision needs a sandbox, and {run_context.no_sandbox}: use Docker")
        context = TrialContext(instance, crew, run_context, _say_wait)
        with interactive.open_workspace(context, state) as entered:
            code = _run(context, entered, command, seconds)
            if place is not None:
                _save(place, entered.diff())
    ctx.exit(code)


def _one_trial(name: str, report: Path | None, store: Path) -> Trial:
    _, found = find_trials(name, report, store)
    found = [one for one in found if str(one.id) == name] or found  # the first repeat's name has no number
    if len(found) > 1:
        ids = ", ".join(str(one.id) for one in found[:5])
        raise click.UsageError(f"{name} matches {len(found)} trials; name one of them: {ids}")
    return found[0]


def _revised_tree(trial: Trial) -> Callable[[Snapshot], str]:
    """Return a function that gives the tree that the oracles of this trial ran on.

    It raises EngineError where the diff does not apply.
    """
    revision = trial.revision
    if revision is None:
        why = trial.error or trial.skipped or "it was not run"
        raise click.ClickException(f"{trial.id} came to no revision: {one_line(why)}")
    diff = diffs.normalise(revision.diff)

    def state(snapshot: Snapshot) -> str:
        try:
            return snapshot.apply(diff) if diff else snapshot.head_tree
        except DiffRejected as error:
            raise EngineError(f"the revision of {trial.id} does not apply: {error}") from error

    return state


def _run(context: TrialContext, entered: interactive.InteractiveWorkspace, command: str | None, seconds: float) -> int:
    env = interactive.variables(context)
    if command is None and sys.stdin.isatty():
        return interactive.enter(context, entered, env)
    argv = ["/bin/sh", "-s"] if command is None else ["/bin/sh", "-c", command]
    stdin = sys.stdin.buffer.read() if command is None else b""
    done = entered.run(argv, stdin=stdin, env=env, seconds=seconds)
    click.echo(done.stdout, nl=False)
    click.echo(done.stderr, nl=False, err=True)
    if done.exit_code is None:
        why = "it took too long" if done.timed_out else "it printed too much"
        raise click.ClickException(f"the command was ended, since {why}")
    return done.exit_code


def _place(instance: Instance, save: str) -> Path:
    place = Path(instance.folder, save)
    if not is_inside(save) or place.suffix not in (".diff", ".patch"):
        raise click.UsageError(
            f"--save is {save}; it should be a .diff in the instance's folder, as checks/c0-near.diff"
        )
    if place.exists() and place.read_bytes().strip():
        raise click.UsageError(f"--save is {save}, which is there already; remove it first, or choose another name")
    place.parent.mkdir(parents=True, exist_ok=True)  # before work is done that could not be saved
    return place


def _save(place: Path, diff: str) -> None:
    if not diff.strip():
        raise click.ClickException(f"nothing was changed, so {place.name} is not written")
    place.write_text(diff, "utf-8", "surrogateescape")
    click.echo(f"{os.path.relpath(place)}: written", err=True)
