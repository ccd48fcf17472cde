"""Finished steps between the controller's store and the workers': asked for before one is made, sent once it is."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.campaign.cluster.plan import key_in, refuse_key
from pytest_crab.errors import BadInput, StoreError
from pytest_crab.store import FileStore

log = logging.getLogger(__name__)

#: Bytes of one step: what is larger stays where it was made.
MOST_BYTES = 64 << 20


class Controller(Protocol):
    """A worker's way to the controller, which reads what is sent in the order of sending."""

    def send(self, message: Mapping[str, Any]) -> bool:
        """Return once the message is out of this process, or False: that is not known, and it may be sent again."""

    def note(self, message: Mapping[str, Any]) -> None:
        """Have a message go along with the next one, or after a moment; it is lost with this process."""

    def call(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a message and return the answer; nothing if none comes."""

    def close(self) -> None:
        """Send nothing more."""


class RemoteStore(FileStore):
    """A worker's store, which knows all that the controller's does, and sends it all that it lacks.

    What the controller has under a key comes before the worker's own, and it is sent nothing that it has. It is not
    asked again for what it has given. Where it does not answer, this is the worker's own store. ``warn`` is given a
    sentence on what is not sent; ``secrets`` names the variables whose values are never sent.
    """

    def __init__(
        self, folder: Path, controller: Controller, warn: Callable[[str], None], *, secrets: Sequence[str]
    ) -> None:
        super().__init__(folder)
        self._controller = controller
        self._warn = warn
        self._secrets = secrets
        self._given: set[tuple[str, str]] = set()

    @override
    def get(self, step: str, key: str) -> Any | None:
        return self.get_all(step, [key])[key]

    @override
    def get_all(self, step: str, keys: Iterable[str]) -> dict[str, Any]:
        own = super().get
        found = {key: own(step, key) for key in keys}
        asked = [key for key, value in found.items() if value is None or (step, key) not in self._given]
        if not asked:
            return found
        answer = self._controller.call({"step": step, "keys": asked})
        for key, text in answer.get("values", {}).items():
            value = json.loads(text)
            if value != found[key]:
                super().put(step, key, value)
            found[key] = value
            self._given.add((step, key))
        for key in answer.get("lacks", ()):
            if (value := found[key]) is not None:
                if isinstance(value, dict) and "transcript" in value:
                    self.get("transcript", value["transcript"])
                self._send(step, key, value)
        return found

    @override
    def put(self, step: str, key: str, value: Any) -> None:
        """Returns once the step has left this process, so that it outlives it."""
        super().put(step, key, value)
        self._send(step, key, value)

    def _send(self, step: str, key: str, value: Any) -> None:
        text = serialization.canonical(value)
        named = key_in(text.encode(), self._secrets)
        if named is not None:
            self._warn(f"the {step} {key} holds the value of {named} and is kept here only")
        elif len(text) > MOST_BYTES:
            self._warn(f"the {step} {key} has {len(text) >> 20} MiB, more than is sent, and is kept here only")
        else:
            self._controller.send({"step": step, "key": key, "value": text})


class StepServer:
    """The controller's side: answers workers out of its store, and keeps there what they made.

    What is there already stays, unless its step is ``fresh``: of two workers that made the same the first is right.
    No value of a variable in ``secrets`` is sent.
    """

    def __init__(self, store: FileStore, fresh: Sequence[str], secrets: Sequence[str]) -> None:
        self._store = store
        self._fresh = fresh
        self._secrets = secrets

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Keep the finished step of a message, or return what the store has of those that it asks for."""
        try:
            step = str(message["step"])
            if "keys" in message:
                return self._get(step, list(map(str, message["keys"])))
            self._put(step, str(message["key"]), message["value"])
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            log.warning("a worker sent what is no finished step (%s), and it is not kept", error)
        except StoreError as error:
            _warn(error)
        return {}

    def _get(self, step: str, keys: Sequence[str]) -> dict[str, Any]:
        """Return what the store has, unless that is too large, and the keys of what it lacks."""
        given: dict[str, str] = {}
        lacks: list[str] = []
        for key in keys:
            try:
                value = self._store.get(step, key)
                if value is None:
                    lacks.append(key)
                elif len(text := serialization.canonical(value)) <= MOST_BYTES:
                    refuse_key(f"the stored {step} {key}", text.encode(), self._secrets)
                    given[key] = text
            except (StoreError, BadInput) as error:
                _warn(error)
        return {"values": given, "lacks": lacks}

    def _put(self, step: str, key: str, text: str) -> None:
        value = json.loads(text) if len(text) <= MOST_BYTES else None
        if not isinstance(value, dict):
            raise TypeError(f"{step}/{key} holds no record")
        if step in self._fresh or self._store.get(step, key) is None:
            self._store.put(step, key, value)


def _warn(error: Exception) -> None:
    log.warning("%s", " ".join(str(error).split()))
