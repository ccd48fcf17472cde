"""The first stage of curation: a source lists pull requests, and says of each what is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from typing_extensions import override

from pytest_crab.curation.stages import COLLECT, CurationContext, Rejection, Stage
from pytest_crab.diffs import UnreadableDiff
from pytest_crab.types import PullCandidate

#: The most characters of a diff that a candidate may have: what is larger is no review of a change.
LONGEST_DIFF = 2_000_000


class CandidateSource(Protocol):
    """A place that pull requests come from."""

    #: The origin of its candidates.
    kind: str

    def identity(self) -> Mapping[str, Any]:
        """Return plain data that decides what ``complete`` returns, besides the candidate. Reaches nothing."""

    def list_candidates(self) -> Iterator[PullCandidate]:
        """Yield the pull requests, in a fixed order, with as much as costs little to know. Raises CrabError.

        What a candidate has must change where the pull request has changed (its last commit, or when it was updated),
        so that it is collected again then, and only then.
        """

    def complete(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        """Return the candidate with source, diff, comments and activity.

        Raises CrabError on an outage, and UnreadableDiff.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection(Stage):
    """The stage that completes the candidates of a source."""

    #: None: the stage can be looked up, not run.
    source: CandidateSource | None = None
    known: Mapping[str, Any]
    name: str = COLLECT

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"version": 4, "source": self.known}

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        assert self.source is not None
        try:
            found = self.source.complete(candidate, context)
        except UnreadableDiff as error:
            return Rejection(reason="the diff cannot be read", detail=str(error))
        if isinstance(found, PullCandidate) and len(found.diff) > LONGEST_DIFF:
            return Rejection(
                reason="the diff is too long", detail=f"{len(found.diff):,} characters, more than {LONGEST_DIFF:,}"
            )
        return found
