"""Finished steps between the controller's store and the workers': asked for before one is made, given when it is."""

from __future__ import annotations

import itertools
import json
import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_crab import plain
from pytest_crab.campaign.cluster.plan import secret_in
from pytest_crab.errors import BadInput
from pytest_crab.errors import StoreError
from pytest_crab.store import FileStore

log = logging.getLogger(__name__)

#: Bytes of one step: what is larger stays where it was made.
MOST_BYTES = 64 << 20

#: Seconds that a worker waits for the controller's word, each time it asks; then it goes on with what it has.
PATIENCE = (20.0, 20.0)

#: Seconds between looks at whether the run was stopped meanwhile.
_LOOK = 0.2


class SharedStore(FileStore):
    """A worker's store, which knows all that the controller's does, and gives it all that it lacks.

    What the controller has under a key comes before the worker's own, and nothing is sent that the other side has.
    Where the controller does not answer, this is the worker's own store. ``send`` brings a message to the controller
    and does not wait, ``warn`` a sentence; ``secrets`` names the variables whose values are never sent.
    """

    def __init__(
        self,
        folder: Path,
        send: Callable[[Mapping[str, Any]], None],
        warn: Callable[[str], None],
        *,
        secrets: Sequence[str],
        cancelled: threading.Event,
    ) -> None:
        super().__init__(folder)
        self._send = send
        self._warn = warn
        self._secrets = secrets
        self._cancelled = cancelled
        self._numbers = itertools.count(1)
        self._calls: dict[str, queue.SimpleQueue[Mapping[str, Any]]] = {}
        self._missed: set[tuple[str, str]] = set()

    def get(self, step: str, key: str) -> Any | None:
        """See FileStore. What nobody has is asked for anew at every second look: the next one is under the lock."""
        own = super().get(step, key)
        if own is None and (step, key) in self._missed:
            self._missed.discard((step, key))
            return None
        answer = self._ask({"step": step, "key": key, "have": None if own is None else plain.digest(own)})
        if "value" in answer:
            found = json.loads(answer["value"])
            super().put(step, key, found)
            return found
        if answer.get("lacks") and own is None:
            self._missed.add((step, key))
        elif answer.get("lacks"):
            if isinstance(own, dict) and "transcript" in own:
                self.get("transcript", own["transcript"])
            self._give(step, key, own)
        return own

    def put(self, step: str, key: str, value: Any) -> None:
        """See FileStore; returns when the controller has it too."""
        super().put(step, key, value)
        self._missed.discard((step, key))
        self._give(step, key, value)

    def hear(self, answer: Mapping[str, Any]) -> None:
        """Take what the controller answered; who waits for nothing any more needs no answer."""
        waiting = self._calls.get(str(answer.get("call")))
        if waiting is not None:
            waiting.put(answer)

    def _give(self, step: str, key: str, value: Any) -> None:
        text = plain.canonical(value)
        named = secret_in(text.encode(), self._secrets, os.environ)
        if named is not None:
            self._warn(f"the {step} {key} holds the value of {named} and is kept here only")
        elif len(text) > MOST_BYTES:
            self._warn(f"the {step} {key} has {len(text) >> 20} MiB, more than is sent, and is kept here only")
        else:
            self._ask({"step": step, "key": key, "value": text})

    def _ask(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a message, asked twice since a message may be lost; nothing if none comes."""
        call = str(next(self._numbers))
        waiting = self._calls[call] = queue.SimpleQueue()
        try:
            for patience in PATIENCE:
                self._send({"call": call, **message})
                deadline = time.monotonic() + patience
                while not self._cancelled.is_set() and time.monotonic() < deadline:
                    try:
                        return waiting.get(timeout=_LOOK)
                    except queue.Empty:
                        continue
                if self._cancelled.is_set():
                    break
            return {}
        finally:
            del self._calls[call]


class Desk:
    """The controller's side: answers workers out of its store, and keeps there what they made.

    What is there already stays, unless its step is ``fresh``: of two workers that made the same the first is right.
    ``check`` raises BadInput for what must not be sent.
    """

    def __init__(self, store: FileStore, fresh: Sequence[str], check: Callable[[str, bytes], None]) -> None:
        self._store = store
        self._fresh = fresh
        self._check = check

    def hear(self, texts: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
        """What is to be answered to messages of workers, by the uid that each gives."""
        answers: dict[str, list[dict[str, Any]]] = {}
        for text in texts:
            try:
                told = json.loads(text)
                uid, call, step, key = (str(told[name]) for name in ("uid", "call", "step", "key"))
                answer = self._take(step, key, told["value"]) if "value" in told else self._find(step, key, told)
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                log.warning("a worker sent what is no finished step (%s), and it is not kept", error)
                continue
            except (StoreError, BadInput) as error:
                log.warning("%s", " ".join(str(error).split()))
                answer = {}
            answers.setdefault(uid, []).append({"call": call, **answer})
        return answers

    def _find(self, step: str, key: str, told: Mapping[str, Any]) -> dict[str, Any]:
        """What the store has, unless the worker has the same."""
        value = self._store.get(step, key)
        if value is None:
            return {"lacks": True}
        have = told["have"]
        if have is not None and have == plain.digest(value):
            return {}
        text = plain.canonical(value)
        if len(text) > MOST_BYTES:
            return {}
        self._check(f"the stored {step} {key}", text.encode())
        return {"value": text}

    def _take(self, step: str, key: str, text: str) -> dict[str, Any]:
        value = json.loads(text) if len(text) <= MOST_BYTES else None
        if not isinstance(value, dict):
            raise TypeError(f"{step}/{key} holds no record")
        if step in self._fresh or self._store.get(step, key) is None:
            self._store.put(step, key, value)
        return {}
