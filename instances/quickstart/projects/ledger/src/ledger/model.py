"""Transactions and postings, as plain values that cannot be wrong."""

from __future__ import annotations

import datetime
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal

from ledger.errors import LedgerError, UnbalancedError


@dataclass(frozen=True)
class Posting:
    """An amount that goes to an account (or, if negative, comes from it)."""

    account: str
    amount: Decimal
    commodity: str

    def belongs_to(self, account: str) -> bool:
        """Whether this posting is on *account* or one of its sub-accounts."""
        return self.account == account or self.account.startswith(account + ":")


@dataclass(frozen=True)
class Transaction:
    """Postings that add up to zero in every commodity."""

    date: datetime.date
    payee: str
    postings: tuple[Posting, ...]

    def __post_init__(self) -> None:
        if len(self.postings) < 2:
            raise LedgerError(f"{self.date} {self.payee}: a transaction has two postings or more")
        totals: defaultdict[str, Decimal] = defaultdict(Decimal)
        for posting in self.postings:
            totals[posting.commodity] += posting.amount
        for commodity, total in totals.items():
            if total != 0:
                raise UnbalancedError(f"{self.date} {self.payee}: off by {total} {commodity}")
