"""The candidates of curation: pull requests on their way to instances, with all that is known of their review."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_crab.types.enums import Provenance, StrEnum
from pytest_crab.types.instances import Comment, CommitSource, Environment, GitSource, PullRequestFacts

#: The file of a candidate that holds the patch which fixed its bug later; it is never published.
FIX = "fix.diff"


class ChangeKind(StrEnum):
    """The kind of a change that judges an oracle.

    An author's right fix, near miss, right change beside it, or right fix with that; or a mutant of the reference.
    """

    RIGHT = "right"
    NEAR = "near"
    MUTANT = "mutant"
    COMPANY = "company"
    IN_COMPANY = "in-company"

    @property
    def resolves(self) -> bool:
        """True if an oracle should accept it."""
        return self in (ChangeKind.RIGHT, ChangeKind.IN_COMPANY)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedChange:
    """A change that was made without sight of the oracle."""

    kind: ChangeKind
    name: str
    #: A sentence on it.
    why: str
    #: From head.
    diff: str
    #: Whether the oracle was right on it, as the oracle was before it was mended on this change; None: not known.
    held: bool | None = None
    #: Whether the oracle was not mended on it afterwards, so that it measures the oracle.
    fresh: bool = True
    #: Why the oracle's author says that it is not what its kind says; a person decides.
    disputed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleAttempt:
    """One oracle that was tried."""

    #: Its text.
    source: str
    #: The reason why it was not taken; empty: it was.
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateComment:
    """A review comment, and facts of the discussion that it is from."""

    #: The comment as the instance will have it.
    comment: Comment
    author: str = ""
    #: The id of the comment that it answers.
    reply_to: str | None = None
    #: Its time (ISO 8601).
    written: str | None = None
    #: The commit that it was written on.
    written_on: str | None = None
    #: Doubts, each in a few words, which end up on the instance.
    flags: tuple[str, ...] = ()
    #: The oracles that were tried.
    attempts: tuple[OracleAttempt, ...] = ()
    #: The changes that the oracle was judged by.
    changes: tuple[JudgedChange, ...] = ()
    #: How many runs proved the oracle, where all of its checks were audited then; 0: they were not.
    audited: int = 0
    #: The words of judges.
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewActivity:
    """The facts of a pull request that the value of its review is computed from; None and empty: unknown."""

    author: str = ""
    merged: bool | None = None
    public: bool | None = None
    labels: tuple[str, ...] = ()
    #: Reviews that asked for changes.
    change_requests: int = 0
    reviewers: tuple[str, ...] = ()
    #: A time (ISO 8601).
    opened: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullCandidate:
    """A pull request on its way to an instance; stages fill in what they find.

    A stage returns a changed copy (``dataclasses.replace``), and changes neither ``id`` nor what an earlier stage
    found.
    """

    #: The id that the instance will have.
    id: str
    #: The kind of source that it is from.
    origin: str
    repo: str
    pull_request: PullRequestFacts
    language: str = ""
    license: str = "NOASSERTION"
    provenance: Provenance = Provenance.GITHUB
    #: Where its code is, once it is collected.
    source: GitSource | None = None
    #: In the place of ``source`` where head and reference are diffs, which are ``files``.
    commit: CommitSource | None = None
    #: From base to head, once it is collected.
    diff: str = ""
    comments: tuple[CandidateComment, ...] = ()
    #: Whether the pull request is known to have no issue.
    clean: bool = False
    #: The comments that stages took out, by id, each with the reason.
    dropped: Mapping[str, str] = field(default_factory=dict)
    activity: ReviewActivity = field(default_factory=ReviewActivity)
    environment: Environment | None = None
    #: As in Instance.
    pass_to_pass: tuple[str, ...] = ()
    #: Those of ``files`` that are right changes which no comment asks for.
    company: tuple[str, ...] = ()
    #: The texts of the instance's own files, by path.
    files: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    #: Doubts about the whole, each in a few words.
    flags: tuple[str, ...] = ()

    def drop(self, reasons: Mapping[str, str]) -> PullCandidate:
        """Return the candidate without these comments; each has its reason.

        A reason is a few words that can be counted; after a colon may stand what is special about this comment.
        """
        if not reasons:
            return self
        left = tuple(one for one in self.comments if one.comment.id not in reasons)
        return dataclasses.replace(self, comments=left, dropped={**self.dropped, **reasons})
