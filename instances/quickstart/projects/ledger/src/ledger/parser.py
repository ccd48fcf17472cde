"""From the text of a journal to transactions."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from decimal import Decimal

from ledger.errors import LedgerError, ParseError
from ledger.model import Posting, Transaction

_HEADER = re.compile(r"(?P<date>\d{4}-\d{2}-\d{2})\s+(?P<payee>\S.*)")
_POSTING = re.compile(r"\s+(?P<account>\S+(?: \S+)*)\s{2,}(?P<amount>-?\d+(?:\.\d+)?)\s+(?P<commodity>[A-Z]{3})")


def parse_journal(lines: Iterable[str]) -> list[Transaction]:
    """Read all transactions; raise ParseError at the first line that makes no sense.

    Empty lines and comments (a semicolon in the first column) may stand anywhere.
    """
    transactions: list[Transaction] = []
    header: tuple[int, datetime.date, str] | None = None
    postings: list[Posting] = []

    def finish() -> None:
        if header is None:
            return
        number, date, payee = header
        try:
            transactions.append(Transaction(date, payee, tuple(postings)))
        except LedgerError as error:
            raise ParseError(number, str(error)) from error

    for number, line in enumerate(lines, start=1):
        text = line.rstrip()
        if not text or text.startswith(";"):
            continue
        if text[0].isspace():
            if header is None:
                raise ParseError(number, "a posting before the first transaction")
            postings.append(_posting(number, text))
        else:
            finish()
            header, postings = _header(number, text), []
    finish()
    return transactions


def _header(number: int, text: str) -> tuple[int, datetime.date, str]:
    found = _HEADER.fullmatch(text)
    if found is None:
        raise ParseError(number, "expected a date and a payee")
    try:
        date = datetime.date.fromisoformat(found["date"])
    except ValueError as error:
        raise ParseError(number, str(error)) from error
    return number, date, found["payee"]


def _posting(number: int, text: str) -> Posting:
    found = _POSTING.fullmatch(text)
    if found is None:
        raise ParseError(number, "expected an account, two spaces or more, an amount and a commodity")
    return Posting(found["account"], Decimal(found["amount"]), found["commodity"])
