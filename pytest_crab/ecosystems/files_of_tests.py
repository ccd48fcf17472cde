"""Tells files of tests of every language by their paths."""

from __future__ import annotations

import functools
import re
from pathlib import PurePosixPath

from pytest_crab import ecosystems, pytest_files
from pytest_crab.ecosystems.contract import Ecosystem

_FOLDERS = frozenset({"test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "e2e"})
_NAMES = r"^test_|_tests?\.|\.(?:test|spec)\."


def is_test(path: str) -> bool:
    """Return whether a file belongs to tests, by its folders or its name."""
    place = PurePosixPath(path)
    return any(part.lower() in _FOLDERS for part in place.parts[:-1]) or bool(_names().search(place.name))


def may_have_tests(path: str) -> bool:
    """Return whether a runner takes a file for tests by its name, and they can be told apart in it."""
    name, end = PurePosixPath(path).name, pytest_files.MODULE
    if not is_test(path):
        return False
    if path.endswith(ecosystems.DEFAULT_SUFFIX):
        return name.endswith(end) and (name.startswith("test_") or name.endswith(f"_test{end}"))
    owner, grammar = ecosystems.of_file(path), ecosystems.grammar_of(path)
    return bool(owner is not None and owner.tests_runner and grammar is not None and grammar.tests)


def may_have_tests_of(owner: Ecosystem, path: str) -> bool:
    """Return whether a file may have tests that the runner of an ecosystem takes."""
    return ecosystems.of_file(path) is owner and may_have_tests(path)


@functools.cache
def _names() -> re.Pattern[str]:
    return re.compile("|".join([_NAMES, *(one.tests for one in ecosystems.names() if one.tests)]))
