"""The prune command: give back what dead runs left, and on request environments, stored steps and kept runs."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click

from pytest_crab.cli.shared_options import store_option
from pytest_crab.errors import EngineError
from pytest_crab.formats import format_count
from pytest_crab.results.kept_runs import old_runs
from pytest_crab.runtimes import run_lock
from pytest_crab.store import FileStore
from pytest_crab.store.files import STEPS


@click.command(name="prune")
@store_option("The store to look at.", "folder")
@click.option("--environments", is_flag=True, help="Remove images and virtual environments too; they are built again.")
@click.option(
    "--step", "steps", multiple=True, type=click.Choice(STEPS), help="Remove stored results of this step; repeatable."
)
@click.option("--runs", is_flag=True, help="Remove kept runs and their reports, but for the one that is shown.")
@click.option(
    "--older-than",
    type=float,
    default=0.0,
    metavar="DAYS",
    help="Only data that was not used for this many days.",
)
@click.option(
    "--dry-run", is_flag=True, help="Print the stored data and environments that would be removed; remove nothing."
)
def prune(
    *, folder: Path, environments: bool, steps: tuple[str, ...], runs: bool, older_than: float, dry_run: bool
) -> None:
    """Remove what killed runs left behind; with options also environments, stored steps and kept runs."""
    from pytest_crab.runtimes import handed_on, leftovers
    from pytest_crab.runtimes.inventory import EngineImages, LocalFolders, prune as prune_inventory

    store = FileStore(folder)
    lines = [] if dry_run else [f"removed {thing}" for thing in leftovers.sweep()]
    things = list(_forgotten(store, steps, older_than, dry_run=dry_run))
    if runs:
        things += _prune_runs(folder, older_than, dry_run=dry_run)
    things += leftovers.remove_halves(store.cache, dry_run=dry_run)
    if environments and run_lock.any_alive():
        raise click.ClickException("a run is going on, and its environments are in use: prune them when it is over")
    if environments:
        things += handed_on.clear(store.cache, older_than_days=older_than, dry_run=dry_run)
    for make in (lambda: LocalFolders(store.cache), EngineImages) if environments else ():
        try:
            with closing(make()) as inventory:
                things += prune_inventory(inventory, older_than_days=older_than, dry_run=dry_run)
        except EngineError as error:  # many machines have none, and what was removed is to be printed
            click.echo(f"images were left alone: {error}", err=True)
    lines += [f"{'would remove' if dry_run else 'removed'} {thing}" for thing in things]
    for line in lines or ["nothing to remove"]:
        click.echo(line)


def _forgotten(store: FileStore, steps: tuple[str, ...], older_than: float, *, dry_run: bool) -> Iterator[str]:
    """Remove stored objects of these steps; a line for each step that had some."""
    for wanted in dict.fromkeys(steps):
        found = [*(path for step, path in store.objects() if step == wanted), *store.parts(wanted)]
        old = [path for path in found if time.time() - path.stat().st_mtime >= older_than * 86400]
        for path in old if not dry_run else ():
            path.unlink(missing_ok=True)
        if old:
            yield format_count(len(old), f"stored {wanted}")


def _prune_runs(store: Path, older_than: float, *, dry_run: bool) -> Iterator[str]:
    """Remove runs that ended so many days ago; a line for each."""
    for run in old_runs(store, time.time() - older_than * 86400):
        if not dry_run:
            shutil.rmtree(run)
        yield f"run {run.name}"
