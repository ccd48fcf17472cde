"""The run's money between controller and workers: their questions, the answers, and what dead ones leave."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from pytest_crab.campaign.cluster.connection import Connection
from pytest_crab.campaign.cluster.roster import Member
from pytest_crab.campaign.cluster.treasury import Answer
from pytest_crab.campaign.cluster.treasury import Treasury
from pytest_crab.campaign.cluster.worker import LOST


class Cashier:
    """Takes workers' questions to the treasury and tells them its answers; who is dead asks and is told nothing."""

    def __init__(self, connection: Connection, treasury: Treasury) -> None:
        self._connection = connection
        self._treasury = treasury
        self._dead: set[str] = set()
        self._unsaid: list[Answer] = []

    @property
    def outstanding(self) -> int:
        """How many requests are under way."""
        return self._treasury.outstanding

    def know(self, member: Member) -> None:
        """Let a worker ask."""
        self._dead.discard(member.uid)
        self._treasury.know(member.uid, member.name)

    def hear(self, message: Mapping[str, Any]) -> None:
        """Take what a worker asks or gives back."""
        uid = str(message.get("uid"))
        if uid in self._dead:
            return
        if "ask" in message:
            self.answer(self._treasury.ask(uid, message))
        elif "settle" in message:
            self.answer(self._treasury.settle(uid, message["settle"], message["entry"]))

    def lose(self, member: Member) -> None:
        """Book what a worker that is gone had under way."""
        self._dead.add(member.uid)
        self.answer(self._treasury.lose(member.uid))

    def answer(self, answers: Iterable[Answer] = ()) -> None:
        """Tell workers; who cannot be told now is told at the next call, unless it is gone by then."""
        answers, self._unsaid = [*self._unsaid, *answers], []
        for uid, message in answers:
            try:
                if uid not in self._dead:
                    self._connection.answer(uid, message)
            except LOST:
                self._unsaid.append((uid, message))

    def close(self, members: Iterable[Member]) -> None:
        """Book what these have not given back, and close the ledger."""
        try:
            for member in members:
                self._treasury.lose(member.uid)
        finally:
            self._treasury.close()
