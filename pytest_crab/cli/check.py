"""The check command: validates instances; only ``--audit`` runs anything of theirs."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import click

from pytest_crab import ecosystems, option_types
from pytest_crab.cli.audits import audit as audit_instances
from pytest_crab.cli.lookup import display_path
from pytest_crab.cli.shared_options import read_as, runtime_option, store_option
from pytest_crab.curation import code_parts
from pytest_crab.curation.set_statistics import SizedInstance, count_changed_lines, error_lines, statistics_lines
from pytest_crab.errors import BadInput, CrabError, EngineError, SourceUnreachable
from pytest_crab.formats import format_count, format_names
from pytest_crab.instances import FILE, find_instances, load_instance, lock
from pytest_crab.instances.dates import why_not_since
from pytest_crab.instances.file_checks import content_faults, set_configuration
from pytest_crab.instances.files import oracle_text
from pytest_crab.instances.loading import duplicates
from pytest_crab.instances.oracle_errors import errors_of
from pytest_crab.instances.oracle_needs import isolatable, outside_needs
from pytest_crab.instances.placeholders import unwritten
from pytest_crab.protocols import Snapshot
from pytest_crab.scratch import scratch
from pytest_crab.sources import consistency, fetcher_for, snapshot_store
from pytest_crab.store import FileStore
from pytest_crab.types import Comment, Instance

#: How many oracles ``--audit`` names whose runs took longest: whoever waits for a clock is among them.
_SLOWEST = 5


@dataclass(slots=True)
class CheckReport:
    """Prints faults, warnings and gaps, and counts them."""

    checked: int = 0
    faulty: set[str] = field(default_factory=set)
    faults: int = 0
    warnings: int = 0
    unchecked: int = 0

    def fault(self, where: str, sentence: str) -> None:
        """Print a fault of the file or folder ``where``."""
        self.faults += 1
        self.faulty.add(where)
        click.echo(f"{where}: {sentence}")

    def warning(self, where: str, sentence: str) -> None:
        """Print what may be meant and may be a slip."""
        self.warnings += 1
        click.echo(f"{where}: warning: {sentence}")

    def not_checked(self, where: str, sentence: str) -> None:
        """Print what could not be looked at."""
        self.unchecked += 1
        click.echo(f"{where}: not checked: {sentence}")

    def summary(self, instances: Iterable[str]) -> str:
        """The last line: how many of the instances' files are without a fault, and what else there was."""
        sound = self.checked - len(self.faulty & set(instances))
        parts = [f"{sound} of {format_count(self.checked, 'instance')} ok", format_count(self.faults, "fault")]
        parts += [format_count(self.warnings, "warning")] if self.warnings else []
        parts += [f"{self.unchecked} not checked in full"] if self.unchecked else []
        return ", ".join(parts)


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--lock", "write", is_flag=True, help="Write crab.lock in each set's folder, if there are no faults.")
@click.option("--stats", is_flag=True, help="Print counts of categories, kinds, sizes, dates and checks of oracles.")
@click.option(
    "--since", **read_as(option_types.DAY), help="Only instances merged since this day (2024-05-01), by merged_at."
)
@click.option("--fetch", is_flag=True, help="Fetch sources that are not on this machine yet, to check diffs on them.")
@click.option(
    "--audit", is_flag=True, help="Run the audits of oracles that crab.lock does not record, and record them."
)
@runtime_option("With --audit: what runs the oracles.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="With --audit: instances at a time."
)
@store_option("The folder in which fetched sources, and with --audit environments and proofs, are kept.")
@click.pass_context
def check(
    ctx: click.Context,
    paths: tuple[Path, ...],
    *,
    write: bool,
    stats: bool,
    since: date | None,
    fetch: bool,
    audit: bool,
    runtime: str,
    jobs: int,
    store: Path,
) -> None:
    """Validate the instances at or below PATHS; without --audit none of their code is run.

    Prints one line per fault; exits with 1 if there is any. Each set is compared with its crab.lock, where it has one.
    """
    files = list(dict.fromkeys(file for path in paths for file in find_instances(path)))
    if not files:
        raise click.UsageError(f"there is no {FILE} at or below {', '.join(map(str, paths))}")
    report = CheckReport()
    if since is not None and write:
        raise click.UsageError("--lock is for whole sets, and --since takes a part of one")
    instances = list(_load_sound(files, report))
    if since is not None:
        instances = _since(instances, since)
    for file in (
        file for folder in sorted({file.parent.parent for file in files}) for file in set_configuration(folder)
    ):
        report.warning(display_path(file), "a pytest that is given this set runs or reads it")
    for sentence in duplicates(instances):
        report.fault("ids", sentence)
    counted = []
    to_audit = _unaudited_ids(instances) if audit else set()
    with scratch("check") as passing:
        for instance in instances:
            _check_oracles(instance, report)
            brings = fetch or instance.id in to_audit  # an audit needs the source too
            snapshot = _check_trees(instance, report, FileStore(store).cache, passing, fetch=brings)
            if stats:
                counted.append(SizedInstance(instance=instance, changed=count_changed_lines(instance, snapshot)))
    _check_references(instances, report)
    _check_locks(instances, report, write=write)
    if audit and not report.faults:
        _audit(instances, runtime, store, jobs, report)
    for line in (*statistics_lines(counted), *_error_lines(instances)) if stats else ():
        click.echo(line)
    click.echo(report.summary(map(display_path, files)))
    ctx.exit(1 if report.faults else 0)


def _error_lines(instances: Sequence[Instance]) -> Iterator[str]:
    """Return the error rates on record of the oracles of these instances, as lines. Raises BadInput."""
    errors = [one for instance in instances for one in errors_of(instance).values()]
    return error_lines(errors, sum(len(instance.with_oracles) for instance in instances))


def _load_sound(files: Iterable[Path], report: CheckReport) -> Iterator[Instance]:
    """The instances whose files are sound enough to look further."""
    for file in files:
        report.checked += 1
        try:
            instance = load_instance(file)
        except BadInput as error:
            for problem in error.problems:
                report.fault(display_path(file), problem)
            continue
        sentences = [*content_faults(instance), *unwritten(instance)]
        for sentence in sentences:
            report.fault(_where(instance), sentence)
        if not sentences:
            yield instance


def _since(instances: Sequence[Instance], since: date) -> list[Instance]:
    """The instances merged since a day; a line says how many are left out, and why."""
    reasons = {instance.id: why_not_since(instance, since) for instance in instances}
    left_out = Counter(reason for reason in reasons.values() if reason is not None)
    if left_out:
        told = ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items()))
        click.echo(f"left out of {format_count(len(instances), 'instance')}: {told}")
    return [instance for instance in instances if reasons[instance.id] is None]


def _check_oracles(instance: Instance, report: CheckReport) -> None:
    """Name what oracles lack or lean on, and those that share their user with a project that they only start."""
    for comment in instance.with_oracles:
        if (lack := _lack_of_tests(instance, comment)) is not None:
            report.warning(_where(instance), f"the oracle of {comment.id} {lack}")
    for sentence in (need for comment in instance.with_oracles for need in outside_needs(instance, comment)):
        report.warning(_where(instance), sentence)
    for comment in filter(functools.partial(isolatable, instance), instance.with_oracles):
        sentence = f"the oracle of {comment.id} only starts the project: with isolation: process it cannot be reached"
        report.warning(_where(instance), f"{sentence}; pytest-crab set certify sets that if it is proved so")


def _check_references(instances: Iterable[Instance], report: CheckReport) -> None:
    """Name the comments of each set that have no reference: the set may have none, and a slip is one among many."""
    sets: dict[Path, list[str]] = {}
    for instance in instances:
        bare = [comment.id for comment in instance.with_oracles if comment.reference is None and not instance.clean]
        sets.setdefault(Path(instance.folder).parent, []).extend(f"{instance.id} {name}" for name in bare)
    for folder, bare in sorted(sets.items()):
        if bare:
            report.warning(
                display_path(folder),
                f"there is no reference, the diff that resolves a comment alone, for {format_names(bare, 3)}: "
                "--reviewer=human cannot show that these oracles can be caught; pytest-crab set shell --save makes one",
            )


def _lack_of_tests(instance: Instance, comment: Comment) -> str | None:
    """Return why an oracle's text has no test; None where it has one, or where nothing here reads its language."""
    oracle = comment.required_oracle
    owner = ecosystems.of_runner(oracle.runner)
    with suppress(OSError, ValueError, EngineError):
        text = oracle_text(instance, comment)
        if owner is not None and (why := owner.unreadable(text.encode())) is not None:
            return f"({oracle.file}) cannot be read: {why}"
        if not code_parts.of(oracle.file).tests_of(text):
            return f"({oracle.file}) has no test that can be told here; certify says whether {oracle.runner} finds one"
    return None


def _check_trees(
    instance: Instance, report: CheckReport, cache: Path, passing: Path, *, fetch: bool
) -> Snapshot | None:
    """Hold an instance against its trees; the trees, if they could be had."""
    where = _where(instance)
    try:
        snapshot = _snapshot(instance, cache, passing, fetch=fetch)
        if snapshot is None:
            report.not_checked(where, "diffs and lines, since the source is not on this machine; --fetch brings it")
            return None
        for sentence in consistency.faults(instance, snapshot):
            report.fault(where, sentence)
        for sentence in consistency.warnings(instance, snapshot):
            report.warning(where, sentence)
    except SourceUnreachable as error:
        report.not_checked(where, f"diffs and lines: {error}")
        return None
    except CrabError as error:
        report.fault(where, str(error))
        return None
    return snapshot


def _snapshot(instance: Instance, cache: Path, passing: Path, *, fetch: bool) -> Snapshot | None:
    """The instance's trees, if they are here or may be fetched; what is made of the set's own files is not kept."""
    source = fetcher_for(instance)
    found = snapshot_store.find(cache, source.identity(instance))
    if found is None and (instance.source.tree or instance.source.snippet) is not None:
        return source.fetch(instance, passing)
    if found is None and fetch:
        return source.fetch(instance, cache)
    return found


def _check_locks(instances: Iterable[Instance], report: CheckReport, *, write: bool) -> None:
    """Compare each set with its lock, or write the lock of the whole set."""
    sets: dict[Path, list[Instance]] = {}
    for instance in instances:
        sets.setdefault(Path(instance.folder).parent, []).append(instance)
    for folder, members in sorted(sets.items()):
        where = display_path(folder / lock.FILE)
        whole = len(members) == sum(1 for _ in find_instances(folder))
        try:
            if not write:
                for sentence in lock.differences(folder, members, whole=whole):
                    report.fault(where, sentence)
            elif report.faults or not whole:
                why = "there are faults" if report.faults else "only a part of the set was named"
                report.fault(where, f"not written, since {why}; a lock needs a whole set without faults")
            else:
                lock.write_lock(folder, members)
                click.echo(f"{where}: written")
        except BadInput as error:
            for problem in error.problems:
                report.fault(where, problem)


def _audit(instances: Sequence[Instance], runtime: str, store: Path, jobs: int, report: CheckReport) -> None:
    """Audit what is not on record; a fault for each oracle that fails, a line for each set without a lock."""
    pending = [instance for instance, _ in lock.find_unaudited(instances)]
    folders = {Path(instance.folder).parent for instance in pending}
    unlocked = {folder for folder in folders if not (folder / lock.FILE).exists()}
    for folder in sorted(unlocked):
        report.fault(
            display_path(folder), f"it has no {lock.FILE} to record audits in; pytest-crab set check --lock writes one"
        )
    locked = [instance for instance in pending if Path(instance.folder).parent not in unlocked]

    def skip(instance: Instance, why: str) -> None:
        report.not_checked(_where(instance), why)

    audited = 0
    timed: list[tuple[float, str]] = []
    for certificate, recorded in audit_instances(locked, runtime, store, jobs, skip):
        audited += recorded
        name = certificate.instance.id
        timed += [(one.seconds, f"{name} {one.comment.id} on {one.slowest}") for one in certificate.proven]
        for comment, problem in certificate.problems.items():
            report.fault(_where(certificate.instance), f"the oracle of {comment}: {problem}")
    click.echo(f"{format_count(audited, 'oracle')} audited and recorded")
    for seconds, oracle in sorted(timed, reverse=True)[:_SLOWEST]:
        if seconds:
            click.echo(f"slowest: {seconds:.1f} s, {oracle}")


def _unaudited_ids(instances: Sequence[Instance]) -> set[str]:
    """Return the ids of the instances to audit; none where a lock cannot be read, which is a fault of its own."""
    try:
        return {instance.id for instance, _ in lock.find_unaudited(instances)}
    except BadInput:
        return set()


def _where(instance: Instance) -> str:
    return display_path(Path(instance.folder, FILE))
