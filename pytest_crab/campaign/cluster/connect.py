"""Connects a run to a cluster: packs what workers need, looks it through for keys, and shakes hands with workers."""

from __future__ import annotations

import os
import queue
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.campaign.cluster import bundles
from pytest_crab.campaign.cluster.budget_ledger import BudgetLedger
from pytest_crab.campaign.cluster.budget_ledger import reserve_of
from pytest_crab.campaign.cluster.connection import Connection
from pytest_crab.campaign.cluster.executor import ClusterExecutor
from pytest_crab.campaign.cluster.executor import Heard
from pytest_crab.campaign.cluster.messages import CrewPayload
from pytest_crab.campaign.cluster.messages import RunPlan
from pytest_crab.campaign.cluster.messages import secret_in
from pytest_crab.campaign.cluster.messages import source_digest
from pytest_crab.campaign.cluster.messages import to_json
from pytest_crab.campaign.cluster.remote_store import StepServer
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
    """Return an executor on a cluster whose workers share the steps in ``store``; ``ledger`` is a file.

    Raises BadInput for what cannot be sent, and EngineError for a cluster that is not there, or of which a worker
    cannot take the run: each says why, in a sentence.
    """
    contents: dict[str, bytes] = {}
    payloads = {spec.reviewer: _payload(spec, plan, contents) for spec in crews}
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

    check("the plan of the run", to_json(plan).encode() + (b"" if own is None else own.content))
    for name, payload in payloads.items():
        check(name, to_json(payload).encode() + contents[payload.bundle])
    events: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
    steps = StepServer(FileStore(store), plan.fresh, check)

    def hear(message: Mapping[str, Any]) -> None:
        if "step" not in message:
            events.put(("message", message))
            return
        answer = steps.answer(message)
        if "call" in message:
            connection.answer(str(message["call"]), answer)

    connection = Connection(address, plan, list(payloads.values()), contents, hear)
    try:
        done = connection.first()
    except BaseException:
        connection.close()
        raise
    budget = BudgetLedger(ledger, plan.budget, reserve_of(plan.models.trial_budget, plan.models.prices.values()))
    executor = ClusterExecutor(connection, plan, budget, heard=heard, check=check, events=events)
    executor.start(done)
    return executor


def _payload(spec: CrewSpec, plan: RunPlan, contents: dict[str, bytes]) -> CrewPayload:
    """Pack a crew; its files are added to ``contents``. Raises BadInput, OSError.

    Each adapter's folder has a crab.yaml that says how models are reached, which is part of what some are.
    """
    models = serialization.canonical({"models": plan.models}).encode()
    files: dict[str, Path | bytes] = {f"{side}/{SETTINGS}": models for side in ("reviewer", "agent")}
    sent = replace(
        spec,
        reviewer_spec=bundles.pack_spec(spec.reviewer_spec, "reviewer", files, spec.reviewer),
        agent_spec=bundles.pack_spec(spec.agent_spec, "agent", files, spec.agent),
    )
    bundle = bundles.pack(files, spec.reviewer)
    contents[bundle.digest] = bundle.content
    return CrewPayload(spec=sent, bundle=bundle.digest, modules=_modules(spec))


def _modules(spec: CrewSpec) -> Mapping[str, str]:
    """Return the modules of a crew that are not of this package, and the digests of their sources."""
    names = {path.partition(":")[0] for path in (spec.reviewer_spec.path, spec.agent_spec.path)}
    found = {name: source_digest(name) for name in sorted(names) if not f"{name}.".startswith(_OWN)}
    return {name: digest or "nothing" for name, digest in found.items()}
