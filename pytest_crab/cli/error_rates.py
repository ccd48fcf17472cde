"""The error-rates command: how often oracles accept near misses and refuse right fixes, measured and recorded."""

from __future__ import annotations

import dataclasses
import functools
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from pytest_crab import serialization
from pytest_crab.cli.certify_agent import crew_with
from pytest_crab.cli.lookup import display_path, instance_files, one_instance
from pytest_crab.cli.progress import as_they_end
from pytest_crab.cli.run_contexts import proving_context, refuse_foreign
from pytest_crab.cli.shared_options import choose_runtime, runtime_option, store_option
from pytest_crab.curation import briefs, near_misses
from pytest_crab.curation.briefs import Authored
from pytest_crab.curation.certify import interpreters_of
from pytest_crab.curation.near_misses import ChangedTree
from pytest_crab.curation.resolutions import measure_false_rejects
from pytest_crab.errors import CrabError
from pytest_crab.formats import NOTHING, format_count, format_percent, format_table
from pytest_crab.instances import load_instance
from pytest_crab.instances.oracle_errors import (
    ErrorDecision,
    Measurement,
    OracleErrors,
    error_rate,
    measured_again,
    recorded_errors,
    write_decision,
    write_measurements,
)
from pytest_crab.scoring.oracles.proof import ProvedComment, prove
from pytest_crab.side_by_side import side_by_side
from pytest_crab.statistics.clusters import rare_interval
from pytest_crab.trial.context import TrialContext
from pytest_crab.trial.crew import Crew
from pytest_crab.trial.run_context import RunContext
from pytest_crab.types import Comment, ErrorRate, Instance, OracleError

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The sources of changes."""

    #: A folder of diffs that are near misses.
    near: Path | None
    #: A folder of diffs that are right fixes.
    fixes: Path | None
    #: The folder of the briefs of ``authors``.
    fresh: Path | None
    #: The number of those who made the diffs, and had not seen the oracles.
    authors: int
    #: The number of mutants for an oracle.
    mutants: int
    agent: Crew | None
    #: The number of resolutions of the agent.
    attempts: int


@dataclass(slots=True, kw_only=True)
class MeasuredInstance:
    """The measurements of one instance."""

    instance: Instance
    #: What was on record.
    known: Mapping[str, OracleErrors] = field(default_factory=dict)
    #: The measurements by comment and source.
    by_comment: dict[str, dict[str, Measurement]] = field(default_factory=dict)
    #: Sentences for the reader.
    notes: list[str] = field(default_factory=list)
    #: The names of oracles and answers that a person has not decided on.
    to_rule: list[tuple[str, str]] = field(default_factory=list)
    problem: str | None = None

    @property
    def errors(self) -> list[OracleErrors]:
        """The errors of its oracles by these measurements and the decisions on record."""
        return [measured_again(self.known.get(name, OracleErrors()), own) for name, own in self.by_comment.items()]


def _decisions(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> list[tuple[str, ErrorDecision]]:
    found = []
    for value in values:
        name, _, word = value.rpartition("=")
        if not name or word not in tuple(one.value for one in ErrorDecision):
            raise click.BadParameter(f"{value!r}; it should be NAME=wrong, NAME=equivalent or NAME=right")
        found.append((name, ErrorDecision(word)))
    return found


@click.command("error-rates")
@click.argument("names", metavar="PATH|ID...", nargs=-1, required=True)
@click.option(
    "--near-misses", "near", type=_FOLDER,
    help="Changes that are wrong: FOLDER/INSTANCE/COMMENT-NAME.diff, each from head.",
)  # fmt: skip
@click.option("--right-fixes", "fixes", type=_FOLDER, help="Changes that are right, named in the same way.")
@click.option(
    "--fresh", type=click.Path(file_okay=False, path_type=Path),
    help="Write a brief for authors into FOLDER/INSTANCE; where there is one, judge what they put there.",
)  # fmt: skip
@click.option(
    "--authors", type=click.IntRange(min=0), show_default="1 with --fresh, else 0",
    help="How many authors, who have not seen the oracles, made these changes; 0: they only check the oracles.",
)  # fmt: skip
@click.option(
    "--mutants", type=click.IntRange(min=0), show_default="0 with --fresh, else 20",
    help="The most mutants of each reference; needs the extra mutation.",
)  # fmt: skip
@click.option("--agent", metavar="NAME", help="Let this agent resolve each comment from its text alone.")
@click.option(
    "--attempts",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="With --agent: attempts for each comment.",
)
@click.option(
    "--budget", type=click.FloatRange(min=0, min_open=True), help="With --agent: the most US dollars to spend."
)
@click.option(
    "--decide", "decisions", metavar="NAME=WORD", multiple=True, callback=_decisions,
    help="Record a decision on an answer of the one oracle ID:COMMENT that is named: wrong, equivalent or right.",
)  # fmt: skip
@click.option("--write/--no-write", default=True, show_default=True, help="Write oracle-errors.json beside crab.lock.")
@runtime_option("What runs the oracles.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Instances at a time.")
@store_option("The folder in which environments, proofs and answers are kept.")
@click.pass_context
def error_rates(
    ctx: click.Context,
    names: tuple[str, ...],
    *,
    near: Path | None,
    fixes: Path | None,
    fresh: Path | None,
    authors: int | None,
    mutants: int | None,
    agent: str | None,
    attempts: int,
    budget: float | None,
    decisions: Sequence[tuple[str, ErrorDecision]],
    write: bool,
    runtime: str,
    jobs: int,
    store: Path,
) -> None:
    """Measure the error rates of the oracles of the instances at or below a PATH, or of one that is named by its ID.

    A false accept is a near miss that the oracle accepts: mutants of the reference, and diffs of your own. A false
    reject is a right fix that it refuses. An accepted mutant counts as an error if the project's own tests
    (pass_to_pass) fail on it; else it is undecided, until --decide says whether it does the same as the fix. Exits with
    1 if an instance could not be measured.
    """
    if decisions:
        _decide(names, decisions)
        return
    instances = [one for one in map(load_instance, instance_files(names)) if one.with_oracles]
    asked, settings = (None, None) if agent is None else crew_with(agent)
    sources = Sources(
        near=near,
        fixes=fixes,
        fresh=fresh,
        authors=int(fresh is not None) if authors is None else authors,
        mutants=(20 if fresh is None else 0) if mutants is None else mutants,
        agent=asked,
        attempts=attempts,
    )
    place = choose_runtime(runtime, interpreters_of(instances))
    with (
        proving_context(place, store, settings, budget) as (crew, run_context),
        side_by_side(jobs, run_context.stop) as pool,
    ):
        refuse_foreign(run_context, instances)
        work = {one.id: functools.partial(_measure, one, crew, run_context, sources) for one in instances}
        found = []
        with as_they_end(pool, work) as ended:
            for _, measured in ended:
                _report(measured, write=write)
                found.append(measured)
    if any(one.by_comment for one in found):
        _summarise(found)
        _ask_to_rule(found)
    elif not any(one.problem or one.notes for one in found):
        click.echo(f"no oracle was judged, since there was no change to judge one by: {_what_to_give(fresh)}")
    ctx.exit(1 if any(one.problem is not None for one in found) else 0)


def _what_to_give(fresh: Path | None) -> str:
    if fresh is not None:
        return f"let an author write changes below {fresh}, as each INSTANCE/BRIEF.md there says"
    return (
        "name changes with --near-misses, --right-fixes or --fresh; mutants are made of references in languages that "
        "have a grammar"
    )


def _decide(names: Sequence[str], decisions: Sequence[tuple[str, ErrorDecision]]) -> None:
    if len(names) != 1 or ":" not in names[0]:
        raise click.UsageError("--decide is about one oracle, named as INSTANCE-FOLDER:COMMENT")
    place, _, comment = names[0].rpartition(":")
    instance = one_instance(place)
    for name, decision in decisions:
        write_decision(Path(instance.folder).parent, instance.id, comment, name, decision)
    click.echo(f"{format_count(len(decisions), 'decision')} recorded")


def _measure(
    instance: Instance, crew: Crew, run_context: RunContext, sources: Sources, notice: Callable[[str], None]
) -> MeasuredInstance:
    """Measure one instance; what keeps it from being measured is its problem."""
    measured = MeasuredInstance(instance=instance)
    context = TrialContext(instance, crew, run_context, notice)
    try:
        if sources.fresh is not None and not _is_written(context, sources.fresh / instance.id, measured.notes):
            return measured
        measured.known = recorded_errors(instance)
        if run_context.unconfined:
            context.require_sandbox()
        for one in prove(context):
            if one.proof is None:
                measured.problem = f"the oracle of {one.comment.id} is not proved: {one.problem}"
                continue
            own = _measure_one(context, one, sources, measured)
            if own:
                measured.by_comment[one.comment.id] = own
    except (CrabError, OSError) as error:
        measured.problem = " ".join(str(error).split())
    return measured


def _is_written(context: TrialContext, place: Path, notes: list[str]) -> bool:
    """Return whether authors may have written into a brief's folder; where there is no brief yet, it is written."""
    if not place.exists():
        briefs.write_brief(context, place)
        notes.append(f"the brief is {place / briefs.BRIEF}")
        return False
    notes += [
        f"{place / name} is not judged: it is a diff of no comment" for name in briefs.strays(context.instance, place)
    ]
    return True


def _authored(context: TrialContext, comment: Comment, sources: Sources) -> Authored:
    if sources.fresh is not None:
        return briefs.authored(context, comment, sources.fresh / context.instance.id)
    near, right = (
        near_misses.changes_of(context, folder / context.instance.id, f"{comment.id}-*.diff") if folder else ()
        for folder in (sources.near, sources.fixes)
    )
    return Authored(near=near, right=right)


def _measure_one(
    context: TrialContext, one: ProvedComment, sources: Sources, measured: MeasuredInstance
) -> dict[str, Measurement]:
    found: dict[str, Measurement] = {}
    notes = measured.notes
    decisions = measured.known.get(one.comment.id, OracleErrors()).decisions
    made = _authored(context, one.comment, sources)
    together = near_misses.in_company(context, one.comment, made.right, made.company)
    for changes, by_authors, source, error in (
        (made.near, made.near, near_misses.NEAR_MISSES, OracleError.FALSE_ACCEPT),
        (made.right, made.right, near_misses.RIGHT_FIXES, OracleError.FALSE_REJECT),
        (together, made.right, near_misses.IN_COMPANY, OracleError.FALSE_REJECT_IN_COMPANY),
        (made.thorough, made.thorough, near_misses.THOROUGH, OracleError.FALSE_REJECT_IN_COMPANY),
    ):
        if changes:
            result, answers = near_misses.measure(context, one, changes, error, sure=True)
            details = {name: answer.detail for name, answer in answers.items()}
            refused = result.wrong if error is not OracleError.FALSE_ACCEPT else ()
            damaging = near_misses.damaging(context, changes, refused)
            if source == near_misses.IN_COMPANY:
                result = near_misses.without(result, damaging)
            details |= {name: f"{details[name]}; the project's own tests fail with it" for name in damaging}
            digest = serialization.digest(sorted(change.tree for change in by_authors))[:16]
            found[source] = dataclasses.replace(result, authors=sources.authors, changes=digest)
            notes += _error_sentences(one, found[source], changes, details, decisions)
            measured.to_rule += [(one.comment.id, name) for name in result.wrong if name not in decisions]
    if sources.mutants:
        changes = near_misses.mutated_references(context, one.comment, sources.mutants)
        if changes:
            found[near_misses.MUTANTS], _ = near_misses.measure(
                context, one, changes, OracleError.FALSE_ACCEPT, sure=False
            )
            notes += _error_sentences(one, found[near_misses.MUTANTS], changes, {}, decisions)
    if sources.agent is not None:
        resolved = measure_false_rejects(context, one, sources.agent, sources.attempts)
        notes += [f"{one.comment.id}: {problem}" for problem in resolved.problems]
        if resolved.measurement is not None:
            found[f"agent {sources.agent.spec.agent}"] = resolved.measurement
    return found


def _error_sentences(
    one: ProvedComment,
    measurement: Measurement,
    changes: Iterable[ChangedTree],
    details: Mapping[str, str | None],
    decisions: Mapping[str, ErrorDecision],
) -> list[str]:
    """Return a sentence for each error and each undecided answer, with what a person decided on it."""
    told = {change.name: change.told or details.get(change.name) or "" for change in changes}
    verb = "accepts" if measurement.error is OracleError.FALSE_ACCEPT else "refuses"
    doubt = dict.fromkeys(measurement.wrong, "") | dict.fromkeys(measurement.undecided, ", undecided")
    doubt |= {name: f", decided: {decisions[name]}" for name in doubt.keys() & decisions.keys()}
    return [
        f"{one.comment.id} {verb} {name}{word}" + (f" ({told[name]})" if told[name] else "")
        for name, word in doubt.items()
    ]


def _report(measured: MeasuredInstance, *, write: bool) -> None:
    instance = measured.instance
    for note in measured.notes:
        click.echo(f"{instance.id}: {note}")
    if measured.problem is not None:
        click.echo(f"{instance.id}: not measured in full: {measured.problem.removeprefix(f'{instance.id}: ')}")
    if write and measured.by_comment:
        write_measurements(Path(instance.folder).parent, instance.id, measured.by_comment)


def _summarise(found: Sequence[MeasuredInstance]) -> None:
    """Print a table of the rates of each kind of error, by source of changes."""
    errors = [one for measured in found for one in measured.errors]
    rows = [("errors", "changes", "rate", "95% interval", "measured on")]
    for error in OracleError:
        sources = dict.fromkeys(name for one in errors for name, own in one.measurements.items() if own.error is error)
        for source in sources:
            rate = error_rate(errors, error, source)
            rows.append((error.plural, source, rate.figures, _interval(found, error, source), rate.basis))
        if not sources:
            rows.append((error.plural, NOTHING, ErrorRate().figures, NOTHING, NOTHING))
    for line in format_table(rows, right=False):
        click.echo(line)


def _interval(found: Iterable[MeasuredInstance], error: OracleError, source: str) -> str:
    """Return the interval of a rate; the answers of one instance are alike. Undecided ones have none."""
    rates = {one.instance.id: error_rate(one.errors, error, source) for one in found}
    values = [at < rate.wrong for rate in rates.values() for at in range(rate.total)]
    if not values or any(rate.undecided for rate in rates.values()):
        return NOTHING
    low, high = rare_interval(values, [name for name, rate in rates.items() for _ in range(rate.total)])
    return f"{format_percent(low)}-{format_percent(high)}"


def _ask_to_rule(found: Iterable[MeasuredInstance]) -> None:
    """Print how a person rules on the answers that count as errors; each was named above."""
    pending = [(one.instance, *answer) for one in found for answer in one.to_rule]
    if not pending:
        return
    instance, comment, name = pending[0]
    oracle = f"{display_path(Path(instance.folder))}:{comment}"
    click.echo(
        f"{format_count(len(pending), 'answer')} above counted as errors: look at each, and where the oracle is right "
        f"record that, as in: pytest-crab set error-rates {shlex.quote(oracle)} --decide {shlex.quote(f'{name}=right')}"
    )
