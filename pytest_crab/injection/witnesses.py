"""Witnesses: tests of a project that may see a fault, run in its own tree, as an oracle's file.

They are laid over the tree that they judge, and run there with the project's own settings: by pytest in a process of
its own, with the conftest files that they were written with, so that each of them is one test of the oracle; in other
languages by the runner of the project's own tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePosixPath

from pytest_crab import ecosystems, pytest_files
from pytest_crab.curation import code_parts
from pytest_crab.ecosystems.contract import Ecosystem, TestLines
from pytest_crab.instances import own_tests
from pytest_crab.types import Oracle

#: The project's test that a test of ``Ecosystem.laid_tests`` stands for.
_RUN = re.compile(r"\w\[(.*)\]", re.DOTALL)


def owner_of(texts: Collection[str]) -> Ecosystem:
    """Return the ecosystem whose runner takes files of tests, which are all of one language, by their paths."""
    return next(filter(None, map(ecosystems.of_file, sorted(texts))), ecosystems.DEFAULT)


def oracle_of(texts: Mapping[str, str], stem: str) -> Oracle:
    """Return the oracle whose text ``oracle_text`` is; ``stem`` is the path of its file without the end."""
    owner = owner_of(texts)
    if owner.tests_runner is None:
        return Oracle(file=f"{stem}{ecosystems.DEFAULT_SUFFIX}")
    return Oracle(file=f"{stem}{owner.runners[owner.tests_runner].words}", runner=owner.tests_runner)


def oracle_text(texts: Mapping[str, str], tests: Collection[str] | None) -> str:
    """Return the oracle that lays files over a tree and runs these tests of theirs; None: all that there are.

    Raises ValueError.
    """
    laid = owner_of(texts).laid_tests(texts, tests)
    if laid is not None:
        return laid
    names = {one.name for path, text in texts.items() for one in code_parts.of(path).tests_of(text)}
    return own_tests.dump(texts, sorted(names), sorted(tests or ()))


def name_in(run_id: str, tests: Mapping[str, Sequence[TestLines]] | None = None) -> str | None:
    """Return the name of the project's test that a test of an oracle's run stands for; None if it is no such.

    ``tests`` are those of each file, by its path, that the project's own runner ran; None: pytest did.
    """
    if tests is not None:
        return run_id if any(code_parts.named_in(run_id, *each) for each in tests.items()) else None
    match = _RUN.search(run_id)
    return match[1] if match else None


def by_file(names: Collection[str], texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return by path the tests of the project with these names, as functions of their file (``TestA::test_b``).

    Raises ValueError.
    """
    found: dict[str, list[str]] = {}
    for path, text in texts.items():
        tests = code_parts.of(path).tests_of(text)
        own = {one for name in names for one in code_parts.named_in(name, path, tests)}
        found |= {path: sorted(own)} if own else {}
    return found


def reduced(texts: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Return the files with these tests alone; conftest files stay whole. Raises ValueError."""
    own = by_file(names, {path: text for path, text in texts.items() if not is_conftest(path)})
    kept = {path: code_parts.of(path).alone(texts[path], tests) for path, tests in own.items()}
    return kept | {path: text for path, text in texts.items() if is_conftest(path) and _above(path, kept)}


def is_conftest(path: str) -> bool:
    """Return whether a file is a conftest.py."""
    return PurePosixPath(path).name == pytest_files.CONFTEST


def conftests_for(texts: Collection[str], read: Callable[[str], str | None]) -> dict[str, str]:
    """Return the conftest files above those that pytest runs, by path; ``read`` returns the text of one, if any."""
    own = [path for path in texts if ecosystems.of_file(path) is ecosystems.DEFAULT]
    folders = {folder for path in own for folder in PurePosixPath(path).parents}
    every = ((name, read(name)) for name in (str(folder / pytest_files.CONFTEST) for folder in folders))
    return {name: text for name, text in every if text is not None}


def _above(path: str, others: Collection[str]) -> bool:
    folder = PurePosixPath(path).parent
    return any(folder in PurePosixPath(other).parents for other in others)
