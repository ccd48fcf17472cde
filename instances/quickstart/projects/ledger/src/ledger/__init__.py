"""Plain-text double-entry bookkeeping."""

from ledger.errors import LedgerError, ParseError, UnbalancedError
from ledger.model import Posting, Transaction
from ledger.parser import parse_journal
from ledger.reports import balances, register

__all__ = [
    "LedgerError",
    "ParseError",
    "Posting",
    "Transaction",
    "UnbalancedError",
    "balances",
    "parse_journal",
    "register",
]
