"""Merging reviews of several reviewers into a set, without duplicates: AACR-Bench's augmentation (section B.1).

Comments and findings are compared pair by pair where they lie in one hunk of one file. A finding that a judge calls the
same concern as an earlier one that is kept is a duplicate. What is left over is for people to annotate.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crab.diffs import ChangedFile, Hunk, excerpt, parse_hunks
from pytest_crab.scoring.judges.label_judges import SAME
from pytest_crab.scoring.judges.votes import Decide, Gold, JudgeQuestion, VotedLabel
from pytest_crab.scoring.stored_reviews import OF_PULL_REQUESTS, StoredReview
from pytest_crab.types import Comment, Finding, Instance, Side

#: The label of comments without an annotation, and its dimension.
ANNOTATION, CANDIDATE = "annotation", "candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDecision:
    """The answer on two members of one hunk."""

    instance: str
    one: str
    other: str
    label: str | None
    #: Counts of the labels; an answer without one counts as ``none``.
    votes: Mapping[str, int]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateDecision:
    """The fate of one finding: it is a new comment, or repeats a member, or is neither."""

    instance: str
    finding: str
    #: The new comment.
    comment: str | None = None
    #: The member that it repeats.
    duplicate_of: str | None = None
    #: The reason why it is neither.
    left_out: str | None = None
    #: Earlier members that the judge gave no answer on.
    undecided: tuple[str, ...] = ()
    #: The reviewers of a new comment and of its duplicates.
    found_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation:
    """The instances with their new comments, and every decision."""

    instances: tuple[Instance, ...]
    pairs: tuple[PairDecision, ...]
    candidates: tuple[CandidateDecision, ...]
    #: Counts of comments, old and new, by how many reviewers found them (the paper's table 8).
    detected: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """A comment of the set, or a finding."""

    #: The comment's id, or the reviewer and the finding's number.
    name: str
    finding: Finding
    reviewer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _PullRequest:
    instance: Instance
    digest: str
    hunks: Sequence[tuple[ChangedFile, Sequence[Hunk]]]
    members: tuple[_Member, ...]


def augmentation_questions(instances: Sequence[Instance], reviews: Sequence[StoredReview]) -> Iterator[JudgeQuestion]:
    """Yield every question that ``augment`` asks. Raises ValueError for a diff that is none."""
    for pull in _pull_requests(instances, reviews):
        yield from _questions(pull).values()


def augment(instances: Sequence[Instance], reviews: Sequence[StoredReview], decide: Decide) -> Augmentation:
    """Add the findings of these reviews to their instances, but for duplicates; the set's own comments stay.

    Members come in the order of the comments and then of the reviews. Raises what ``decide`` raises, and ValueError.
    """
    pulls = list(_pull_requests(instances, reviews))
    asked = [_questions(pull) for pull in pulls]
    answers = decide(question for own in asked for question in own.values())
    done, pairs, candidates = [], [], []
    detected: Counter[int] = Counter()
    for pull, own in zip(pulls, asked, strict=True):
        known = {pair: answers[question.digest] for pair, question in own.items()}
        pairs += [_pair_decision(pull, pair, answer) for pair, answer in known.items()]
        instance, fates, found_by = _merge(pull, known)
        done.append(instance)
        candidates += fates
        detected.update(len(names) for names in found_by.values())
    return Augmentation(
        instances=tuple(done),
        pairs=tuple(pairs),
        candidates=tuple(candidates),
        detected=dict(sorted(detected.items())),
    )


def _pull_requests(instances: Sequence[Instance], reviews: Sequence[StoredReview]) -> Iterator[_PullRequest]:
    for instance in instances:
        own = [review for review in reviews if review.instance == instance.id and review.findings is not None]
        members = [_Member(name=one.id, finding=_as_finding(one)) for one in instance.comments]
        counts: Counter[str] = Counter()
        for review in own:
            for finding in review.findings or ():
                name = f"{review.reviewer}:{counts[review.reviewer]}"
                members.append(_Member(name=name, finding=finding, reviewer=review.reviewer))
                counts[review.reviewer] += 1
        diff = next((review.diff for review in own if review.diff is not None), "")
        digest = own[0].pull_request if own else ""
        yield _PullRequest(instance=instance, digest=digest, hunks=list(parse_hunks(diff)), members=tuple(members))


def _as_finding(comment: Comment) -> Finding:
    start, end = comment.lines or (None, None)
    return Finding(body=comment.body, path=comment.path, start=start, end=end, side=comment.side)


def _group(pull: _PullRequest, finding: Finding) -> tuple[str | None, Side, int]:
    """Return the file, the side and the number of the hunk that a finding is on; -1 is the file as a whole."""
    lines, left = finding.lines, finding.side is Side.LEFT
    for file, hunks in pull.hunks:
        for number, hunk in enumerate(hunks if finding.path == (file.old if left else file.new) else ()):
            numbers = [n for line in hunk.lines if (n := line.old if left else line.new) is not None]
            if lines and numbers and numbers[0] <= lines[1] and lines[0] <= numbers[-1]:
                return finding.path, finding.side, number
    return finding.path, finding.side, -1


def _questions(pull: _PullRequest) -> dict[tuple[int, int], JudgeQuestion]:
    """Return a question for each finding and each earlier member of its hunk, by their positions."""
    groups = [_group(pull, member.finding) for member in pull.members]
    return {
        (earlier, at): JudgeQuestion(
            instance=pull.instance.id,
            pull_request=pull.digest,
            finding=dataclasses.replace(one.finding, severity=None, rule=None),
            gold=_gold(pull.members[earlier].finding),
            code=excerpt(pull.hunks, one.finding.path, one.finding.lines, one.finding.side),
        )
        for at, one in enumerate(pull.members)
        if one.reviewer is not None and one.finding.path is not None
        for earlier in range(at)
        if groups[earlier] == groups[at]
    }


def _gold(finding: Finding) -> Gold:
    return Gold(body=_text(finding), path=finding.path, lines=finding.lines, side=finding.side)


def _text(finding: Finding) -> str:
    return "\n\n".join(text for text in (finding.title, finding.body) if text)


def _pair_decision(pull: _PullRequest, pair: tuple[int, int], answer: VotedLabel) -> PairDecision:
    one, other = (pull.members[at].name for at in pair)
    return PairDecision(
        instance=pull.instance.id,
        one=one,
        other=other,
        label=answer.label,
        votes=dict(Counter(vote.label or "none" for vote in answer.votes)),
        reason=answer.reason,
    )


def _merge(
    pull: _PullRequest, answers: Mapping[tuple[int, int], VotedLabel]
) -> tuple[Instance, list[CandidateDecision], dict[str, tuple[str, ...]]]:
    """Return the instance with its new comments, the fate of each finding, and the reviewers by comment."""
    ids = {comment.id for comment in pull.instance.comments}
    free = (f"c{number}" for number in itertools.count(len(ids)) if f"c{number}" not in ids)
    comments = {at: comment.id for at, comment in enumerate(pull.instance.comments)}
    found_by: dict[str, tuple[str, ...]] = dict.fromkeys(comments.values(), ())
    fates: list[CandidateDecision] = []
    new: list[Comment] = []
    for at, member in enumerate(pull.members):
        if member.reviewer is None:
            continue
        if member.finding.path is None:
            reason = "it is on no file"
            fates.append(CandidateDecision(instance=pull.instance.id, finding=member.name, left_out=reason))
            continue
        pairs = {earlier: answers[earlier, at] for earlier in comments if (earlier, at) in answers}
        same = next((earlier for earlier, answer in pairs.items() if answer.label == SAME), None)
        if same is None:
            comments[at] = next(free)
            new.append(_comment(pull.instance, comments[at], member))
        kept = comments[at if same is None else same]
        found_by[kept] = tuple(dict.fromkeys((*found_by.get(kept, ()), member.reviewer)))
        fates.append(
            CandidateDecision(
                instance=pull.instance.id,
                finding=member.name,
                comment=kept if same is None else None,
                duplicate_of=None if same is None else kept,
                undecided=tuple(comments[earlier] for earlier, answer in pairs.items() if answer.label is None),
            )
        )
    fates = [
        dataclasses.replace(fate, found_by=found_by[fate.comment]) if fate.comment is not None else fate
        for fate in fates
    ]
    grown = dataclasses.replace(pull.instance, comments=(*pull.instance.comments, *new)) if new else pull.instance
    return grown, fates, found_by


def _comment(instance: Instance, name: str, member: _Member) -> Comment:
    finding = member.finding
    assert finding.path is not None
    known = instance.comments[0].labels if instance.comments else {}
    labels = {dimension: known[dimension] for dimension in OF_PULL_REQUESTS if dimension in known}
    labels |= {"origin": member.reviewer or "", "side": str(finding.side), ANNOTATION: CANDIDATE}
    return Comment(
        id=name, path=finding.path, lines=finding.lines, side=finding.side, body=_text(finding), labels=labels
    )
