"""Candidates from a repository on this machine that has refs/pull, with comments from a file; asks no forge."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from pytest_crab import diffs
from pytest_crab.curation import licences
from pytest_crab.curation.collect import CandidateSource
from pytest_crab.curation.discussion import LAST, NO_FIX, REVIEWED, as_rounds, with_others
from pytest_crab.curation.stages import CurationContext, Rejection
from pytest_crab.curation.template import language_of
from pytest_crab.git_mirror import owner_and_name
from pytest_crab.sources.pull_refs import MergedPull, PullRefs
from pytest_crab.types import CandidateComment, GitSource, PullCandidate, PullRequestFacts, ReviewActivity

#: Stands in place of a title until it is known.
_UNREAD = "(not read yet)"


@dataclass(kw_only=True)
class LocalClone(CandidateSource):
    """The pull requests of the repository in ``folder``."""

    folder: Path
    #: Where others find the repository.
    url: str
    #: Review comments by the number of their pull request, which git itself does not keep; None: no file has them.
    discussions: Mapping[int, Sequence[CandidateComment]] | None = None
    #: The numbers to take; None: all.
    only: frozenset[int] | None = None
    #: A day: only pull requests with a commit from then on.
    since: str | None = None
    kind: str = "git"

    def __post_init__(self) -> None:
        self._refs = PullRefs(self.folder)

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "url": self.url}

    def strangers(self) -> list[int]:
        """Return the numbers of pull requests that have comments and no refs. Raises SourceError."""
        return sorted(set(self.discussions) - self._refs.heads().keys()) if self.discussions else []

    @override
    def list_candidates(self) -> Iterator[PullCandidate]:
        """The last commit is a tag of the candidate. Raises SourceError."""
        repo = owner_and_name(self.url)
        for number, head in self._refs.heads(self.since).items():
            if self.only is None or number in self.only:
                pull = PullCandidate(
                    id=f"{repo.replace('/', '__')}-{number}",
                    origin=self.kind,
                    repo=repo,
                    pull_request=PullRequestFacts(number=number, title=_UNREAD, url=f"{self.url}/pull/{number}"),
                    tags={LAST: head},
                )
                yield from as_rounds(pull, (self.discussions or {}).get(number, ()))

    @override
    def complete(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        number, last = candidate.pull_request.number, candidate.tags[LAST]
        if not candidate.comments:
            detail = "git keeps none, and the file of --comments has none for it"
            if self.discussions is None:
                forge = "or name its forge, if it has one, in GITHUB_SERVER_URL or CI_SERVER_URL"
                detail = f"git keeps none: give them with --comments, {forge}"
            return Rejection(reason="no review comment is known", detail=detail)
        reviewed = candidate.tags.get(REVIEWED)
        if reviewed is not None and not self._refs.has(reviewed):
            return Rejection(
                reason="the reviewed commit is gone",
                detail=f"{reviewed} was commented on and is not in {self.folder}: its branch was force-pushed, or its "
                "fork was deleted",
            )
        pull = self._refs.find(number, last, reviewed)
        if pull is None:
            return self._unmerged(number, last)
        fix = self._refs.own_fix(pull, last)
        if fix is None:
            return Rejection(reason=NO_FIX, detail=f"{pull.head[:12]} was reviewed")
        diff = self._refs.diff(pull.base, pull.head)
        licence = licences.detect_licence(lambda path: self._refs.read(pull.head, path))
        return _complete(with_others(candidate, fix.others), pull, fix.commit, diff, licence, self.url)

    def _unmerged(self, number: int, last: str) -> Rejection:
        """Return why the main line does not tell what a pull request with this last commit is. Raises SourceError."""
        if self._refs.on_main_line(last):
            lack = f"{last[:12]} is on {self.folder}'s main line as it is, and nothing says where its commits begin"
            return Rejection(reason="merged without a merge commit", detail=lack)
        if merge := self._refs.rewritten(number, last):
            lack = f"{merge[:12]} merged it, and shares no commit with {last[:12]}: name a clone from before"
            return Rejection(reason="the main line was rewritten after the merge", detail=lack)
        lack = f"no commit of {self.folder}'s main line is a merge of {last[:12]}"
        return Rejection(reason="not merged", detail=lack)


def _complete(candidate: PullCandidate, pull: MergedPull, fix: str, diff: str, licence: str, url: str) -> PullCandidate:
    reviewers = tuple(dict.fromkeys(one.author for one in candidate.comments if one.author))
    facts = dataclasses.replace(candidate.pull_request, title=pull.title, body=pull.body, merged_at=pull.merged_at[:10])
    return dataclasses.replace(
        candidate,
        pull_request=facts,
        language=language_of(sorted(diffs.touched_paths(diff))),
        license=licence,
        source=GitSource(url=url, base=pull.base, head=pull.head, merged=fix),
        diff=diff,
        activity=ReviewActivity(author=pull.author, merged=True, public=None, reviewers=reviewers),
        tags={**candidate.tags, "merged_by": pull.how},
    )
