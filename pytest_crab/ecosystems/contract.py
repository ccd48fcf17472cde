"""The contract of an ecosystem: what each language says of its tools, so that nothing else has to name it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.types import Environment, Oracle, OracleRunner


class Spelling(NamedTuple):
    """The spelling of a text: a regular expression that matches the whole of it, and ``words`` that say so."""

    expression: str
    words: str


class Ecosystem(Protocol):
    """One language with its package manager and its runners of tests. It holds facts and rules, and runs nothing."""

    @property
    def pin(self) -> Spelling:
        """The spelling of a pinned package in ``environment.packages``."""

    @property
    def runners(self) -> Mapping[OracleRunner, Spelling]:
        """The runners of its tests, each with the end of the name of an oracle's file."""

    @property
    def leftovers(self) -> Patterns:
        """The files that its builds and test runs leave: they are never part of a revision."""

    @property
    def system_packages(self) -> tuple[str, ...]:
        """Folders in which a system keeps its packages for all users, as patterns of paths."""

    def owns(self, environment: Environment) -> bool:
        """Return whether an environment is for this ecosystem; exactly one owns each."""

    def environment_faults(self, environment: Environment) -> Iterator[str]:
        """Yield the faults of the keys that ask for this ecosystem, as sentences that begin with the key.

        Every ecosystem is asked of every environment: its keys may be half there, or stand beside those of another.
        """

    def unsupported_reason(self, facts: Mapping[str, Any], oracle: Oracle) -> str | None:
        """Return why an image with these facts cannot run an oracle of this ecosystem, and what to do about it.

        None: it can, or only a run can tell.
        """

    def needs_install(self, changed: Iterable[str], compiled: Collection[str]) -> bool:
        """Return whether a tree in which these files changed has to be installed anew.

        ``compiled`` are the modules that head's install compiled.
        """
