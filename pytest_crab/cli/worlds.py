"""What commands work with that run an instance's code without measuring anybody."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import click

from pytest_crab import runtimes
from pytest_crab.agents import AGENTS
from pytest_crab.errors import CrabError
from pytest_crab.models import Gateway
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import bubblewrap
from pytest_crab.runtimes.runs import Run
from pytest_crab.settings import Settings
from pytest_crab.store import FileStore
from pytest_crab.trial import Crew
from pytest_crab.trial import CrewSpec
from pytest_crab.trial import World
from pytest_crab.trial.world import KEYS


@contextmanager
def open_world(
    name: str, store: Path, settings: Settings | None = None, budget: float | None = None
) -> Iterator[tuple[Crew, World]]:
    """What proofs are made with; a crew belongs to every stage, and this one is never asked.

    With ``settings`` there is a gateway, which starts with the first question to a model; ``budget`` is US dollars.
    """
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
    models = None if settings is None else _gateway(run, kept, settings, budget)
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
        models=models,
        secrets=(*KEYS, *filter(None, (each.key_env for each in settings.models.providers.values())))
        if settings is not None
        else KEYS,
    )
    try:
        runtime.sweep()
        yield crew, world
    finally:
        runtime.close()
        if models is not None:
            models.close()
        run.close()


def _gateway(run: Run, store: FileStore, settings: Settings, budget: float | None) -> Gateway:
    named = settings.models.cassettes
    return Gateway(
        lambda: run.folder / "gateway",
        settings.models,
        cassettes=settings.folder / named if named else store.folder / "cassettes",
        ledgers=store.folder / "ledger",
        budget=budget,
    )
