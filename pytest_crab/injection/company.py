"""Company for a fix: later changes of the same files, as people wrote them, that go together with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from pytest_crab import diffs, pytest_files
from pytest_crab.curation import code_parts
from pytest_crab.ecosystems import of_file
from pytest_crab.ecosystems.files_of_tests import is_test
from pytest_crab.errors import DiffRejected
from pytest_crab.injection import witnesses
from pytest_crab.injection.deciding import trees_of
from pytest_crab.injection.fixes import FIX
from pytest_crab.injection.proposals import REFERENCE, witnesses_of
from pytest_crab.injection.repository import Change, Repository
from pytest_crab.injection.seeded import CHANGE, is_source
from pytest_crab.types import PullCandidate

#: So many later changes are looked at, and so many become company, of at most so many lines.
_LOOKED_AT, _MOST, _LONGEST = 60, 2, 80


def company_for(repository: Repository, candidate: PullCandidate) -> dict[str, str]:
    """Return diffs from head by their names: what later changes of the main line did to the files of the fault.

    Each has the main line's word that it is right where the fault is mended. Left out are those that change the tests
    which see the fault, and those that do not apply to head and to the reference as they are.
    """
    own = {path: text for path, text in witnesses_of(candidate).items() if not witnesses.is_conftest(path)}
    faulty = diffs.touched_paths(candidate.files[REFERENCE])
    owners = {of_file(path) for path in faulty}
    line, files = repository.line, repository.changed
    place = next((at for at, change in enumerate(line) if change.commit == candidate.tags[CHANGE]), 0)
    _, head, mended = trees_of(repository, candidate)
    found: dict[str, str] = {}
    for at in range(place - 1, max(-1, place - 1 - _LOOKED_AT), -1):
        change = line[at]
        if change.commit == candidate.tags.get(FIX) or len(found) == _MOST:
            break
        sources = [path for path in files[at] if of_file(path) in owners and not is_test(path)]
        if faulty.isdisjoint(sources) or not all(files[at][path] == "M" and is_source(path) for path in sources):
            continue
        diff = repository.diff(change.parent, change.commit, sources)
        try:
            if sum(diffs.counts(diff)) > _LONGEST or _alters(repository, change, files[at], own):
                continue
            repository.apply(diff, mended)
            found[f"company/{change.commit[:8]}.diff"] = repository.diff(head, repository.apply(diff, head))
        except (DiffRejected, ValueError):
            continue
    return found


def _alters(repository: Repository, change: Change, changed: Mapping[str, str], own: Mapping[str, str]) -> bool:
    """Return whether a change alters these tests, or what they share. Raises ValueError."""
    if any(PurePosixPath(path).name == pytest_files.CONFTEST for path in changed):
        return True
    for path, text in own.items():
        if path in changed:
            reader = code_parts.of(path)
            names = [one.name for one in reader.tests_of(text)]
            before, after = (repository.read(tree, path) for tree in (change.parent, change.tree))
            if None in (before, after):
                return True
            if reader.alone(str(before), names) != reader.alone(str(after), names):
                return True
    return False
