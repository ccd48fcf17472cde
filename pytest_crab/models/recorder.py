"""Recordings are written beside the answers: all that came meanwhile at a time, by one thread and under one lock."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pytest_crab.models.cassettes import Answer, Cassettes
from pytest_crab.models.ledger import Account
from pytest_crab.models.request import ModelRequest

#: Seconds that recordings wait for more to come: a thread's turn and a lock cost as much as writing one.
_GATHERING = 0.02

_Waiting = tuple[ModelRequest, Answer]


class Recorder:
    """Writes recordings in the order in which they came; ``Account.end`` waits for those of its account.

    A client may have an answer that is not recorded yet. No step counts before its account has ended, so that a process
    that is killed in between breaks the step and loses nothing that counts.
    """

    def __init__(self, cassettes: Cassettes) -> None:
        self._cassettes = cassettes
        self._waiting: list[_Waiting] = []
        self._written: asyncio.Future[None] | None = None
        self._writer: asyncio.Task[None] | None = None

    def add(self, request: ModelRequest, answer: Answer) -> None:
        """Have an answer written, after those before it."""
        self._waiting.append((request, answer))
        if self._written is None:
            self._written = asyncio.get_running_loop().create_future()
        request.account.recorded = self._written
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write_all())

    async def _write_all(self) -> None:
        """Write until nothing is left."""
        while self._written is not None:
            await asyncio.sleep(_GATHERING)
            waiting, self._waiting = self._waiting, []
            written, self._written = self._written, None
            try:
                await asyncio.to_thread(self._write, waiting)
            except Exception as error:  # noqa: BLE001 - whatever it is, what comes next is recorded all the same
                for request, _ in waiting:
                    self._blame(request.account, error)
            finally:
                written.set_result(None)

    def _write(self, waiting: Sequence[_Waiting]) -> None:
        """Write some; where one cannot be written, it is a lasting fault of its account. Raises OSError for all."""
        asked = []
        for request, answer in waiting:
            with self._blaming(request.account):
                asked.append((request.account, request.question_for_cassettes(), answer))
        with self._cassettes.locked():
            for account, question, answer in asked:
                with self._blaming(account):
                    self._cassettes.record(question, answer, (account.token,))

    @contextmanager
    def _blaming(self, account: Account) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, RecursionError) as error:
            self._blame(account, error)

    def _blame(self, account: Account, error: Exception) -> None:
        sentence = f"an answer could not be recorded in {self._cassettes.folder}: {error}"
        account.lasting = account.lasting or sentence
