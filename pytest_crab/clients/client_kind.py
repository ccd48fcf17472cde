"""One client: a command-line program of others that reviews or acts, as its makers ship it, and how its runs end."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_crab.clients.status_table import Rows, StatusRow, status_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKind:
    """One client as its makers ship it."""

    name: str
    program: str
    #: Pinned to what the adapters were tested with.
    packages: tuple[str, ...]
    #: The places of its own program below a folder that npm filled; without any it is a Python program in a virtual
    #: environment.
    native: tuple[str, ...] = ()
    #: The number of folders above the program at which the tree begins that it needs.
    tree: int = 0
    #: The oldest CPython that it runs on.
    python: str = ""
    #: How its runs end, but for what the harness itself sees of any client.
    endings: Rows

    @property
    def rows(self) -> tuple[StatusRow, ...]:
        """The ends of its runs, in the order in which they are looked at."""
        return status_rows(self.name, self.endings)
