"""Clean twins: the pull request of an injected instance without its fault, where every finding is a false alarm."""

from __future__ import annotations

import dataclasses

from pytest_crab.injection.proposals import BEFORE, HEAD, METHOD, REFERENCE, Method
from pytest_crab.injection.repository import Repository
from pytest_crab.types import PullCandidate

#: The tags of a twin: the innocent change, and the instance with the fault.
CHANGE, TWIN = "change", "twin"


def twin_id(name: str) -> str:
    """Return the id of the twin of an instance."""
    return f"{name}-clean"


def clean_twin(repository: Repository, candidate: PullCandidate) -> PullCandidate:
    """Return a proved candidate's pull request with its reference in it. Raises DiffRejected."""
    source = candidate.commit
    assert source is not None
    before = candidate.files.get(BEFORE, "")
    base = repository.apply(before, repository.tree(source.sha)) if before else repository.tree(source.sha)
    head = repository.apply(candidate.files[HEAD], base)
    diff = repository.diff(base, repository.apply(candidate.files[REFERENCE], head))
    return dataclasses.replace(
        candidate,
        id=twin_id(candidate.id),
        clean=True,
        comments=(),
        environment=None,
        diff=diff,
        files={HEAD: diff, REFERENCE: "", **({BEFORE: before} if before else {})},
        tags={CHANGE: candidate.tags[CHANGE], METHOD: Method.CLEAN.value, TWIN: candidate.id},
    )
