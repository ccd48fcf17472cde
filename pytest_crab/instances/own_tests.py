"""An oracle of tests of the project itself: the files that have them, and which of them count.

It is a file of JSON. The files are laid over the tree that is judged, and the project's own runner runs them there.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pytest_crab import diffs, ecosystems, serialization
from pytest_crab.ecosystems.files_of_tests import may_have_tests_of
from pytest_crab.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTests:
    """The tests."""

    #: The lines of each file of the tree that has some of them, by its path. The last line is empty where the text ends
    #: with a line's end.
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Their names as the code has them, by which a runner that can run some alone chooses.
    names: tuple[str, ...] = ()
    #: Their ids as the runner reports them; empty: all that it reports count.
    tests: tuple[str, ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """The text of each file."""
        return {path: "\n".join(lines) for path, lines in self.files.items()}

    def counts(self, test: str, outcome: str) -> bool:
        """Return whether a test that was reported counts; an error whose id ends in a colon is of all there."""
        return not self.tests or test in self.tests or (outcome == "error" and test.endswith(":"))


def dump(texts: Mapping[str, str], names: Sequence[str], tests: Sequence[str]) -> str:
    """Return the text of an oracle's file."""
    files = {path: text.split("\n") for path, text in sorted(texts.items())}
    return json.dumps({"tests": sorted(tests), "names": sorted(names), "files": files}, indent=1) + "\n"


@functools.lru_cache(maxsize=8)
def load(text: str, runner: str, where: str) -> OwnTests:
    """Return what the file of an oracle of this runner says; ``where`` names it. Raises BadInput.

    A proof asks for it in each run, and the texts of a project's tests are long.
    """
    faults = [*faults_of(text, runner)]
    if faults:
        raise BadInput(where, faults)
    found = serialization.read(OwnTests, json.loads(text), [])
    assert found is not None
    return found


def faults_of(text: str, runner: str) -> Iterator[str]:
    """Yield what is wrong with the text of an oracle's file, as sentences that begin with the key."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        yield f"it is no JSON ({error}); it should hold files, names and tests"
        return
    faults: list[str] = []
    found = serialization.read(OwnTests, data, faults)
    yield from faults
    if found is None:
        return
    owner = ecosystems.of_runner(runner)
    told_apart = owner is not None and any(grammar.tests for grammar in owner.grammars.values())
    for path in found.files:
        if not diffs.is_inside(path) or str(PurePosixPath(path)) != path or "\0" in path:
            yield f"files has {path!r}; it should be relative to the tree, without . and .. and .git"
        elif owner is not None and told_apart and not may_have_tests_of(owner, path):
            yield f"files has {path!r}; it should be a file of tests that {runner} runs, by its name or folder"
    if not found.files:
        yield "files is empty; it should hold the files of the tests"
    if not found.names:
        yield "names is empty; it should hold the names of the tests"
