"""Open a run context for trials and proofs outside a pytest run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pytest_crab import runtimes
from pytest_crab.models import Gateway
from pytest_crab.runtimes import RuntimeSettings, bubblewrap
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.settings import Settings
from pytest_crab.store import FileStore
from pytest_crab.trial.run_context import KEYS, RunContext, secrets_of


@contextmanager
def open_run_context(
    place: RuntimeSettings,
    store: Path,
    settings: Settings | None = None,
    *,
    budget: float | None = None,
    versions: Mapping[str, Any] | None = None,
) -> Iterator[RunContext]:
    """Yield a run context with the runtime that ``place`` names and with this store.

    Paths of Dockerfiles start at the current folder. With ``settings`` there is a gateway, which starts with the first
    question to a model; ``budget`` is US dollars. Raises CrabError where the runtime cannot be had.
    """
    kept = FileStore(store.absolute())
    problem = bubblewrap.problem()
    run = RunFolder()
    with ExitStack() as stack:
        stack.callback(run.close)
        engine = runtimes.make(place, rootdir=Path.cwd(), cache=kept.cache, unconfined=problem is not None)
        models = None
        if settings is not None:
            models = Gateway.beside(kept.folder, settings, lambda: run.folder / "gateway", budget=budget)
            stack.callback(models.close)
        stack.callback(engine.close)
        engine.sweep()
        yield RunContext(
            runtime=engine,
            store=kept,
            cache=kept.cache,
            run=run,
            resume=run.id,
            no_sandbox=problem,
            settings=place,
            versions=versions or {},
            models=models,
            secrets=KEYS if settings is None else secrets_of(settings.models),
        )
