"""An oracle of tests of the project itself: the files that have them, and which of them count.

It is a file of JSON. The files are laid over the tree that is judged, and the project's own runner runs them there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.text import split_lines


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

    def counts(self, test: str) -> bool:
        """Return whether a test that was reported counts; an id that ends in a colon tells of tests that never ran."""
        return not self.tests or test in self.tests or test.endswith(":")


def dump(texts: Mapping[str, str], names: Sequence[str], tests: Sequence[str]) -> str:
    """Return the text of an oracle's file."""
    files = {path: text.split("\n") for path, text in sorted(texts.items())}
    return json.dumps({"tests": sorted(tests), "names": sorted(names), "files": files}, indent=1) + "\n"


def load(text: str) -> OwnTests:
    """Return what an oracle's file says. Raises BadInput."""
    faults = [*faults_of(text)]
    if faults:
        raise BadInput("the oracle", faults)
    found = serialization.read(OwnTests, json.loads(text), [])
    assert found is not None
    return found


def faults_of(text: str) -> Iterator[str]:
    """Yield what is wrong with the text of an oracle's file, as sentences that begin with the key."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        yield f"it is no JSON ({error}); it should hold files, names and tests"
        return
    faults: list[str] = []
    found = serialization.read(OwnTests, data, faults)
    yield from faults
    for path in () if found is None else found.files:
        place = PurePosixPath(path)
        if place.is_absolute() or not {"..", ".git"}.isdisjoint(place.parts) or split_lines(path) != [path]:
            yield f"files has {path!r}; it should be relative to the tree, without .. and .git"
    if found is not None and not found.files:
        yield "files is empty; it should hold the files of the tests"
