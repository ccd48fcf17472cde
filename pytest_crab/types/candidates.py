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
    """The kind of an author's change: a right fix, a near miss, a right change beside it, or a right fix with that."""

    RIGHT = "right"
    NEAR = "near"
    COMPANY = "company"
    IN_COMPANY = "in-company"

    @property
    def resolves(self) -> bool:
        """True if an oracle should accept it."""
        return self in (ChangeKind.RIGHT, ChangeKind.IN_COMPANY)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedChange:
    """A change by an author who did not see the oracle: ``why`` is a sentence on it, ``diff`` is from head.

    ``held`` says that the oracle was right on it, as it was before it was mended on this change; None: nobody knows.
    ``fresh`` is true for changes that the oracle was not mended on afterwards: they measure it.
    """

    kind: ChangeKind
    name: str
    why: str
    diff: str
    held: bool | None = None
    fresh: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleAttempt:
    """One oracle that was tried: its text, and why it was not taken; an empty ``fault``: it was."""

    source: str
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateComment:
    """A review comment: ``comment`` as the instance will have it, and facts of the discussion that it is from.

    ``reply_to`` is the id of the comment that it answers, ``written`` its time (ISO 8601), ``written_on`` the commit
    that it was written on. ``flags`` are doubts, each in a few words; they end up on the instance. ``attempts`` are the
    oracles that were tried, ``changes`` those that the oracle was judged by, ``reasons`` what judges said.
    """

    comment: Comment
    author: str = ""
    reply_to: str | None = None
    written: str | None = None
    written_on: str | None = None
    flags: tuple[str, ...] = ()
    attempts: tuple[OracleAttempt, ...] = ()
    changes: tuple[JudgedChange, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewActivity:
    """The facts of a pull request that the value of its review is computed from; None and empty: unknown.

    ``change_requests`` counts reviews that asked for changes; ``opened`` is a time (ISO 8601).
    """

    author: str = ""
    merged: bool | None = None
    public: bool | None = None
    labels: tuple[str, ...] = ()
    change_requests: int = 0
    reviewers: tuple[str, ...] = ()
    opened: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullCandidate:
    """A pull request on its way to an instance, which will be called ``id``; stages fill in what they find.

    ``origin`` names the kind of source. ``source`` and ``diff`` (base to head) are there once it is collected; where
    head and reference are diffs, ``commit`` is in the place of ``source``, and the diffs are ``files``.
    ``dropped`` are the comments that stages took out, by id, each with the reason; ``files`` are the texts of the
    instance's own files, by path; ``pass_to_pass`` is a command of the project's tests; ``company`` names those files
    that are right changes which no comment asks for; ``clean`` is whether the pull request is known to have no issue;
    ``flags`` are doubts about the whole, each in a few words. A stage returns a changed copy
    (``dataclasses.replace``), and changes neither ``id`` nor what an earlier stage found.
    """

    id: str
    origin: str
    repo: str
    pull_request: PullRequestFacts
    language: str = ""
    license: str = "NOASSERTION"
    provenance: Provenance = Provenance.GITHUB
    source: GitSource | None = None
    commit: CommitSource | None = None
    diff: str = ""
    comments: tuple[CandidateComment, ...] = ()
    clean: bool = False
    dropped: Mapping[str, str] = field(default_factory=dict)
    activity: ReviewActivity = field(default_factory=ReviewActivity)
    environment: Environment | None = None
    pass_to_pass: tuple[str, ...] = ()
    company: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    def drop(self, reasons: Mapping[str, str]) -> PullCandidate:
        """Return the candidate without these comments; each has its reason.

        A reason is a few words that can be counted; after a colon may stand what is special about this comment.
        """
        if not reasons:
            return self
        left = tuple(one for one in self.comments if one.comment.id not in reasons)
        return dataclasses.replace(self, comments=left, dropped={**self.dropped, **reasons})
