"""The budget of a run on a cluster, kept by admission, and the ledger of all its workers."""

from __future__ import annotations

import datetime
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab.campaign.trial_pool import TRIALS, Contestant
from pytest_crab.models.prices import LONGEST_ANSWER, Prices, dearest_cost
from pytest_crab.settings import ModelSettings, Price

#: Tokens that one request reads at most: a trial may exceed ``trial_budget`` by its last request.
MOST_READ = 200_000


@dataclass
class _Grant:
    """A running trial's allowance."""

    trial: str
    #: In US dollars.
    allowance: float
    #: Whether it was all there was.
    whole: bool
    #: What of it is known to be spent.
    spent: float = 0.0
    #: Whether the trial is in a step that asks models, so that more may be spent than is known.
    asking: bool = False
    #: The ledger's line for it once its worker is gone.
    lost: Mapping[str, Any] | None = None

    @property
    def rest(self) -> float:
        """The US dollars that it may spend, or may have spent on a worker that is gone, beyond what is known."""
        return 0.0 if self.lost and not self.asking else max(self.allowance - self.spent, 0.0)


def reserve_of(models: ModelSettings, crews: Iterable[Contestant]) -> float | None:
    """Return the US dollars that a trial of these crews may spend at most; None: no trial has a limit of its own."""
    if models.trial_budget is None:
        return None
    prices = {*models.prices.values(), *_prices_of(models, crews)}
    requests = (dearest_cost(MOST_READ, LONGEST_ANSWER, price) for price in prices)
    return models.trial_budget + max(requests, default=0.0)


def _prices_of(models: ModelSettings, crews: Iterable[Contestant]) -> Iterator[Price]:
    """Yield the prices by which the gateway may bound requests of these crews."""
    known = Prices(models.prices)
    for _, _, adapter in (asker for crew in crews for asker in crew.askers):
        for provider in getattr(adapter, "providers", ()):
            if provider in models.providers:
                yield from known.possible(getattr(adapter, "model", None), models.providers[provider].base_url)


class BudgetLedger:
    """Admits trials while all that is spent, and all that running trials may spend, stays within ``budget`` dollars.

    A trial is admitted with an allowance that the gateway of its worker enforces: ``reserve``, else all that is left,
    to one trial at a time. Once a trial could not use all that was left, the others are admitted with nothing, so that
    those whose steps are stored end well. A dead worker's trials are charged with the rest of their allowances, as long
    as that worker does not tell what they spent. ``asking`` are the steps in which models are asked.
    """

    def __init__(
        self, path: Path, budget: float | None, reserve: float | None, asking: Sequence[str] = TRIALS.asking
    ) -> None:
        self._path = path
        self._asking = tuple(asking)
        self._budget = budget
        self._reserve = reserve
        self._booked: set[str] = set()
        self._paid = 0.0
        self._grants: dict[tuple[str, str], _Grant] = {}
        self._short = False

    @property
    def spent(self) -> float:
        """The US dollars of all requests that were booked, and of what lost trials may have spent beyond."""
        return self._paid + sum(grant.rest for grant in self._grants.values() if grant.lost)

    def begin(self, worker: str, key: str, trial: str) -> dict[str, Any]:
        """Admit a trial with its allowance, None: without end; nothing is answered while it has to wait."""
        self._grants.pop((worker, key), None)  # its answer was lost, and nothing is spent
        if self._budget is None:
            self._grants[worker, key] = _Grant(trial, 0.0, whole=False)
            return {"allowance": None}
        left = max(self._budget - self._paid - sum(grant.rest for grant in self._grants.values()), 0.0)
        whole = self._reserve is None or self._reserve > left
        if whole and not self._short and any(grant.rest > 0 and not grant.lost for grant in self._grants.values()):
            return {}
        allowance = left if whole or self._reserve is None else self._reserve
        self._grants[worker, key] = _Grant(trial, allowance, whole=whole)
        return {"allowance": allowance}

    def note_step(self, worker: str, key: str, step: str) -> None:
        """Note the step that a trial begins; of a dead worker's it may come late."""
        grant = self._grants.get((worker, key))
        if grant is not None and step.startswith((*self._asking, "verdict")):
            grant.asking = step.startswith(self._asking)

    def book(self, identity: str, worker: str, name: str, entry: Mapping[str, Any]) -> None:
        """Add a request of a worker to the ledger, once by its identity, however often the worker sends it.

        Raises ValueError where its cost is no amount of dollars, and books nothing then.
        """
        if identity in self._booked:
            return
        cost = max(_dollars(entry, "cost_usd"), _dollars(entry, "estimated_usd"))
        self._booked.add(identity)
        self._write({**entry, "worker": name})
        if entry.get("replayed"):
            return
        self._paid += cost
        for (owner, _), grant in self._grants.items():
            if owner == worker and grant.trial == entry.get("trial"):
                grant.spent += cost

    def end(self, worker: str, key: str, *, short: bool) -> None:
        """Take back what a trial did not spend; ``short``: a request was refused since it might cost more than that.

        All that it spent is booked by then, also by a worker that was lost and can be reached again.
        """
        grant = self._grants.pop((worker, key), None)
        self._short = self._short or (short and grant is not None and grant.whole)

    def lose(self, worker: str, name: str) -> None:
        """Charge what the trials of a dead worker may have spent beyond what is known, until they end after all."""
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        lost = {"status": 0, "complete": False, "lost": True}
        for (owner, _), grant in self._grants.items():
            if owner == worker:
                grant.lost = {"time": now, "trial": grant.trial, **lost, "worker": name}

    def close(self) -> None:
        """Add to the ledger what lost trials may have spent that no worker has told."""
        for grant in self._grants.values():
            if grant.lost and grant.asking:
                estimated = {} if self._budget is None else {"estimated_usd": round(grant.rest, 9)}
                self._write({**grant.lost, **estimated})

    def _write(self, line: Mapping[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, json.dumps(line, separators=(",", ":")).encode() + b"\n")
        finally:
            os.close(handle)


def _dollars(entry: Mapping[str, Any], key: str) -> float:
    told = float(entry.get(key) or 0.0)
    if not 0 <= told < math.inf:  # NaN neither
        raise ValueError(f"{key} of a request is {told}; it should be an amount of dollars, from 0 on")
    return told
