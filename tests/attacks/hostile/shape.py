"""What an attack is: its class, what is played, what plays it the naive way, and what the record says of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from pytest_crab.ecosystems import leftover_patterns
from pytest_crab.types import Reason


class Kind(Enum):
    """The classes of attacks, in the order of the page; the value is what the page calls it."""

    FORGED = "forged passes: import hooks, frames, gc, patched pytest"
    LIBRARIES = "replaced functions of libraries that the oracle uses, and of its own"
    PLANTED = "planted packages, plugins, settings and entry points"
    TOOLS = "replaced interpreter or tools on PATH"
    BYTECODE = "`__pycache__` and bytecode without source"
    INSTALL = "code that runs at install time"
    REPORTS = "games with reports and exit codes"
    CHANNEL = "the authenticated channel between the harness and its host"
    CHILDREN = "processes of the project that reach for the oracle's process"
    PATHS = "path escapes and symbolic links in diffs and archives"
    BOMBS = "bombs in archives, YAML, XML and JSON"
    LEAKS = "answers in git objects, caches, later releases, environment, /proc"
    EXFILTRATION = "carrying things out of the sandbox"
    MODELS = "requests to models that mean two things, and keys on their way onto a record"
    EXHAUSTION = "too much memory, processes, disk, inodes, output, time"
    INJECTION = "instructions in diffs and findings"
    JUDGES = "orders to judges in findings"
    TERMINAL = "terminal escapes and markup"
    IDS = "ids that are paths"
    HOST = "host side effects"
    RESOURCES = "resources of the host"
    PLACEMENT = "answers by where a set or a store lies"


@dataclass(frozen=True, kw_only=True)
class Attack:
    """One attack of the first list: it must be refused, and work where the naive way is gone.

    ``recorded`` is what the record says, in the words of the page.
    """

    kind: Kind
    name: str

    @property
    def recorded(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Revision(Attack):
    """Files that a revision changes, so that the oracle's project goes wrong in another way than by its code.

    The harness must miss it for ``reason``, with ``detail`` in its sentence. The twin is a careless command that takes
    it for right: ``command`` are its words after ``python -m pytest`` (see careless.COMMANDS), ``roots`` is its
    PYTHONPATH, ``install`` that it runs setup.py first, ``reads`` what it takes its verdict from: code, log, junit or
    line (one that a supervisor prints);
    ``around`` prepares what a naive set-up has around the tree, as the instance has it. In texts, ``{port}``,
    ``{socket}`` and ``{abstract}`` are doors of the host that answer, ``{file}`` a file of it, ``{memory}`` and others
    what a run may use (see ledger.sizes). ``confined`` is an attack that only a sandbox can stop; ``seconds`` is how
    long a run may take, ``alone`` that it ends the harness too, so that it has a sandbox of its own.
    """

    files: Mapping[str, str | bytes]
    reason: Reason
    command: str = "no ini"
    roots: str = "."
    install: bool = False
    reads: str = "code"
    detail: str = ""
    around: Callable[[Path], None] | None = None
    confined: bool = False
    alone: bool = False
    seconds: float = 30

    @property
    def recorded(self) -> str:
        return f"missed ({Reason.EMPTY_REVISION if self.is_left else self.reason})"

    @property
    def is_left(self) -> bool:
        """Whether all that it writes is what builds and test runs leave, and never part of a revision of an agent."""
        return all(re.search(leftover_patterns().expression, path) for path in self.files)


@dataclass(frozen=True, kw_only=True)
class Refusal(Attack):
    """What is refused, or made harmless, on the host.

    ``attempt`` plays it against the product in an empty folder and returns what is said of it, in which ``said`` (a
    pattern) is found; it raises AssertionError if the attack worked. ``twin`` plays it the naive way in another empty
    folder; whether it worked. ``plant`` gives what is hostile as a whole run or command of the product meets it: a Play
    of a contestant, a diff, an archive's bytes, a Trial of somebody else's record, or the folder of an instance; None
    where a unit is all that was played.
    """

    attempt: Callable[[Path], str]
    twin: Callable[[Path], bool]
    said: str
    becomes: str
    plant: Callable[[Path], Any] | None = None

    @property
    def recorded(self) -> str:
        return self.becomes

    def is_said(self, text: str) -> bool:
        return re.search(self.said, text) is not None


@dataclass(frozen=True, kw_only=True)
class Residual:
    """One attack of the second list: it succeeds in the oracle's process, and fails where that is another.

    ``runner`` is pytest (where the other way is ``isolation: process``) or node (where the oracle starts the project as
    a process of its own).
    """

    name: str
    runner: str
    files: Mapping[str, str]
