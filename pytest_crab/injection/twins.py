"""Clean twins: the pull request of an injected instance without its fault, where a finding counts as a false alarm."""

from __future__ import annotations

import dataclasses

from pytest_crab import diffs
from pytest_crab.injection.deciding import trees_of
from pytest_crab.injection.proposals import BEFORE, HEAD, METHOD, REFERENCE, Method
from pytest_crab.injection.repository import Repository
from pytest_crab.injection.seeded import is_source
from pytest_crab.types import PullCandidate, Side

#: So much of what a change added to source still stands on the main line if no fault was found in it.
_STANDING = 0.9

#: The tags of a twin: the innocent change, and the instance with the fault.
CHANGE, TWIN = "change", "twin"


def twin_id(name: str) -> str:
    """Return the id of the twin of an instance."""
    return f"{name}-clean"


def clean_twin(repository: Repository, candidate: PullCandidate) -> PullCandidate | None:
    """Return a proved candidate's pull request with its reference in it; None where later changes rewrote it.

    Raises DiffRejected.
    """
    before = candidate.files.get(BEFORE, "")
    base, _, mended = trees_of(repository, candidate)
    if not stands(repository, base, mended):
        return None
    diff = repository.diff(base, mended)
    return dataclasses.replace(
        candidate,
        id=twin_id(candidate.id),
        clean=True,
        comments=(),
        company=(),
        environment=None,
        diff=diff,
        files={HEAD: diff, REFERENCE: "", **({BEFORE: before} if before else {})},
        tags={CHANGE: candidate.tags[CHANGE], METHOD: Method.CLEAN.value, TWIN: candidate.id},
    )


def stands(repository: Repository, base: str, head: str) -> bool:
    """Return whether nearly all lines of source that a tree adds to another one are in the same files at HEAD."""
    added = {path: lines for path, lines in diffs.changed_lines(repository.diff(base, head)).items() if is_source(path)}
    later = repository.diff(head, repository.tree("HEAD"), sorted(added)) if added else ""
    gone = diffs.changed_lines(later, Side.LEFT)
    every = sum(map(len, added.values()))
    left = sum(len(lines - gone.get(path, set())) for path, lines in added.items())
    return every > 0 and every * _STANDING <= left
