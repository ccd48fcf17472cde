"""The part of certify with an agent: its crew, the lines that it prints, and the marks that it writes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from pytest_crab.cli.progress import as_they_end
from pytest_crab.curation.certify import Certificate
from pytest_crab.curation.resolvable import Resolution, crew_of_humans, measure_resolvability
from pytest_crab.formats import format_count
from pytest_crab.instances import load_instance
from pytest_crab.instances.resolvability import write_marks
from pytest_crab.settings import Settings, load_settings
from pytest_crab.trial import Crew, RunContext


def crew_with(agent: str) -> tuple[Crew, Settings]:
    """Return the humans as reviewers with this agent, and what crab.yaml of the current folder says.

    The agent is a variant there, or a built-in one. Raises BadInput, ClickException.
    """
    settings = load_settings(Path.cwd())
    crew = crew_of_humans(agent, settings)
    if crew.simulated or crew.privileged_agent:
        raise click.ClickException(f"--agent: {agent} understands no comment or is shown the answer; name another")
    return crew, settings


def resolve_all(
    certificates: Sequence[Certificate],
    crew: Crew,
    run_context: RunContext,
    pool: ThreadPoolExecutor,
    *,
    attempts: int,
    write: bool,
) -> list[Resolution]:
    """Hand every proved oracle's comment to the agent, print a line each, and write the marks instance by instance."""
    proved = {each.instance.id: each for each in certificates if each.proved}
    work = {
        name: functools.partial(_resolve, each, crew, run_context, attempts=attempts, write=write)
        for name, each in proved.items()
    }
    found: list[Resolution] = []
    with as_they_end(pool, work) as ended:
        for name, own in ended:
            for one in own:
                click.echo(_line(one, crew.spec.agent))
            marks = {one.comment: one.mark for one in own if one.mark is not None}
            if write and marks:
                write_marks(Path(proved[name].instance.folder).parent, crew.spec.agent, {name: marks})
            found.extend(own)
    marks_made = [one.mark for one in found if one.mark is not None]
    unknown = len(found) - len(marks_made)
    resolved = sum(mark.resolved for mark in marks_made)
    rest = f"; {unknown} unknown" if unknown else ""
    click.echo(f"{crew.spec.agent} resolves {resolved} of {len(marks_made)} oracles from the human comment{rest}")
    return found


def _resolve(
    certificate: Certificate,
    crew: Crew,
    run_context: RunContext,
    notice: Callable[[str], None],
    *,
    attempts: int,
    write: bool,
) -> tuple[Resolution, ...]:
    instance = certificate.instance
    if write and certificate.changed:
        instance = load_instance(Path(instance.folder))  # what later runs will see
    proved = {one.comment.id for one in certificate.proven if one.proof is not None}
    comments = [comment for comment in instance.with_oracles if comment.id in proved]
    return measure_resolvability(instance, comments, crew, run_context, attempts=attempts, notice=notice)


def _line(one: Resolution, agent: str) -> str:
    place = f"{one.instance} {one.comment}"
    if one.mark is None:
        return f"{place}: not known whether {agent} resolves it: {one.problem}"
    tries = format_count(one.mark.attempts, "attempt")
    if one.mark.resolved:
        return f"{place}: resolved by {agent} ({tries})"
    return f"{place}: not resolved by {agent} ({tries}): {one.mark.why}"
