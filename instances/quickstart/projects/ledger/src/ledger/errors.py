"""Everything this package raises."""

from __future__ import annotations


class LedgerError(Exception):
    """Base of all errors of this package: the input cannot be used."""


class ParseError(LedgerError):
    """A line cannot be read."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class UnbalancedError(LedgerError):
    """The postings of a transaction do not add up to zero."""
