"""The languages that environments can be for: one folder each, behind the one contract of ``contract.py``.

A name in the entry-point group ``pytest_crab.ecosystems`` stands for an ``Ecosystem`` of another package. These are
looked up only for a name that none of this package's own has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from operator import add
from pathlib import PurePosixPath
from typing import Any

from pytest_crab.ecosystems import elsewhere
from pytest_crab.ecosystems.contract import Ecosystem, Grammar, Names, Variables
from pytest_crab.ecosystems.cpp import Cpp
from pytest_crab.ecosystems.go import Go
from pytest_crab.ecosystems.java import Java
from pytest_crab.ecosystems.linters import Linter
from pytest_crab.ecosystems.node import Node
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.ecosystems.php import Php
from pytest_crab.ecosystems.python import Python
from pytest_crab.ecosystems.ruby import Ruby
from pytest_crab.ecosystems.rust import Rust
from pytest_crab.ecosystems.toolchain import Tools
from pytest_crab.errors import BadInput
from pytest_crab.types import Environment, Oracle

#: The entry-point group.
GROUP = "pytest_crab.ecosystems"

#: The ecosystems of this package.
ECOSYSTEMS: tuple[Ecosystem, ...] = (Python(), Node(), Go(), Rust(), Java(), Cpp(), Php(), Ruby())

#: What an environment is for that asks for nothing else. Its tools are the interpreters that the harness needs too.
DEFAULT = ECOSYSTEMS[0]
DEFAULT_RUNNER = next(iter(DEFAULT.runners))
#: The end of the name of a source, compiled modules of which may lie beside it.
DEFAULT_SUFFIX = next(iter(DEFAULT.languages))

#: Ends of the names of compiled modules that an install leaves in a tree beside their sources.
COMPILED: tuple[str, ...] = tuple(end for one in ECOSYSTEMS for end in one.compiled)


@functools.cache
def installed() -> tuple[Ecosystem, ...]:
    """Return every ecosystem: this package's own, and those of other packages. Raises BadInput for a broken one."""
    from importlib import metadata  # slow to start, and only an environment of another package needs it

    found = []
    for entry in sorted(metadata.entry_points(group=GROUP)):
        try:
            one = entry.load()
            if not isinstance(getattr(one, "name", None), str) or isinstance(one, type):
                raise TypeError("it is no Ecosystem")  # noqa: TRY301 - said as all else that is wrong with it
        except Exception as error:
            fault = f"{entry.value} cannot be used ({error}); mend or uninstall it"
            raise BadInput(f"ecosystem {entry.name}", [fault]) from error
        found.append(one)
    return (*ECOSYSTEMS, *found)


def tools() -> tuple[Tools, ...]:
    """Return the tools of every ecosystem that has some. Raises BadInput as ``installed`` does."""
    return tuple(one.tools for one in installed() if one.tools is not None)


def ecosystem_of(environment: Environment) -> Ecosystem:
    """Return the ecosystem that an environment is for. Raises BadInput where none is installed for it."""
    found = _find(lambda one: one.owns(environment))
    if found is None:
        raise BadInput("environment", [_unknown(environment)])
    return found


def _unknown(environment: Environment) -> str:
    names = ", ".join(one.name for one in installed())
    return f"environment.ecosystem is {environment.ecosystem!r}; it should be one of {names}"


def of_runner(runner: str) -> Ecosystem | None:
    """Return the ecosystem that a runner of tests belongs to; None where there is none of this name."""
    return _find(lambda one: runner in one.runners)


def runs_own_tests(runner: str) -> bool:
    """Return whether a runner takes oracles that name tests of the project itself (``instances.own_tests``)."""
    owner = of_runner(runner)
    return owner is not None and owner.tests_runner == runner


def start(runner: str | None) -> Environment:
    """Return the environment of an instance of which nothing is known but the runner of all its oracles.

    Python's where that is None, or unknown.
    """
    owner = of_runner(runner) if runner is not None else None
    return (owner or DEFAULT).start(runner or DEFAULT_RUNNER)


def named(name: str) -> Ecosystem:
    """Return the ecosystem of this name. Raises BadInput where none is installed."""
    found = _find(lambda one: one.name == name)
    if found is None:
        raise BadInput("ecosystem", [f"there is none named {name!r}; install the package that adds it"])
    return found


def of_language(language: str) -> Ecosystem:
    """Return the ecosystem that a project of this language usually has; Python's where the language is unknown."""
    return _find(lambda one: language in one.languages.values()) or DEFAULT


def language_of_file(path: str) -> str | None:
    """Return the language of a file by the end of its name; None where no ecosystem knows it."""
    found = (word for one in installed() for end, word in one.languages.items() if path.endswith(end))
    return next(found, None)


def is_of_several_languages(path: str) -> bool:
    """Return whether the end of a file's name is that of several languages, as headers have for C and C++."""
    return any(path.endswith(one.shared_ends) for one in installed())


def linter_of(path: str) -> Linter | None:
    """Return the linter of a file's language by the end of its name; None where there is none."""
    found = (one.linter for one in installed() if any(path.endswith(end) for end in one.languages))
    return next(found, None)


def grammar_of(path: str) -> Grammar | None:
    """Return the grammar of a file's language by the end of its name; None where there is none."""
    end = PurePosixPath(path).suffix
    owner = _find(lambda one: end in one.grammars)
    return elsewhere.GRAMMARS.get(end) if owner is None else owner.grammars[end]


def of_file(path: str) -> Ecosystem | None:
    """Return the ecosystem whose language a file is in by the end of its name; None where there is none."""
    return _find(lambda one: path.endswith(tuple(one.languages)))


def behaviour(path: str, source: bytes) -> object | None:
    """Return what a file does, which is equal for texts that do the same; None where nothing here can tell."""
    owner = of_file(path)
    return None if owner is None else owner.behaviour(path, source)


def is_copy(name: str, project: str | None) -> bool:
    """Return whether an entry of a folder of packages is a project, or what is known of it, by its name."""
    return project is not None and any(one.is_copy(name, project) for one in installed())


@functools.cache
def leftover_patterns() -> Patterns:
    """Return what builds and test runs of any language leave: a project may use several.

    It is never part of a revision.
    """
    return functools.reduce(add, (one.leftovers for one in installed()))


def system_packages() -> tuple[str, ...]:
    """Return the folders in which a system keeps packages for all its users, as patterns of paths."""
    return tuple(place for one in installed() for place in one.system_packages)


def package_caches() -> tuple[str, ...]:
    """Return the folders below a home in which package managers keep what they fetched."""
    return tuple(place for one in installed() for place in one.package_caches)


def variables() -> Variables:
    """Return what runs of any language have: an environment may hold tools of several."""
    return Variables(
        runs={name: value for one in installed() for name, value in one.variables.runs.items()},
        commands={name: value for one in installed() for name, value in one.variables.commands.items()},
        paths=tuple(name for one in installed() for name in one.variables.paths),
    )


def names() -> tuple[Names, ...]:
    """Return the names by which files are told apart, of every language. Raises BadInput as ``installed`` does."""
    return (*(one.names for one in installed()), elsewhere.NAMES)


def environment_faults(environment: Environment) -> Iterator[str]:
    """Yield the faults of the keys of an environment that ask for an ecosystem; each sentence begins with its key."""
    if _find(lambda one: one.owns(environment)) is None:
        yield _unknown(environment)
    if environment.version is not None and environment.ecosystem is None:
        yield "environment.version is set without environment.ecosystem; it should stand beside that"
    for one in installed() if environment.ecosystem is not None else ECOSYSTEMS:
        yield from one.environment_faults(environment)


def runner_faults(environment: Environment, runner: str) -> Iterator[str]:
    """Yield why an environment cannot have an oracle with this runner, as ends of sentences that the key begins."""
    owner, own = of_runner(runner), _find(lambda one: one.owns(environment))
    if owner is None:
        yield f"is {runner!r}; it should be one of {', '.join(name for one in installed() for name in one.runners)}"
    elif own is not None and owner is not own and not (own.tools is None and runner in owner.installed_runners):
        runners = " or ".join(", ".join(own.runners).rsplit(", ", 1))
        yield f"is {runner}, which is for {owner.name}; with an environment for {own.name} it should be {runners}"


def unsupported_reason(facts: Mapping[str, Any], oracle: Oracle) -> str | None:
    """Return why an image with these facts cannot run an oracle and what to do about it.

    None: it can, or only a run can tell.
    """
    owner = of_runner(oracle.runner)
    return None if owner is None else owner.unsupported_reason(facts, oracle)


def needs_install(environment: Environment, changed: Iterable[str], compiled: Collection[str]) -> bool:
    """Return whether a tree in which these files changed has to be installed anew.

    ``compiled`` are the modules that head's install compiled.
    """
    return bool(environment.install) and ecosystem_of(environment).needs_install(changed, compiled)


def _find(fits: Callable[[Ecosystem], bool]) -> Ecosystem | None:
    return next(filter(fits, ECOSYSTEMS), None) or next(filter(fits, installed()), None)
