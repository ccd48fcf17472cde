"""Connects a run to a cluster: packs what workers need, and shakes hands with them."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_crab.campaign.cluster.budget_ledger import BudgetLedger
from pytest_crab.campaign.cluster.budget_ledger import reserve_of
from pytest_crab.campaign.cluster.connection import Connection
from pytest_crab.campaign.cluster.executor import ClusterExecutor
from pytest_crab.campaign.cluster.executor import Heard
from pytest_crab.campaign.cluster.plan import RunPlan
from pytest_crab.campaign.cluster.plan import fill_plan
from pytest_crab.campaign.cluster.remote_store import StepServer
from pytest_crab.store import FileStore
from pytest_crab.trial import Crew
from pytest_crab.trial.run_context import secrets_of


def connect(
    address: str, plan: RunPlan, crews: Sequence[Crew], *, rootdir: Path, store: Path, heard: Heard
) -> ClusterExecutor:
    """Return an executor on a cluster whose workers share the steps in ``store``, where the run's ledger lies too.

    Raises BadInput for what cannot be sent, EngineError for a cluster that is not there or whose workers cannot take
    the run, and OSError.
    """
    plan = fill_plan(plan, (crew.spec for crew in crews), rootdir)
    inbox: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
    steps = StepServer(FileStore(store), plan.fresh, secrets_of(plan.models))

    def hear(message: Mapping[str, Any]) -> None:
        if "step" not in message or "entries" in message:
            inbox.put(("message", message))
        if "step" in message:
            answer = steps.answer(message)
            if "call" in message:
                connection.answer(str(message["call"]), answer)

    connection = Connection(address, plan, hear)
    try:
        done = connection.first()
    except BaseException:
        connection.close()
        raise
    budget = BudgetLedger(store / "ledger" / f"{plan.run}.jsonl", plan.budget, reserve_of(plan.models, crews))
    return ClusterExecutor(connection, plan, budget, done, heard=heard, inbox=inbox)
