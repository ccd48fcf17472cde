"""The certify command: proves every oracle, finds environments for instances that have none, and writes both down."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import click

from pytest_crab import option_types
from pytest_crab.campaign.disk import DiskOfTrials
from pytest_crab.cli.certify_agent import crew_with, resolve_all
from pytest_crab.cli.lookup import display_path, instance_files
from pytest_crab.cli.progress import as_they_end
from pytest_crab.cli.run_contexts import proving_context, refuse_foreign
from pytest_crab.cli.shared_options import choose_runtime, read_as, runtime_option, store_option
from pytest_crab.curation import audit as auditing, proof_report
from pytest_crab.curation.certify import Certificate, certify as certify_instance, interpreters_of
from pytest_crab.curation.set_statistics import ENOUGH
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count
from pytest_crab.instances import FILE, load_instance, lock, resolvability
from pytest_crab.instances.edit import rewrite
from pytest_crab.instances.file_checks import content_faults
from pytest_crab.instances.loading import duplicates
from pytest_crab.instances.placeholders import unwritten
from pytest_crab.side_by_side import side_by_side
from pytest_crab.trial import Crew, RunContext
from pytest_crab.types import Instance


@click.command()
@click.argument("names", metavar="PATH|ID...", nargs=-1, required=True)
@runtime_option("What runs the oracles.")
@store_option("The folder in which sources, environments and proofs are kept.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Instances at a time.")
@click.option(
    "--write/--no-write", default=True, show_default=True,
    help=f"Write environments and isolation into {FILE} and proofs into {proof_report.FILE} beside {lock.FILE}.",
)  # fmt: skip
@click.option(
    "--disk-budget", **read_as(option_types.SIZE),
    help="Remove environments when they and the store's cache take more than this, such as 20G.",
)  # fmt: skip
@click.option(
    "--runs", type=click.IntRange(min=2), default=2, show_default=True, help="Prove with so many runs of each state."
)
@click.option("--audit", is_flag=True, help="Print a table of how strict, sharp and steady each oracle is.")
@click.option(
    "--min-checks", "least", type=click.IntRange(min=0), default=0, show_default=True,
    help="With --audit: exit with 1 if an oracle has fewer accepts or fewer rejects than this.",
)  # fmt: skip
@click.option(
    "--agent", metavar="NAME",
    help=f"Mark in {resolvability.FILE} which oracles this agent resolves from the human comment alone.",
)  # fmt: skip
@click.option(
    "--attempts", type=click.IntRange(min=1), default=1, show_default=True,
    help="With --agent: the most attempts for each comment.",
)  # fmt: skip
@click.option(
    "--budget", type=click.FloatRange(min=0, min_open=True), help="With --agent: the most to spend, in US dollars."
)
@click.pass_context
def certify(
    ctx: click.Context,
    names: tuple[str, ...],
    *,
    runtime: str,
    store: Path,
    jobs: int,
    write: bool,
    disk_budget: int | None,
    runs: int,
    audit: bool,
    least: int,
    agent: str | None,
    attempts: int,
    budget: float | None,
) -> None:
    """Prove the oracles of the instances at or below a PATH, or of one that is named by its ID.

    An oracle with checks is audited too, on its accepts and rejects; crab.lock records which passed. An instance of a
    real pull request that names no packages gets the first of these environments in which its oracles are proved:
    bare, declared, missing, tests, installed, merged. An oracle that only starts the project gets isolation: process
    if it is proved so. The results of an instance are written as soon as it is done,
    with a line for each oracle and the reason where it is not proved. Exits with 1 if an oracle is not proved or a
    source cannot be reached. Runs the projects' own build code, in a sandbox that has the network.
    """
    instances = _load(instance_files(names))
    asked, settings = (None, None) if agent is None else crew_with(agent)
    measured = [instance for instance in instances if instance.with_oracles]
    place = choose_runtime(runtime, interpreters_of(measured))
    with proving_context(place, store, settings, budget) as (crew, opened), ExitStack() as stack:
        run_context = dataclasses.replace(opened, proof_runs=runs)
        refuse_foreign(run_context, measured)
        disk = stack.enter_context(closing(_disk(disk_budget, run_context)))
        work = {each.id: functools.partial(_certify, disk, each, crew, run_context) for each in measured}
        with side_by_side(jobs, run_context.stop) as pool:
            with as_they_end(pool, work) as ended:
                done = {at: _report(certificate, place.runtime, write=write) for at, certificate in ended}
            certificates, found = [done[each] for each in work], []
            if asked is not None:
                found = resolve_all(certificates, asked, run_context, pool, attempts=attempts, write=write)
    unknown = any(one.mark is None for one in found)
    sound = _audit(certificates, least) if audit else True
    _summary(certificates, without=len(instances) - len(measured))
    if write:
        _hint(certificates)
    nothing = bool(certificates) and all(each.skipped is not None for each in certificates)
    ctx.exit(1 if nothing or unknown or not sound or any(each.problems for each in certificates) else 0)


def _disk(budget: int | None, run_context: RunContext) -> DiskOfTrials:
    runtime = run_context.runtime
    holds = getattr(runtime, "holds", None)
    return DiskOfTrials(budget, runtime.name, run_context.cache, holds, lambda said: click.echo(said, err=True))


def _certify(
    disk: DiskOfTrials, instance: Instance, crew: Crew, run_context: RunContext, notice: Callable[[str], None]
) -> Certificate:
    with disk.trial(instance.id):
        return certify_instance(instance, crew, run_context, notice)


def _load(files: Sequence[Path]) -> list[Instance]:
    """The instances, if nothing is wrong with any file and none is still to be written."""
    instances, faults = [], []
    for file in files:
        try:
            instances.append(load_instance(file))
        except BadInput as error:
            faults.append(str(error))
            continue
        told = (*content_faults(instances[-1]), *unwritten(instances[-1]))
        faults.extend(f"{file}: {sentence}" for sentence in told)
    faults.extend(duplicates(instances))
    if faults:
        raise click.ClickException("\n".join(faults))
    return instances


def _report(certificate: Certificate, runtime: str, *, write: bool) -> Certificate:
    """The same certificate, once it was printed and written down."""
    _tell(certificate)
    if write and certificate.skipped is None:
        _write(certificate, runtime)
    return certificate


def _tell(certificate: Certificate) -> None:
    instance = certificate.instance
    if certificate.skipped is not None:
        click.echo(f"{instance.id}: skipped: {certificate.skipped.removeprefix(f'{instance.id}: ')}")
        return
    found = {one.comment.id: one for one in certificate.proven}
    source = f" ({certificate.environment_source}, {certificate.seconds:g} s)"
    for comment in instance.with_oracles:
        problem = certificate.problems.get(comment.id)
        if problem is None:
            proof = found[comment.id].proof
            assert proof is not None
            tests = format_count(len(proof.expected), "test")
            click.echo(f"{instance.id} {comment.id}: proved{source}: {tests}, {proof.runs} runs")
        else:
            click.echo(f"{instance.id} {comment.id}: not proved: {problem.removeprefix(f'{instance.id}: ')}")
    for note in certificate.notes:
        click.echo(f"{instance.id}: note: {note}")


def _write(certificate: Certificate, runtime: str) -> None:
    if certificate.changed:
        rewrite(certificate.instance)
    folder = Path(certificate.instance.folder).parent
    proof_report.write_proofs(folder, [certificate], runtime)
    lock.record_audits(folder, certificate.instance, certificate.outcomes, certificate.runs)


def _audit(certificates: Sequence[Certificate], least: int) -> bool:
    """Print the table and its sums; return True if every oracle may ship."""
    found = auditing.rows(certificates)
    for line in auditing.table(found):
        click.echo(line)
    sound = True
    for row in found:
        for fault in row.faults:
            click.echo(f"{row.instance} {row.comment}: {fault}")
        lack = row.lacks(max(least, ENOUGH))
        if lack is not None:
            click.echo(f"{row.instance} {row.comment}: {'' if row.lacks(least) else 'note: '}{lack}")
        sound = sound and not row.faults and row.lacks(least) is None
    return sound


def _summary(certificates: Sequence[Certificate], *, without: int) -> None:
    reached = [each for each in certificates if each.skipped is None]
    oracles = sum(len(each.instance.with_oracles) for each in reached)
    sources = [each.environment_source for each in certificates if each.environment_source and each.proved]
    counts = ", ".join(f"{sources.count(source)} {source}" for source in dict.fromkeys(sorted(sources)))
    parts = [f"{sum(each.proved for each in certificates)} of {oracles} oracles proved"]
    parts += [f"instances by environment source: {counts}"] if counts else []
    skipped = len(certificates) - len(reached)
    parts += [f"{format_count(skipped, 'instance')} skipped"] if skipped else []
    parts += [f"{format_count(without, 'instance')} without an oracle"] if without else []
    click.echo("; ".join(parts))


def _hint(certificates: Sequence[Certificate]) -> None:
    """Print what is left to do for the lock of each set."""
    reached = [each for each in certificates if each.skipped is None]
    changed = {Path(each.instance.folder).parent for each in reached if each.changed}
    audited = {Path(each.instance.folder).parent for each in reached if lock.audit_digests(each.instance)}
    for folder in sorted(changed | audited):
        place = display_path(folder / lock.FILE)
        if folder in changed and (folder / lock.FILE).exists():
            click.echo(f"{place} is older than the instances; pytest-crab set check --lock writes it again")
        elif folder in audited and not (folder / lock.FILE).exists():
            click.echo(
                f"{place} is not there to record audits; write it with pytest-crab set check --lock, then --audit"
            )
