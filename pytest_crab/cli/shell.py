"""The shell command: the workspace of an instance, to look around in, to try things, to make diffs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from pytest_crab import runtimes
from pytest_crab.cli.choices import runtime_option
from pytest_crab.cli.choices import store_option
from pytest_crab.cli.naming import one_instance
from pytest_crab.cli.worlds import proving_world
from pytest_crab.curation import rooms
from pytest_crab.diffs import is_inside
from pytest_crab.errors import CrabError
from pytest_crab.trial.stage import Stage
from pytest_crab.types import Instance


@click.command()
@click.argument("name", metavar="PATH|ID")
@click.option(
    "--at", type=click.Choice(["head", "reference"]), default="head", show_default=True,
    help="Which state the workspace starts with.",
)  # fmt: skip
@click.option("-c", "command", help="Run this command line, and leave; without it, what comes on standard input.")
@click.option(
    "--save", metavar="FILE", help="Write what was changed, as a diff from head, into this file of the instance."
)
@click.option("--seconds", type=click.FloatRange(min=1), default=600, show_default=True, help="The most that -c takes.")
@runtime_option("What the workspace is made with.")
@store_option("The folder in which sources and environments are kept.")
@click.pass_context
def shell(
    ctx: click.Context,
    name: str,
    *,
    at: str,
    command: str | None,
    save: str | None,
    seconds: float,
    runtime: str,
    store: Path,
) -> None:
    """Open a shell in the workspace of the instance at PATH or with this ID.

    It is what reviewers and agents get: the tree at head, no network, the environment of the oracles, nothing of the
    oracles themselves. It is gone when the shell ends, but for what --save keeps. The exit status is the shell's.
    """
    instance = one_instance(name)
    place = None if save is None else _place(instance, save)
    try:
        with proving_world(runtimes.choose(runtime).name, store) as (crew, world):
            stage = Stage(instance, crew, world, lambda _: None)
            with rooms.room(stage, at_reference=at == "reference") as entered:
                code = _run(stage, entered, command, seconds)
                if place is not None:
                    _save(place, entered.diff())
    except CrabError as error:
        raise click.ClickException(str(error)) from error
    ctx.exit(code)


def _run(stage: Stage, entered: rooms.Room, command: str | None, seconds: float) -> int:
    env = rooms.variables(stage)
    if command is None and sys.stdin.isatty():
        return rooms.enter(stage, entered, env)
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
    return place


def _save(place: Path, diff: str) -> None:
    if not diff.strip():
        raise click.ClickException(f"nothing was changed, so {place.name} is not written")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(diff, "utf-8")
    click.echo(f"{os.path.relpath(place)}: written", err=True)
