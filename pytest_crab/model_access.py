"""The way to models and to what a step may keep, as adapters are given it: the one door to every provider."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_crab.types import Usage

#: The header in which the gateway says what a whole answer used: a Usage as JSON.
USAGE_HEADER = "x-crab-usage"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAccess:
    """One step's way to the models; its token is good for that step and attempt of one trial, and for nothing else.

    Where providers were named when it was opened, it is good for these alone.

    The first segment of a request's path names the provider (``/anthropic``, ``/openai``, or one of crab.yaml's), the
    rest is the provider's own path.
    """

    #: The gateway's Unix socket on this host.
    socket: Path
    #: What goes where a client wants its API key.
    token: str

    @property
    def asking(self) -> Path:
        """The file that the gateway keeps while a request by this access is under way."""
        return self.socket.with_suffix(".asking")


class Models(Protocol):
    """The gateway as trials see it: it holds the keys, meters, keeps budgets, records and replays."""

    def open(
        self, *, trial: str, step: str, attempt: int, providers: Sequence[str] | None = None, spent: float = 0.0
    ) -> AbstractContextManager[ModelAccess]:
        """Access for one attempt at a step to these providers (None: to all); the token is void once the context ends.

        ``spent`` is what the trial's steps that come from the store have cost, in US dollars. Raises GatewayError, and
        BudgetSpent where the step spent what its trial may cost.
        """

    def usage(self, access: ModelAccess) -> Usage:
        """Return the usage of this access so far, also after its end. Raises GatewayError."""

    def stop(self) -> None:
        """Break off every access of this process, from any thread; their steps raise Cancelled."""


class Services(Protocol):
    """Models, waiting and transcripts for one step of a reviewer, an agent, a scorer or a curator.

    Asking a model raises ModelError and GatewayError; whoever asks says whose failure a ModelError is.
    """

    def models(self, *providers: str) -> AbstractContextManager[ModelAccess]:
        """Access to the models of these providers (none named: of all) for this step.

        Raises GatewayError where the run has no gateway, and BudgetSpent once the trial may cost no more.
        """

    def usage(self, access: ModelAccess) -> Usage:
        """Return what that access has used so far. Raises GatewayError."""

    def total_used(self) -> Usage | None:
        """Return the usage of all accesses together, also after their end; None if there was none."""

    def wait(self, seconds: float) -> None:
        """Let time pass, for callers that poll a service. Raises Cancelled once the run is stopped."""

    def keep(self, name: str, text: str) -> str:
        """Keep a transcript in the store, every token and key in it taken out; return its key."""
