"""How a run comes to a cluster: what is sent is packed and looked through for keys, and workers are greeted."""

from __future__ import annotations

import os
import queue
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_crab import plain
from pytest_crab.campaign.cluster import bundles
from pytest_crab.campaign.cluster.connection import Connection
from pytest_crab.campaign.cluster.executor import ClusterExecutor
from pytest_crab.campaign.cluster.executor import Heard
from pytest_crab.campaign.cluster.plan import RunPlan
from pytest_crab.campaign.cluster.plan import ShippedCrew
from pytest_crab.campaign.cluster.plan import secret_in
from pytest_crab.campaign.cluster.plan import source_digest
from pytest_crab.campaign.cluster.plan import written
from pytest_crab.campaign.cluster.steps import Desk
from pytest_crab.campaign.cluster.treasury import Treasury
from pytest_crab.errors import BadInput
from pytest_crab.settings import FILE as SETTINGS
from pytest_crab.store import FileStore
from pytest_crab.trial import CrewSpec
from pytest_crab.trial.world import secrets_of

#: Modules of this project, whose release is compared as a whole.
_OWN = "pytest_crab."


def connect(
    address: str, plan: RunPlan, crews: Iterable[CrewSpec], *, rootdir: Path, store: Path, ledger: Path, heard: Heard
) -> ClusterExecutor:
    """An executor whose workers take this run and share the steps in ``store``; ``ledger`` is the file of its bookings.

    Raises BadInput for what cannot be sent, and EngineError for a cluster that is not there, or of which a worker
    cannot take the run: each says why, in a sentence.
    """
    contents: dict[str, bytes] = {}
    shipped = {spec.reviewer: _shipped(spec, plan, contents) for spec in crews}
    own = bundles.dockerfiles(rootdir)
    if own is not None:
        contents[own.digest] = own.content
        plan = replace(plan, rootdir=own.digest)
    names = secrets_of(plan.models)

    def check(what: str, content: bytes) -> None:
        found = secret_in(content, names, os.environ)
        if found is not None:
            problem = (
                f"the value of {found} stands in it, and no key is sent to a cluster: set it on the workers instead"
            )
            raise BadInput(what, [problem])

    check("the plan of the run", written(plan).encode() + (b"" if own is None else own.content))
    for name, crew in shipped.items():
        check(name, written(crew).encode() + contents[crew.bundle])
    events: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
    desk = Desk(FileStore(store), plan.fresh, check)
    connection = Connection(
        address, plan, list(shipped.values()), contents, lambda told: events.put(("told", told)), desk
    )
    try:
        greeted = connection.first()
    except BaseException:
        connection.close()
        raise
    treasury = Treasury(ledger, plan.budget)
    executor = ClusterExecutor(connection, plan, shipped, treasury, heard=heard, check=check, events=events)
    executor.start(greeted)
    return executor


def _shipped(spec: CrewSpec, plan: RunPlan, contents: dict[str, bytes]) -> ShippedCrew:
    """A crew as workers build it; its files are added to ``contents``. Raises BadInput, OSError.

    Each adapter's folder has a crab.yaml that says how models are reached, which is part of what some are.
    """
    models = plain.canonical({"models": plan.models}).encode()
    files: dict[str, Path | bytes] = {f"{side}/{SETTINGS}": models for side in ("reviewer", "agent")}
    sent = replace(
        spec,
        reviewer_spec=bundles.shipped(spec.reviewer_spec, "reviewer", files, spec.reviewer),
        agent_spec=bundles.shipped(spec.agent_spec, "agent", files, spec.agent),
    )
    bundle = bundles.pack(files, spec.reviewer)
    contents[bundle.digest] = bundle.content
    return ShippedCrew(spec=sent, bundle=bundle.digest, modules=_modules(spec))


def _modules(spec: CrewSpec) -> Mapping[str, str]:
    """The modules of a crew that others wrote, and the digests of their sources."""
    names = {path.partition(":")[0] for path in (spec.reviewer_spec.path, spec.agent_spec.path)}
    found = {name: source_digest(name) for name in sorted(names) if not f"{name}.".startswith(_OWN)}
    return {name: digest or "nothing" for name, digest in found.items()}
