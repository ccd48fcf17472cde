"""The services of one step: models, what they used, waiting, and transcripts, for anyone who asks a model."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.errors import Cancelled, GatewayError
from pytest_crab.model_access import ModelAccess, Models, Services
from pytest_crab.redaction import Redactor
from pytest_crab.types import Usage, total_usage


class StepServices(Services):
    """A model_access.Services for one attempt at a step.

    Its accesses are booked on ``trial``, ``step`` and ``attempt``; ``spent`` is what earlier steps of the trial have
    cost. ``put`` is a store's. ``secrets`` names the variables whose values no transcript may hold, and ``note`` is
    called with the key of each transcript.
    """

    def __init__(
        self,
        models: Models | None,
        put: Callable[[str, str, Any], None],
        *,
        trial: str,
        step: str,
        attempt: int = 1,
        spent: float = 0.0,
        secrets: Sequence[str] = (),
        cancelled: threading.Event | None = None,
        note: Callable[[str], None] = lambda _key: None,
    ) -> None:
        self._models = models
        self._put = put
        self._trial = trial
        self._step = step
        self._attempt = attempt
        self._spent = spent
        self._secrets = secrets
        self._cancelled = cancelled or threading.Event()
        self._note = note
        self._accesses: list[ModelAccess] = []

    @contextmanager
    @override
    def models(self, *providers: str) -> Iterator[ModelAccess]:
        with self._gateway.open(
            trial=self._trial,
            step=self._step,
            attempt=self._attempt,
            spent=self._spent,
            providers=providers or None,
        ) as access:
            self._accesses.append(access)
            yield access

    @override
    def usage(self, access: ModelAccess) -> Usage:
        return self._gateway.usage(access)

    @override
    def total_used(self) -> Usage | None:
        return total_usage(self._usage_or_none(access) for access in self._accesses)

    @override
    def wait(self, seconds: float) -> None:
        if self._cancelled.wait(seconds):
            raise Cancelled(f"the run was stopped while {self._step} was waited for")

    @override
    def keep(self, name: str, text: str) -> str:
        text = Redactor({access.token: "[token]" for access in self._accesses}).text(text)
        text = Redactor.of_variables(self._secrets, os.environ).text(text)
        value = {"trial": self._trial, "step": self._step, "name": name, "text": text}
        key = serialization.digest(value)
        self._put("transcript", key, value)
        self._note(key)
        return key

    def _usage_or_none(self, access: ModelAccess) -> Usage | None:
        try:
            return self.usage(access)
        except GatewayError:  # it is gone, and nothing is known
            return None

    @property
    def _gateway(self) -> Models:
        if self._models is None:
            raise GatewayError("this run has no gateway, so no model can be asked")
        return self._models
