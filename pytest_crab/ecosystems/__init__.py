"""The languages that environments can be for: one folder each, behind the one contract of ``contract.py``."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import add
from typing import Any

from pytest_crab.ecosystems.contract import Ecosystem, Spelling
from pytest_crab.ecosystems.node import Node
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.ecosystems.python import Python
from pytest_crab.types import Environment, Oracle, OracleRunner

#: Every ecosystem.
ECOSYSTEMS: tuple[Ecosystem, ...] = (Python(), Node())

#: What builds and test runs of any language leave: a project may use several. It is never part of a revision.
LEFTOVERS: Patterns = functools.reduce(add, (one.leftovers for one in ECOSYSTEMS))

#: Folders in which a system keeps packages for all its users, as patterns of paths.
SYSTEM_PACKAGES: tuple[str, ...] = tuple(place for one in ECOSYSTEMS for place in one.system_packages)


def ecosystem_of(environment: Environment) -> Ecosystem:
    """Return the ecosystem that an environment is for."""
    return next(one for one in ECOSYSTEMS if one.owns(environment))


def oracle_file(runner: OracleRunner) -> Spelling:
    """Return how the name of an oracle's file ends, by what runs it."""
    return _of_runner(runner).runners[runner]


def environment_faults(environment: Environment) -> Iterator[str]:
    """Yield the faults of the keys of an environment that ask for an ecosystem; each sentence begins with its key."""
    for one in ECOSYSTEMS:
        yield from one.environment_faults(environment)


def unsupported_reason(facts: Mapping[str, Any], oracle: Oracle) -> str | None:
    """Return why an image with these facts cannot run an oracle and what to do about it.

    None: it can, or only a run can tell.
    """
    return _of_runner(oracle.runner).unsupported_reason(facts, oracle)


def needs_install(environment: Environment, changed: Iterable[str], compiled: Collection[str]) -> bool:
    """Return whether a tree in which these files changed has to be installed anew.

    ``compiled`` are the modules that head's install compiled.
    """
    return bool(environment.install) and ecosystem_of(environment).needs_install(changed, compiled)


def _of_runner(runner: OracleRunner) -> Ecosystem:
    return next(one for one in ECOSYSTEMS if runner in one.runners)
