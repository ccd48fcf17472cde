"""The proposal of an instance with a known fault, which all ways to make one end in, and the candidate that it becomes.

To add a way: write a ``curation.collect.CandidateSource`` whose ``complete`` returns ``to_candidate(listed, proposal)``
or a ``Rejection``. The trees and diffs of a proposal are made with ``Repository``. The stages (see ``stages``) do the
rest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_crab import diffs
from pytest_crab.curation import licences
from pytest_crab.curation.template import language_of
from pytest_crab.injection.repository import Change, Repository
from pytest_crab.types import (
    CandidateComment,
    Category,
    Comment,
    CommitSource,
    Provenance,
    PullCandidate,
    PullRequestFacts,
    ReviewActivity,
    StrEnum,
)

#: The instance's own files with the diffs of a proposal.
BEFORE, HEAD, REFERENCE = "before.diff", "head.diff", "reference.diff"

#: Files of a candidate below this folder are tests that may see the fault, by their path in the tree; they are laid
#: over each tree that they judge, and never published.
WITNESSES = "witnesses/"

#: The tags of an injected instance: how it was made, and by which operator.
METHOD, OPERATOR = "injected", "operator"

#: The tag with the day of the fix that an instance is made of.
FIXED_ON = "fixed_on"

#: The origin of candidates that injection made.
ORIGIN = "injected"


class Method(StrEnum):
    """The way in which an instance came to its fault.

    The change that really brought it (introduced), a later change with the fix taken back in it (reversed), a mutation
    within a real change (seeded); ``clean`` is a change without one.
    """

    INTRODUCED = "introduced"
    REVERSED = "reversed"
    SEEDED = "seeded"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """The comment that a reviewer should make on the fault."""

    #: The file that it stands in at head.
    path: str
    #: Its lines at head.
    lines: tuple[int, int] | None
    body: str
    category: Category = Category.FUNCTIONAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """All that makes an instance with a known fault.

    A clean one has no remark, no reference and no witnesses.
    """

    method: Method
    url: str
    #: A real one of ``url``.
    commit: str
    #: A diff from the commit to the base; empty: it is the base.
    before: str = ""
    #: A diff from the base to the pull request.
    head: str
    #: A diff from head to what mends the fault.
    reference: str = ""
    #: The facts of the innocent change.
    pull_request: PullRequestFacts
    author: str = ""
    license: str = "NOASSERTION"
    remark: Remark | None = None
    #: What was done, in one word.
    operator: str = ""
    #: The texts of test files that may see the fault, by path.
    witnesses: Mapping[str, str] = field(default_factory=dict)
    #: Further tags of the instance.
    facts: Mapping[str, str] = field(default_factory=dict)


def propose(
    repository: Repository,
    url: str,
    change: Change,
    *,
    method: Method,
    before: str = "",
    head: str,
    reference: str,
    remark: Remark,
    operator: str,
    witnesses: Mapping[str, str],
    facts: Mapping[str, str] | None = None,
) -> Proposal:
    """Return the proposal that puts a fault into a real change; what it tells of itself is the change's own."""
    title, body = change.texts
    return Proposal(
        method=method,
        url=url,
        commit=change.parent,
        before=before,
        head=head,
        reference=reference,
        pull_request=PullRequestFacts(
            number=change.number or 1,
            title=title,
            body=body,
            url=f"{url}/commit/{change.commit}",
            merged_at=change.day,
        ),
        author=change.author,
        license=licences.detect_licence(lambda path: (repository.read(change.tree, path) or "").encode() or None),
        remark=remark,
        operator=operator,
        witnesses=witnesses,
        facts=facts or {},
    )


def to_candidate(listed: PullCandidate, proposal: Proposal) -> PullCandidate:
    """Return the listed candidate with all that the proposal says. Raises ValueError for a diff that cannot be read."""
    files = {HEAD: proposal.head, REFERENCE: proposal.reference}
    files |= {BEFORE: proposal.before} if proposal.before else {}
    files |= {f"{WITNESSES}{path}": text for path, text in proposal.witnesses.items()}
    source = CommitSource(
        url=proposal.url,
        sha=proposal.commit,
        before=BEFORE if proposal.before else None,
        head=HEAD,
        reference=REFERENCE,
    )
    operator = {OPERATOR: proposal.operator} if proposal.operator else {}
    return dataclasses.replace(
        listed,
        pull_request=proposal.pull_request,
        language=language_of(sorted({*diffs.touched_paths(proposal.head), *proposal.witnesses})),
        license=proposal.license,
        provenance=Provenance.INJECTED,
        commit=source,
        diff=proposal.head,
        comments=() if proposal.remark is None else (_comment(proposal.remark),),
        activity=ReviewActivity(author=proposal.author, merged=True),
        files=files,
        tags={**listed.tags, METHOD: proposal.method.value, **operator, **proposal.facts},
    )


def _comment(remark: Remark) -> CandidateComment:
    return CandidateComment(
        comment=Comment(id="c0", path=remark.path, lines=remark.lines, body=remark.body, category=remark.category)
    )


def witnesses_of(candidate: PullCandidate) -> dict[str, str]:
    """Return the texts of a candidate's witnesses, by their path in the tree."""
    return {name.removeprefix(WITNESSES): text for name, text in candidate.files.items() if name.startswith(WITNESSES)}
