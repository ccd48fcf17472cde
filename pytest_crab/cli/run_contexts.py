"""Contexts for commands that run an instance's code without a reviewer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import click

from pytest_crab import ecosystems
from pytest_crab.agents import AGENTS
from pytest_crab.ecosystems import interpreters
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.settings import Settings
from pytest_crab.trial import Crew, CrewSpec, RunContext
from pytest_crab.trial.session import open_run_context
from pytest_crab.types import Instance


@contextmanager
def proving_context(
    place: RuntimeSettings, store: Path, settings: Settings | None = None, budget: float | None = None
) -> Iterator[tuple[Crew, RunContext]]:
    """Yield a crew, which a trial context needs and proofs never ask, and a run context for proofs.

    With ``settings`` there is a gateway, which starts with the first question to a model; ``budget`` is US dollars.
    Raises CrabError where the runtime cannot be had.
    """
    here = Path.cwd()
    crew = Crew.build(
        CrewSpec(
            reviewer="none",
            reviewer_spec=REVIEWERS.spec("none", {}, here),
            agent="simulated",
            agent_spec=AGENTS.spec("simulated", {}, here),
        )
    )
    versions = {"pytest_crab": metadata.version("pytest-crab"), ecosystems.DEFAULT.name: interpreters.running_release()}
    with open_run_context(place, store, settings, budget=budget, versions=versions) as run_context:
        yield crew, run_context


def refuse_foreign(run_context: RunContext, instances: Iterable[Instance]) -> None:
    """Raise ClickException if code of a set from outside the current folder would run here without a sandbox.

    The user was not asked whether it is trusted, and what it says of its own provenance is no reason.
    """
    here = Path.cwd().resolve()
    for instance in instances if run_context.unconfined else ():
        folder = Path(instance.folder).resolve()
        if not folder.is_relative_to(here):
            raise click.ClickException(
                f"{folder} comes from outside this folder, and its code would run without a sandbox, as "
                f"{run_context.no_sandbox}: install bubblewrap, {run_context.settings.use('docker')}, or look at it "
                f"and call this in {folder.parent}"
            )
