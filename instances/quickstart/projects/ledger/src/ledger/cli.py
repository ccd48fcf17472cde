"""The command line."""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Sequence

from ledger.errors import LedgerError
from ledger.model import Transaction
from ledger.parser import parse_journal
from ledger.reports import balances, register


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        for line in arguments.run(arguments):
            print(line)
    except (LedgerError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ledger", description="Plain-text double-entry bookkeeping.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    balance = commands.add_parser("balance", help="every account with its balance")
    balance.add_argument("file", nargs="?", default="-")
    balance.set_defaults(run=_balance)

    entries = commands.add_parser("register", help="the postings of an account, with a running total")
    entries.add_argument("account")
    entries.add_argument("file", nargs="?", default="-")
    entries.add_argument("--since", type=datetime.date.fromisoformat, metavar="DATE", help="first day shown")
    entries.add_argument("--until", type=datetime.date.fromisoformat, metavar="DATE", help="first day not shown")
    entries.set_defaults(run=_register)
    return parser


def _load(path: str) -> list[Transaction]:
    if path == "-":
        return parse_journal(sys.stdin)
    with open(path, encoding="utf-8") as journal:
        return parse_journal(journal)


def _balance(arguments: argparse.Namespace) -> list[str]:
    totals = balances(_load(arguments.file))
    return [f"{total:>14} {commodity}  {account}" for (account, commodity), total in totals.items()]


def _register(arguments: argparse.Namespace) -> list[str]:
    entries = register(_load(arguments.file), arguments.account, since=arguments.since, until=arguments.until)
    return [
        f"{entry.date}  {entry.payee:<24} {entry.posting.amount:>12} {entry.total:>12} {entry.posting.commodity}"
        for entry in entries
    ]
