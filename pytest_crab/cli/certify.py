"""The certify command: proves every oracle, finds environments for instances that have none, and writes both down."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import click

from pytest_crab import runtimes
from pytest_crab.agents import AGENTS
from pytest_crab.curation import proofs
from pytest_crab.curation.certify import Certificate
from pytest_crab.curation.certify import certify as certify_instance
from pytest_crab.errors import BadInput
from pytest_crab.errors import CrabError
from pytest_crab.instances import FILE
from pytest_crab.instances import find_instances
from pytest_crab.instances import load_instance
from pytest_crab.instances import lock
from pytest_crab.instances.loading import duplicates
from pytest_crab.instances.rewriting import rewrite
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import bubblewrap
from pytest_crab.runtimes.runs import Run
from pytest_crab.store import FileStore
from pytest_crab.trial import Crew
from pytest_crab.trial import CrewSpec
from pytest_crab.trial import World
from pytest_crab.types import Instance


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--runtime", type=click.Choice(["auto", *sorted(runtimes.RUNTIMES)]), default="auto", show_default=True,
    help="What runs the oracles.",
)  # fmt: skip
@click.option(
    "--store", type=click.Path(file_okay=False, path_type=Path), default=Path(".crab"), show_default=True,
    help="The folder in which sources, environments and proofs are kept.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Instances at a time.")
@click.option(
    "--write/--no-write", default=True, show_default=True,
    help=f"Write environments into {FILE} and proofs into {proofs.FILE} beside {lock.FILE}.",
)  # fmt: skip
@click.pass_context
def certify(ctx: click.Context, paths: tuple[Path, ...], *, runtime: str, store: Path, jobs: int, write: bool) -> None:
    """Prove the oracles of the instances at or below PATHS.

    An instance of a real pull request that names no packages gets the first environment of the ladder in which its
    oracles prove: bare, declared, missing, tests, installed, merged. Prints one line per oracle; exits with 1 if one of
    them is not proved. Runs the projects' own build code, in a sandbox that has the network.
    """
    instances = _loaded(paths)
    name = runtimes.choose(runtime).name
    measured = [instance for instance in instances if instance.measured]
    certificates = []
    with _world(name, store) as (crew, world), ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(certify_instance, instance, crew, world, lambda _: None) for instance in measured]
        try:
            for future in futures:
                certificates.append(future.result())
                _tell(certificates[-1])
                if write:
                    _write(certificates[-1], name)
        except BaseException:
            for future in futures:
                future.cancel()
            world.stop()
            raise
    _summary(certificates, without=len(instances) - len(measured))
    if write and any(each.changed for each in certificates):
        _hint(certificates)
    ctx.exit(1 if any(each.problems for each in certificates) else 0)


def _loaded(paths: Sequence[Path]) -> list[Instance]:
    files = list(dict.fromkeys(file for path in paths for file in find_instances(path)))
    if not files:
        raise click.UsageError(f"there is no {FILE} at or below {', '.join(map(str, paths))}")
    instances, faults = [], []
    for file in files:
        try:
            instances.append(load_instance(file))
        except BadInput as error:
            faults.append(str(error))
    faults.extend(duplicates(instances))
    if faults:
        raise click.ClickException("\n".join(faults))
    return instances


@contextmanager
def _world(name: str, store: Path) -> Iterator[tuple[Crew, World]]:
    """What proofs are made with; a crew belongs to every stage, and this one is never asked."""
    here = Path.cwd()
    crew = Crew.build(
        CrewSpec(
            reviewer="none",
            reviewer_spec=REVIEWERS.spec("none", {}, here),
            agent="reference",
            agent_spec=AGENTS.spec("reference", {}, here),
        )
    )
    kept = FileStore(store.absolute())
    problem = bubblewrap.problem()
    run = Run()
    try:
        runtime = runtimes.make(name, rootdir=here, cache=kept.cache, unconfined=problem is not None)
    except CrabError as error:
        raise click.ClickException(str(error)) from error
    world = World(
        runtime=runtime,
        store=kept,
        cache=kept.cache,
        run=run,
        resume=run.id,
        no_sandbox=problem,
        versions={"pytest_crab": metadata.version("pytest-crab"), "python": platform.python_version()},
    )
    try:
        runtime.sweep()
        yield crew, world
    finally:
        runtime.close()
        run.close()


def _tell(certificate: Certificate) -> None:
    instance = certificate.instance
    found = {one.comment.id: one for one in certificate.proven}
    rung = f" ({certificate.rung}, {certificate.seconds:g} s)"
    for comment in instance.measured:
        problem = certificate.problems.get(comment.id)
        if problem is None:
            proof = found[comment.id].proof
            assert proof is not None
            tests = f"{len(proof.expected)} test{'' if len(proof.expected) == 1 else 's'}"
            click.echo(f"{instance.id} {comment.id}: proved{rung}: {tests}, {proof.runs} runs")
        else:
            click.echo(f"{instance.id} {comment.id}: not proved: {problem.removeprefix(f'{instance.id}: ')}")
    for note in certificate.notes:
        click.echo(f"{instance.id}: note: {note}")


def _write(certificate: Certificate, runtime: str) -> None:
    try:
        if certificate.changed:
            rewrite(certificate.instance)
        proofs.write_proofs(Path(certificate.instance.folder).parent, [certificate], runtime)
    except BadInput as error:
        raise click.ClickException(str(error)) from error


def _summary(certificates: Sequence[Certificate], *, without: int) -> None:
    oracles = sum(len(each.instance.measured) for each in certificates)
    rungs = [each.rung for each in certificates if each.rung is not None and each.proved]
    counted = ", ".join(f"{rungs.count(rung)} {rung}" for rung in dict.fromkeys(sorted(rungs)))
    parts = [f"{sum(each.proved for each in certificates)} of {oracles} oracles proved"]
    parts += [f"instances by rung: {counted}"] if counted else []
    parts += [f"{without} instances have no oracle"] if without else []
    click.echo("; ".join(parts))


def _hint(certificates: Sequence[Certificate]) -> None:
    sets = {Path(each.instance.folder).parent for each in certificates if each.changed}
    for folder in sorted(folder for folder in sets if (folder / lock.FILE).exists()):
        click.echo(f"{folder / lock.FILE} is older than the environments; pytest-crab check --lock writes it anew")
