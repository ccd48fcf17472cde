"""What can be asked of a list of transactions."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from ledger.errors import LedgerError
from ledger.model import Posting, Transaction


@dataclass(frozen=True)
class Entry:
    """One line of a register: a posting and the running total of its commodity."""

    date: datetime.date
    payee: str
    posting: Posting
    total: Decimal


def balances(transactions: Iterable[Transaction]) -> dict[tuple[str, str], Decimal]:
    """The balance of every account and commodity, accounts that are at zero left out."""
    totals: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for transaction in transactions:
        for posting in transaction.postings:
            totals[posting.account, posting.commodity] += posting.amount
    return {key: total for key, total in sorted(totals.items()) if total}


def register(
    transactions: Iterable[Transaction],
    account: str,
    *,
    since: datetime.date | None = None,
    until: datetime.date | None = None,
) -> Iterator[Entry]:
    """The postings of *account* and its sub-accounts, oldest first.

    The running total counts everything before *since* too; *until* is the first day that is not shown.
    """
    if since is not None and until is not None and until < since:
        raise LedgerError(f"the period ends ({until}) before it starts ({since})")
    totals: defaultdict[str, Decimal] = defaultdict(Decimal)
    for transaction in sorted(transactions, key=lambda transaction: transaction.date):
        if until is not None and transaction.date >= until:
            break
        for posting in transaction.postings:
            if not posting.belongs_to(account):
                continue
            totals[posting.commodity] += posting.amount
            if since is None or transaction.date >= since:
                yield Entry(transaction.date, transaction.payee, posting, totals[posting.commodity])
