"""The run's money, on the controller: workers lease it request by request, and what a dead one held is booked."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: What is answered to a worker: (its uid, a plain message).
Answer = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class _Lease:
    """Money for one request; one that is not ``secured`` may cost more than what is left."""

    worker: str
    asked: Mapping[str, Any]
    secured: bool

    @property
    def most(self) -> float:
        """US dollars that the request can cost."""
        return float(self.asked.get("most") or 0.0)


class Treasury:
    """Grants leases before requests, books what they came to, and keeps the ledger of the run.

    A lease is for the most that its request can cost. Once less than that is left, each worker may have one request
    under way all the same, so that money is used up and the budget exceeded by at most one request per worker. What
    cannot be granted now waits until others are settled. ``budget`` is US dollars, None: no end; what one trial may
    cost is for the gateway of the worker that runs it.
    """

    def __init__(self, ledger: Path, budget: float | None) -> None:
        self.spent = 0.0
        self.entries = 0
        self._budget = budget
        self._leases: dict[tuple[str, str], _Lease] = {}
        self._waiting: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._names: dict[str, str] = {}
        self._path = ledger
        self._ledger: int | None = None

    @property
    def outstanding(self) -> int:
        """How many requests are under way."""
        return len(self._leases)

    def know(self, worker: str, name: str) -> None:
        """Note what the ledger calls a worker."""
        self._names[worker] = name

    def ask(self, worker: str, asked: Mapping[str, Any]) -> list[Answer]:
        """Take a question for a lease: {ask: id, trial, step, attempt, provider, path, model, most, guess}."""
        self._waiting[worker, str(asked["ask"])] = asked
        return self._answers()

    def settle(self, worker: str, lease: str | None, entry: Mapping[str, Any] | None) -> list[Answer]:
        """Give a lease back, with what its request came to; None: it was not made."""
        if lease is not None:
            known = self._leases.pop((worker, lease), None) or self._waiting.pop((worker, lease), None)
            if known is None:
                return []  # booked when its worker was given up
        if entry is not None:
            self._book(worker, entry)
        return self._answers()

    def lose(self, worker: str) -> list[Answer]:
        """Book what a dead worker had under way, as much as it may have come to."""
        for key in [key for key in self._waiting if key[0] == worker]:
            del self._waiting[key]
        for key in [key for key in self._leases if key[0] == worker]:
            asked = self._leases.pop(key).asked
            now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
            told = {name: asked[name] for name in ("trial", "step", "attempt", "provider", "path", "model")}
            guess = {} if asked.get("guess") is None else {"estimated_usd": round(float(asked["guess"]), 9)}
            rest = {"status": 0, "tries": 1, "seconds": 0.0, "complete": False, "lost": True}
            self._book(worker, {"time": now, **told, **rest, **guess})
        return self._answers()

    def close(self) -> None:
        """Close the ledger."""
        if self._ledger is not None:
            os.close(self._ledger)
            self._ledger = None

    def _answers(self) -> list[Answer]:
        """Decide all that waits, in the order of asking."""
        answers: list[Answer] = []
        for (worker, lease), asked in list(self._waiting.items()):
            why = self._refusal()
            secured = self._grant(worker, float(asked.get("most") or 0.0)) if why is None else None
            if why is None and secured is None:
                continue
            del self._waiting[worker, lease]
            if why is not None:
                answers.append((worker, {"refuse": lease, "why": why}))
            else:
                self._leases[worker, lease] = _Lease(worker, asked, bool(secured))
                answers.append((worker, {"grant": lease}))
        return answers

    def _grant(self, worker: str, most: float) -> bool | None:
        """Whether a lease is secured, or may be had without; None: neither now."""
        if self._budget is None:
            return True
        held = self.spent + sum(lease.most for lease in self._leases.values() if lease.secured)
        if held + most <= self._budget:
            return True
        daring = any(lease.worker == worker and not lease.secured for lease in self._leases.values())
        return False if held < self._budget and not daring else None

    def _refusal(self) -> str | None:
        if self._budget is not None and self.spent >= self._budget:
            return (
                f"the budget of the run is spent ({self.spent:.4f} of {self._budget:g} USD): "
                "raise --crab-budget and run again, finished steps are kept"
            )
        return None

    def _book(self, worker: str, entry: Mapping[str, Any]) -> None:
        if self._ledger is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._ledger = os.open(self._path, flags, 0o600)
        line = {**entry, "worker": self._names.get(worker, worker)}
        os.write(self._ledger, json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self.entries += 1
        if not entry.get("replayed"):
            self.spent += max(float(entry.get("cost_usd") or 0.0), float(entry.get("estimated_usd") or 0.0))
