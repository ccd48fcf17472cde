"""Trials on a cluster: the options that it refuses, and the plan that it is sent."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_crab import runtimes
from pytest_crab.campaign.trial_pool import TRIALS, Contestant, WorkKind
from pytest_crab.errors import CrabError
from pytest_crab.option_table import Options
from pytest_crab.plugin.contestants import Contestants
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.settings import Settings

if TYPE_CHECKING:
    from pytest_crab.campaign.cluster.executor import ClusterExecutor


def connect_cluster(
    options: Options,
    crews: Contestants,
    others: Sequence[tuple[WorkKind, Contestant]],
    config: pytest.Config,
    *,
    resume: str,
) -> ClusterExecutor:
    """Connect to the cluster that the options name. Raises pytest.UsageError with every reason against it.

    ``others`` are the contestants of other kinds.
    """
    members: list[tuple[WorkKind, Contestant]] = [*((TRIALS, crew) for crew in crews.by_reviewer.values()), *others]
    refused = list(_refusals(options, crews.settings, [member for _, member in members], config))
    if refused:
        raise pytest.UsageError("\n".join(refused))
    assert options.cluster is not None
    try:
        from pytest_crab.campaign.cluster.executor import connect
        from pytest_crab.campaign.cluster.plan import RunPlan
        from pytest_crab.types import Explain
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in ("dask", "distributed"):
            raise
        raise pytest.UsageError("--crab-cluster needs Dask: install pytest-crab with its extra [cluster]") from error
    models = crews.settings.models
    recordings = str(crews.settings.cassettes(options.store)) if models.cassettes else None
    plan = RunPlan(
        run=RunFolder().id,
        resume=resume,
        runtime=options.runtime_settings,
        proof_runs=options.proof_runs,
        prove=options.prove,
        models=dataclasses.replace(models, cassettes=recordings if _is_shared(models.cassettes) else None),
        fresh=options.rerun,
        attribute=options.attribute,
        explain=Explain(options.explain),
        replay=options.replay,
        budget=options.budget,
        shard=options.part,
    )
    try:
        return connect(options.cluster, plan, members, rootdir=config.rootpath, store=options.store)
    except (CrabError, OSError) as error:
        raise pytest.UsageError(f"--crab-cluster: {error}") from error


def _refusals(
    options: Options, settings: Settings, members: Sequence[Contestant], config: pytest.Config
) -> Iterator[str]:
    """Yield a sentence for each option that makes no sense beside a cluster."""
    if getattr(config.option, "tx", None) or getattr(config.option, "numprocesses", None):
        yield "--crab-cluster and -n both spread trials over processes: leave one of them out"
    if getattr(options, "disk_budget", None) is not None:
        yield (
            "--crab-disk-budget looks after images of this machine, and with --crab-cluster they are on the workers: "
            "set CRAB_DISK_BUDGET where these are started"
        )
    if config.getoption("crab_jobs") is not None:
        yield "--crab-jobs is for trials of this machine, and with --crab-cluster each worker says how many it takes"
    for spec in (member.spec for member in members):
        modules = {adapter.path.partition(":")[0] for adapter in spec.adapters.values()}
        for module in sorted(module for module in modules if module.rpartition(".")[2] == "conftest"):
            yield f"{module} ({spec.name}) is not on workers: put its class in a package that both sides install"
    if not str(options.cluster).startswith("tls://"):
        yield from _unencrypted(str(options.cluster), members)
    if options.runtime not in ("auto", *runtimes.RUNTIMES):
        yield f"--crab-runtime={options.runtime} comes from a hook, which workers do not have: use docker or local"
    if options.replay and not _is_shared(settings.models.cassettes):
        yield (
            "--crab-replay needs the recordings on every worker: "
            "let models.cassettes in crab.yaml name an absolute folder that all of them see"
        )


def _unencrypted(address: str, members: Sequence[Contestant]) -> Iterator[str]:
    """Yield a sentence if contestants run code beside a cluster that everybody who reaches it may give orders."""
    foreign = [member.spec for member in members if not member.built_in]
    if foreign:
        yield (
            f"{address} has no TLS, and {foreign[0].title} runs code that could give "
            "orders to the scheduler and the workers: start these with certificates, as docs/how-to/cluster.md says "
            "(A cluster with TLS), and name the cluster as tls://HOST:PORT"
        )


def _is_shared(cassettes: str | None) -> bool:
    return cassettes is not None and Path(cassettes).is_absolute()
