"""A simulated agent: applies the reference fix of each human comment whose lines a finding overlaps."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pytest_crab import serialization
from pytest_crab.errors import AgentError, DiffRejected
from pytest_crab.protocols import Checkout, Clone
from pytest_crab.types import Comment, Finding, Instance, PullRequest, Revision, RevisionCommit

#: A finding on more lines than this points nowhere, unless the comment itself is as long.
MOST_LINES = 20

VERSION = "2"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedAgent:
    """Simulated and privileged: it reads no finding, it only looks where findings lie."""

    free: ClassVar[bool] = True

    simulated: bool = field(default=True, init=False)

    def bind(self, instance: Instance) -> BoundSimulatedAgent:
        """The agent that knows this instance's references."""
        return BoundSimulatedAgent(folder=Path(instance.folder), comments=instance.with_oracles)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundSimulatedAgent:
    """The references of one instance, applied where findings overlap their comments."""

    free: ClassVar[bool] = True

    folder: Path
    comments: tuple[Comment, ...]
    simulated: bool = field(default=True, init=False)

    def identity(self) -> Mapping[str, Any]:
        """Return the comments' places and their references' digests. Raises AgentError if one cannot be read."""
        places = [(comment.id, comment.path, comment.lines, comment.side) for comment in self.comments]
        texts = [self._read(comment.reference) for comment in self.comments if comment.reference is not None]
        digests = [hashlib.sha256(text).hexdigest() for text in texts]
        return {"adapter": "reference", "version": VERSION, "places": serialization.dump(places), "references": digests}

    def revise(
        self,
        pull_request: PullRequest,  # noqa: ARG002 - the places decide
        findings: Sequence[Finding],
        checkout: Checkout,
    ) -> Revision:
        """All references that were hit, applied one after the other.

        Raises AgentError if a comment that was hit has none, or if they do not apply together; Cancelled, EngineError.
        """
        struck = [comment for comment in self.comments if any(hits(finding, comment) for finding in findings)]
        bare = [comment.id for comment in struck if comment.reference is None]
        if bare:
            sentence = (
                f"comment {bare[0]} was found and has no reference of its own, so the simulated agent cannot act; "
            )
            raise AgentError(sentence + "add one to instance.yaml or use another agent")
        ids = ", ".join(comment.id for comment in struck)
        notes = f"findings overlap {ids}" if struck else "no finding overlaps a human comment"
        if not struck:
            return Revision(version=VERSION, notes=notes)
        with checkout.clone() as workspace:
            commits = tuple(self._commits(workspace, struck, findings))
            diff = commits[0].diff if len(commits) == 1 else workspace.diff()
            return Revision(diff=diff, commits=commits, version=VERSION, notes=notes)

    def _commits(
        self, workspace: Clone, struck: Sequence[Comment], findings: Sequence[Finding]
    ) -> Iterator[RevisionCommit]:
        """Apply the reference of each comment that was hit, and yield it as a commit for the findings that hit it."""
        applied: dict[str, str] = {}
        for comment in struck:
            assert comment.reference is not None
            text = self._read(comment.reference).decode(errors="surrogateescape")
            if text in applied:
                continue
            before = workspace.diff() if applied else ""
            applied[text] = comment.id
            try:
                workspace.apply(text)
            except DiffRejected as error:
                names = ", ".join(applied.values())
                sentence = f"the references of {names} do not apply together ({error}); run pytest-crab set check"
                raise AgentError(sentence) from error
            same = [one for one in struck if one.reference == comment.reference]
            numbers = [number for number, one in enumerate(findings, 1) if any(hits(one, each) for each in same)]
            yield RevisionCommit(
                diff=workspace.diff(before), findings=tuple(numbers), message=f"the reference of {comment.id}"
            )

    def _read(self, name: str) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise AgentError(
                f"{self.folder / name} cannot be read ({error.strerror}); is the reference gone?"
            ) from error


def hits(finding: Finding, comment: Comment) -> bool:
    """Return whether a finding lies on the comment's lines: same path and side, no wider than 20 lines or the comment.

    A comment on the whole file is hit by a finding on the whole file, and by one on at most 20 lines of it.
    """
    if finding.path != comment.path or finding.side is not comment.side:
        return False
    if finding.lines is None:
        return comment.lines is None
    start, end = finding.lines
    first, last = comment.lines or (start, start)
    wide = end - start + 1 > max(MOST_LINES, last - first + 1)
    return not wide and start <= last and end >= first
