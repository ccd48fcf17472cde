"""Candidates from a set that is there already, such as an import of SWE-CARE, AACR-Bench or SWE-PRBench."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from pytest_crab.curation import licences
from pytest_crab.curation.collect import CandidateSource
from pytest_crab.curation.stages import CurationContext, Rejection
from pytest_crab.errors import SourceError
from pytest_crab.instances.files import diff_text
from pytest_crab.instances.lock import named_files
from pytest_crab.sources.git import GitFetcher
from pytest_crab.types import CandidateComment, Comment, Instance, PullCandidate, ReviewActivity

#: The word of importers for a comment that a person wrote, in the dimension of where a comment comes from.
ORIGIN, HUMAN = "origin", "human"


@dataclass(kw_only=True)
class KnownSet(CandidateSource):
    """The instances that ``read`` returns whose source is git; their oracles and environments stay as they are."""

    read: Callable[[], Iterable[Instance]]
    kind: str = "set"
    _fetcher: GitFetcher = field(default_factory=GitFetcher)

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"kind": self.kind}

    @override
    def list_candidates(self) -> Iterator[PullCandidate]:
        """Raises BadInput, SourceError."""
        self._instances = {one.id: one for one in self.read() if one.source.git is not None}
        yield from (_candidate(one, self.kind) for one in self._instances.values())

    def complete(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        """Return the candidate with its diff; see curation.collect.CandidateSource."""
        try:
            snapshot = self._fetcher.fetch(self._instances[candidate.id], context.folder)
            licence = candidate.license
            if licence == licences.UNKNOWN:
                licence = licences.detect_licence(lambda path: snapshot.read(snapshot.head_tree, path))
            return dataclasses.replace(candidate, diff=snapshot.pull_request_diff(), license=licence)
        except SourceError as error:
            return Rejection(reason="its commits are gone", detail=str(error))


def _candidate(instance: Instance, kind: str) -> PullCandidate:
    return PullCandidate(
        id=instance.id,
        origin=kind,
        repo=instance.repo,
        pull_request=instance.pull_request,
        language=instance.language,
        license=instance.license,
        provenance=instance.provenance,
        source=instance.source.git,
        comments=tuple(map(_comment, instance.comments)),
        activity=ReviewActivity(
            merged=True if instance.pull_request.merged_at or _has_merged_commit(instance) else None
        ),
        environment=instance.environment,
        pass_to_pass=instance.pass_to_pass,
        company=instance.company,
        files={name: diff_text(instance, name) for name in named_files(instance)},
        tags=instance.tags,
    )


def _has_merged_commit(instance: Instance) -> bool:
    return instance.source.git is not None and instance.source.git.merged is not None


def _comment(comment: Comment) -> CandidateComment:
    """Return a comment of a set; one that a model wrote has the model for its author, as a bot."""
    origin = comment.labels.get(ORIGIN, HUMAN)
    return CandidateComment(comment=comment, author="" if origin == HUMAN else f"{origin}[bot]")
