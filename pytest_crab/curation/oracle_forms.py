"""The forms of oracles that a model writes: a file for the default runner, else a file of the project's own tests."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_crab import ecosystems
from pytest_crab.clients.prompting import instructions
from pytest_crab.curation import code_parts
from pytest_crab.ecosystems.contract import Ecosystem
from pytest_crab.ecosystems.files_of_tests import is_test, may_have_tests_of
from pytest_crab.errors import BadInput
from pytest_crab.instances import own_tests
from pytest_crab.protocols import Snapshot
from pytest_crab.types import Oracle

#: An author is told so many names of files of tests, the nearest first, and so much of the nearest one.
_MOST_NAMES, _LONGEST_SAMPLE = 30, 6_000

#: The prompts that say what each form is.
_ALONE, _IN_TREE = "oracle-alone", "oracle-in-tree"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """An oracle as an instance has it."""

    oracle: Oracle
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleForm:
    """The form of the oracles of one pull request."""

    owner: Ecosystem

    @property
    def is_in_tree(self) -> bool:
        """Return whether an oracle is a file of the project's own tests."""
        return self.owner is not ecosystems.DEFAULT

    def words(self, snapshot: Snapshot, place: str, language: str) -> str:
        """Return what the author of an oracle for a comment on ``place`` has to know of its form."""
        told = instructions(_IN_TREE if self.is_in_tree else _ALONE, None, ".")
        if not self.is_in_tree:
            return told
        tests = nearest([path for path in snapshot.tracked() if may_have_tests_of(self.owner, path)], place)
        told = told.replace("{language}", language)
        here = self.owner.tools.here() if self.owner.tools is not None else None
        tool = "" if here is None else f"This machine has {here.name} {here.version}."
        return "\n\n".join(filter(None, [told, self.owner.own_tests_words, tool, *_shown(snapshot, tests)]))

    def write(self, source: str, place: str | None, stem: str) -> WrittenFile | str:
        """Return an oracle, else what is wrong with it, in words for its author.

        ``stem`` is the path of the instance's file without its end, ``place`` where in the tree the answer puts it.
        """
        if not self.is_in_tree:
            fault = self.owner.unreadable(source.encode(errors="replace"))
            oracle = Oracle(file=f"{stem}{ecosystems.DEFAULT_SUFFIX}")
            return (
                f"the file cannot be read ({fault})" if fault is not None else WrittenFile(oracle=oracle, text=source)
            )
        if place is None:
            return "no line begins with file: and says where in the tree the file lies"
        if re.fullmatch(self.owner.names.running or "(?!)", PurePosixPath(place).name):
            return f"{place} says how the project's tests are run; the file should be one of tests, under another name"
        runner = str(self.owner.tests_runner)
        try:
            names = sorted({one.name for one in code_parts.of(place).tests_of(source)})
            text = own_tests.dump({place: source}, names, ())
            own_tests.load(text, runner, place)
        except (ValueError, BadInput) as error:
            return str(error)
        return WrittenFile(oracle=Oracle(file=f"{stem}{self.owner.runners[runner].words}", runner=runner), text=text)

    def shown(self, text: str) -> str:
        """Return the text of an oracle's file as an answer has it."""
        if not self.is_in_tree:
            return f"\n```{self.owner.name}\n{text}```\n"
        ((path, written),) = own_tests.load(text, str(self.owner.tests_runner), "the oracle").texts.items()
        return f"file: {path}\n\n```{ecosystems.language_of_file(path)}\n{written}```\n"


def form_of(language: str) -> OracleForm | None:
    """Return the form of oracles for a project in this language; None where no tests of its own can be run."""
    owner = ecosystems.of_language(language)
    if owner is ecosystems.DEFAULT and language not in ("", owner.name):  # it stands for each unknown one
        return None
    return OracleForm(owner=owner) if owner is ecosystems.DEFAULT or owner.tests_runner is not None else None


def nearest(paths: Collection[str], place: str) -> list[str]:
    """Return paths with those first that are named after a file or lie near to it."""
    stem, folder = _plain(PurePosixPath(place).stem), PurePosixPath(place).parent

    def distance(path: str) -> tuple[bool, bool, int, str]:
        name = PurePosixPath(path).name  # one that is a test by its folder alone may be data
        steps = os.path.relpath(path, folder).count("/")
        return (stem not in _plain(name), not is_test(name), steps, path)

    return sorted(paths, key=distance)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _shown(snapshot: Snapshot, tests: list[str]) -> Iterator[str]:
    if not tests:
        return
    yield "Files of tests at the pull request, the nearest first:\n" + "\n".join(tests[:_MOST_NAMES])
    content = snapshot.read(snapshot.head_tree, tests[0]) or b""
    yield f"{tests[0]} begins so:\n{content.decode('utf-8', 'replace')[:_LONGEST_SAMPLE]}"
