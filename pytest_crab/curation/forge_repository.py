"""Candidates from a repository on a forge: its API tells of reviews, and git brings the code."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typing_extensions import override

from pytest_crab import diffs
from pytest_crab.clients.reviewed_pulls import ReviewedPulls
from pytest_crab.curation import licences
from pytest_crab.curation.collect import CandidateSource
from pytest_crab.curation.discussion import LAST, NO_FIX, REVIEWED, as_rounds, group_comments, with_others
from pytest_crab.curation.publish import to_instance
from pytest_crab.curation.stages import CurationContext, Rejection
from pytest_crab.curation.template import language_of
from pytest_crab.errors import ForgeError, SourceError
from pytest_crab.instances.validation import is_branch
from pytest_crab.parsing.descriptions import without_review
from pytest_crab.protocols import Snapshot
from pytest_crab.sources.git import GitFetcher
from pytest_crab.types import CandidateComment, GitSource, PullCandidate, PullRequestFacts, ReviewActivity

#: The tags that a listed candidate has: when it was updated, and the commits that the API names.
UPDATED, MERGED, TARGET, ADDRESS = "updated", "merge_commit", "target_commit", "repository"


@dataclass(kw_only=True)
class ForgeRepository(CandidateSource):
    """The closed pull requests that ``pulls`` lists."""

    pulls: ReviewedPulls
    #: The numbers to take; None: all.
    only: frozenset[int] | None = None
    #: A day: only pull requests whose last update was not before it.
    since: str | None = None
    kind: str = field(default="", init=False)
    _fetcher: GitFetcher = field(default_factory=GitFetcher)

    def __post_init__(self) -> None:
        self.kind = self.pulls.forge.lower()

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "repo": self.pulls.repo}

    @override
    def list_candidates(self) -> Iterator[PullCandidate]:
        """The oldest number first. Raises ForgeError."""
        found = self.pulls.closed_pulls(self.since) if self.only is None else map(self.pulls.pull, sorted(self.only))
        try:
            pulls = [self._candidate_of(entry) for entry in sorted(found, key=lambda entry: int(entry["number"]))]
            merged = [one for one in pulls if one.activity.merged]
            comments = self._comments(merged) if merged else {}
            for pull in pulls:
                yield from as_rounds(pull, comments.get(pull.pull_request.number, ()))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ForgeError(f"{self.pulls.forge}'s list of {self.pulls.repo} cannot be read ({error})") from error

    def _candidate_of(self, entry: Mapping[str, Any]) -> PullCandidate:
        number = int(entry["number"])
        merged = entry.get("merged_at")
        fork = (entry.get("head") or {}).get("repo")
        return PullCandidate(
            id=f"{self.pulls.repo.replace('/', '__')}-{number}",
            origin=self.kind,
            repo=self.pulls.repo,
            pull_request=PullRequestFacts(
                number=number,
                title=str(entry.get("title") or f"Pull request {number}"),
                body=without_review(str(entry.get("body") or "")),
                base_branch=_branch(str(entry["base"].get("ref"))),
                url=str(entry["html_url"]),
                merged_at=str(merged)[:10] if merged else None,
            ),
            activity=ReviewActivity(
                author=str((entry.get("user") or {}).get("login", "")),
                merged=merged is not None,
                public=not entry["base"]["repo"].get("private", False),
                labels=tuple(str(label["name"]) for label in entry.get("labels") or ()),
                opened=entry.get("created_at"),
            ),
            tags={
                ADDRESS: str(entry["base"]["repo"]["html_url"]),
                UPDATED: str(entry["updated_at"]),
                LAST: str(entry["head"]["sha"]),
                TARGET: str(entry["base"]["sha"]),
                **({MERGED: str(entry["merge_commit_sha"])} if entry.get("merge_commit_sha") else {}),
            },
            flags=() if fork else ("its fork is deleted",),
        )

    def _comments(self, pulls: Sequence[PullCandidate]) -> Mapping[int, Sequence[CandidateComment]]:
        """Return the review comments by pull request; those of all are fewer requests than those of each."""
        numbers = [one.pull_request.number for one in pulls]
        opened = min(str(one.activity.opened) for one in pulls)
        rows = self.pulls.comments_of(numbers, None if self.only is not None else opened)
        problems: list[str] = []
        found = group_comments(rows, problems)
        if problems:
            raise ForgeError(f"{self.pulls.forge}'s comments on {self.pulls.repo} cannot be read ({problems[0]})")
        return found

    @override
    def complete(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        """Raises ForgeError, SourceUnreachable."""
        tags = candidate.tags
        if not candidate.activity.merged or MERGED not in tags:
            return Rejection(reason="not merged", detail=f"{self.pulls.forge} has it as closed without a merge")
        if not candidate.comments:
            return Rejection(reason="no review comment is known")
        head = tags.get(REVIEWED, tags[LAST])
        base = self.pulls.merge_base(tags[TARGET], head)
        if base is None:
            return _gone(f"{self.pulls.forge} has no commit {head}")
        fix = tags[LAST] if head != tags[LAST] else tags[MERGED]
        source = GitSource(url=tags[ADDRESS], base=base, head=head, merged=fix)
        known = dataclasses.replace(candidate, source=source, activity=self._activity(candidate))
        try:
            snapshot = self._fetcher.fetch(to_instance(known, Path(known.id)), context.folder)
        except SourceError as error:
            gone = str(error).partition(";")[0].removeprefix(f"{known.id}: ")
            return _gone(gone)
        found = _with_code(known, snapshot)
        changed = [change.path for change in snapshot.changes(snapshot.reference_tree)]
        own = diffs.touched_paths(found.diff)
        if not own.issuperset(changed):
            own |= self.pulls.files(candidate.pull_request.number)
        if own.isdisjoint(changed):
            return Rejection(reason=NO_FIX, detail=f"{head[:12]} was reviewed")
        return with_others(found, [path for path in changed if path not in own])

    def _activity(self, candidate: PullCandidate) -> ReviewActivity:
        reviews = self.pulls.reviews(candidate.pull_request.number)
        people = [str((one.get("user") or {}).get("login", "")) for one in reviews]
        people += [one.author for one in candidate.comments]
        return dataclasses.replace(
            candidate.activity,
            change_requests=sum(one.get("state") == "CHANGES_REQUESTED" for one in reviews),
            reviewers=tuple(dict.fromkeys(name for name in people if name)),
        )


def _branch(name: str) -> str:
    return name if is_branch(name) else "main"


def _gone(fault: str) -> Rejection:
    cause = "its branch was force-pushed, or its fork was deleted"
    return Rejection(reason="the reviewed commit is gone", detail=f"{fault}: {cause}")


def _with_code(candidate: PullCandidate, snapshot: Snapshot) -> PullCandidate:
    diff = snapshot.pull_request_diff()
    return dataclasses.replace(
        candidate,
        diff=diff,
        language=language_of(sorted(diffs.touched_paths(diff))),
        license=licences.detect_licence(lambda path: snapshot.read(snapshot.head_tree, path)),
    )
